"""The released tables, cell by cell, and the pages that quote them."""

import csv
import json
import re
import tarfile
from fnmatch import fnmatchcase

from tests.pages import ROOT


def rows_of(table):
    """The rows of a released table, named EXPERIMENT/TABLE."""
    experiment, name = table.split("/")
    with (ROOT / f"docs/{experiment}/tables/{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def cell(table, column, **where):
    """The one cell of a column in the rows whose columns match the given patterns, without its deviation."""
    rows = [row for row in rows_of(table) if all(fnmatchcase(row[key], value) for key, value in where.items())]
    [found] = {row[column].split(" ± ")[0].split(" %")[0] for row in rows}
    return found


def size(table, column, digits=0, **where):
    """The number of a cell with so many digits, without its sign."""
    return f"{abs(float(cell(table, column, **where))):.{digits}f}"


def text_of(page):
    """The text of a page on one line."""
    return " ".join((ROOT / page).read_text().split())


def bleu(table, pair, model):
    """BLEU and sacreBLEU of a row of Table 2."""
    return [cell(table, f"{metric}, ours", Pair=pair, Model=model) for metric in ("BLEU", "sacreBLEU")]


def perplexity(model, whose="ours", digits=0, table="table3", of="small"):
    """By how many percent the perplexity of a row differs from base's."""
    return size(f"{of}/{table}", f"Perplexity from base, {whose}", digits, Model=model)


def gain(model, whose="ours", table="table3", of="small"):
    """By how many points BLEU of a row differs from base's."""
    return size(f"{of}/{table}", f"BLEU from base, {whose}", 1, Model=model)


def replicated():
    """The claims that the seeds of the replication decide, each with its cells of both released tables."""
    key = ("Section", "Claim", "Rows")
    judged = [row for row in rows_of("replication/claims") if row["p, family"]]
    found = []
    for row in rows_of("replication/replication"):
        alike = [each for each in judged if all(each[name] == row[name] for name in key)]
        [same] = [each for each in alike if each["Measure"].startswith(row["Measure"])]
        found.append(same | row)
    assert len(found) == len(judged)
    return found


def bounded(row):
    """A claim of the replication with the bound that it names, if any."""
    bound = re.search(r" \(((?:within|by at least) .*)\)$", row["Rows"])
    return f"{row['Claim']}{f', {bound[1]}' if bound else ''}"


def hours_of(experiment):
    """The hours of each released training. The table rounds them, so they are read from the scores if possible."""
    path = ROOT / f"docs/{experiment}/scores.tar.gz"
    if not path.exists():
        return [float(row["Hours"]) for row in rows_of(f"{experiment}/runs")]
    with tarfile.open(path) as archive:
        files = [archive.extractfile(name) for name in archive.getnames() if name.endswith("package/config.json")]
        trained = [json.load(file)["training"] for file in files]
    return list({(one["task"], one["model"], one["seed"]): one["seconds"] / 3600 for one in trained}.values())
