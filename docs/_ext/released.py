"""Pages of the released results, docs/EXPERIMENT/{tables,figures,models}, and of the trained models of this machine."""

import csv
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import takewhile
from pathlib import Path

from transformer.support.markdown import markdown
from workflow.results import load
from workflow.results.result import Figure

FIGURES = [result for _, result in load() if isinstance(result, Figure)]
TITLES = {name: title for figure in FIGURES for name, title in figure.titles.items()}
FIRST = ("claims", "table1", "table2", "table3", "table4", "appendix")  # of the tables; the others follow by name
DATA = re.compile(r'^<(?:title>|script type="application/json").*\n', re.MULTILINE)
RESULT = re.compile(r"^(\[.*)\n\n<!-- result\n((?:.+\n)*)-->", re.MULTILINE)
TABLE = re.compile(r"\]\(\.\./([\w-]+)/tables/(\w+)\.md\)")
NUMBER = re.compile(r"[+-]?\d[\d.,]*(e[+-]\d+)?( %)?( ± .+)?$")


def experiments(root: Path) -> list[str]:
    """The experiments that have released results."""
    return sorted({path.parent.name for kind in ("tables", "figures") for path in (root / "docs").glob(f"*/{kind}")})


def released_pages(root: Path) -> list[Path]:
    """The pages of attention. Only their titles and data are released: the lines that `DATA` matches."""
    return sorted(path.relative_to(root) for path in root.glob("docs/*/figures/*.html"))


def attention_page(released: str) -> str:
    """A whole page of attention from its title and data."""
    from transformer.evaluation.attention_page import around_data  # loads PyTorch

    title, *data = DATA.findall(released)
    head, tail = around_data(title.removeprefix("<title>").removesuffix("</title>\n"))
    return "".join([head, *data, tail])


def experiment_page(root: Path, name: str) -> str:
    """A page for an experiment: links to its text and tables, then its figures with their captions."""
    folder = root / "docs" / name
    tables = sorted(folder.glob("tables/*.md"), key=_place)
    entries = [f"{short_title(path)} </docs/{name}/tables/{path.stem}>" for path in tables]
    if folder.with_suffix(".md").exists():
        entries.insert(0, f"/docs/{name}")
    figures = "\n".join(
        f"## {TITLES[path.stem]}\n\n```{{figure}} /docs/{name}/figures/{path.name}\n\n{caption(path.stem)}\n```\n"
        for path in sorted(folder.glob("figures/*.svg"))
    )
    own = [path for path in released_pages(root) if path.parts[1] == name]
    pages = [f"[{TITLES[path.stem]}](../{name}/figures/{path.name})" for path in own]
    return "\n\n".join([f"# Results of `{name}`", toctree(entries, "maxdepth: 1"), *pages, figures])


def models_page(root: Path) -> str | None:
    """A page that lists the cards of trained models, released and in results/; None where there are none."""
    shipped = [path.relative_to(root) for path in sorted(root.glob("models/**/package/README.md"))]
    released = [path.relative_to(root) for path in sorted(root.glob("docs/*/models/*.md"))]
    own = [path.relative_to(root) for path in sorted((root / "results").glob("*/runs/**/package/README.md"))]
    entries = ["Trained models to try </models/README>"] if shipped else []
    entries += [f"in the clone, {'/'.join(card.parts[1:4])} </{card.with_suffix('')}>" for card in shipped]
    entries += [f"{card.parts[1]}, {card.stem} </{card.with_suffix('')}>" for card in released]
    entries += [f"{card.parts[1]} here, {'/'.join(card.parts[3:-3])} </{card.with_suffix('')}>" for card in own]
    text = "# Trained models\n\nOne in the clone, and those of the released tables, which `make reproduce` trains.\n\n"
    if own:
        text += 'Those marked "here" are in `results/` of this machine.\n\n'
    return text + toctree(entries, "maxdepth: 1") if entries else None


def table_page(path: Path) -> str:
    """A page for a table: title, experiment, the body of its html, which has notes and sorts itself, other formats.

    Sphinx's search would join the words of cells without a space between them, and find none of them.
    """
    body = re.search(r"<(section|table).*(?=</html>)", path.with_suffix(".html").read_text("utf-8"), re.DOTALL)
    if not body:
        raise ValueError(f"{path.with_suffix('.html')}: has no table; make it again")
    apart = body[0].replace("</td>", "</td> ")
    return (
        f"# {_title(path)}, `{path.parents[1].name}`\n\n"
        f"```{{raw}} html\n<div class=whole>\n{apart}</div>\n```\n\n"
        f"This table as [csv]({path.stem}.csv) and [tex]({path.stem}.tex).\n"
    )


def toctree(entries: Sequence[str], *options: str) -> str:
    """The directive that lists pages."""
    return "\n".join(["```{toctree}", *(f":{option}" for option in options), "", *entries, "```", ""])


def short_title(table: Path) -> str:
    """A table's title without what follows a colon or stands in brackets."""
    return re.split(r":| \(", _title(table))[0]


def _title(table: Path) -> str:
    return table.read_text("utf-8").splitlines()[0].strip("*")


def with_results(page: str, root: Path) -> tuple[str, list[Path]]:
    """A page of the paper with rows of released tables, and the csv files of these tables.

    GitHub shows links to the tables. On the site a comment below them says which rows and columns take their place:

    [claims of `small`](../small/tables/claims.md), [claims of `quick`](../quick/tables/claims.md)

    <!-- result
    rows: COLUMN = PATTERN | PATTERN
    columns: PATTERN; PATTERN
    -->

    Raises ValueError for tables without such rows or columns.
    """
    tables: list[Path] = []

    def excerpts(found: re.Match[str]) -> str:
        options = dict(line.split(": ", 1) for line in found[2].splitlines())
        column, _, patterns = options.get("rows", "").partition(" = ")
        rows = {column: patterns.split(" | ")} if column else {}
        texts = []
        for experiment, table in TABLE.findall(found[1]):
            path = root / f"docs/{experiment}/tables/{table}.csv"
            if not path.exists():
                raise ValueError(f"{path}: no such file; link to a released table")
            text = selected(path, rows, options["columns"].split("; "))
            if not text:
                raise ValueError(f"{path}: has no row where {options['rows']}")
            tables.append(path)
            title = short_title(path.with_suffix(".md"))
            texts.append(f"[{title}](/docs/{experiment}/tables/{table}.md) of `{experiment}`:\n\n{text}")
        return "\n\n".join(["```{container} excerpt", *texts, "```"])

    return RESULT.sub(excerpts, page), tables


def selected(path: Path, rows: Mapping[str, Sequence[str]], columns: Sequence[str]) -> str:
    """Rows and columns of a table's csv, as Markdown; nothing where no row is chosen.

    `rows` has patterns for the cells of a column, `columns` patterns for headings, in the order to show. Raises
    ValueError for a pattern that no heading matches.
    """
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    headings = list(table[0])
    matching = {pattern: [each for each in headings if fnmatchcase(each, pattern)] for pattern in (*rows, *columns)}
    for pattern, found in matching.items():
        if not found:
            raise ValueError(f"{path}: has no column {pattern}; it has {'; '.join(headings)}")
    shown = list(dict.fromkeys(each for pattern in columns for each in matching[pattern]))
    cells = [[row[each] for each in shown] for row in table if all(_any(row[key], rows[key]) for key in rows)]
    texts = takewhile(lambda column: not any(map(NUMBER.match, column)), zip(*cells, strict=True))
    return markdown("", shown, cells, [], len(list(texts))).partition("\n\n")[2].rstrip() if cells else ""


def _any(cell: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(cell, pattern) for pattern in patterns)


def _place(table: Path) -> tuple[int, str]:
    return FIRST.index(table.stem) if table.stem in FIRST else len(FIRST), table.stem


def caption(name: str) -> str:
    """The caption of a figure, without sentences that hold values of a run."""
    [text] = [figure.caption for figure in FIGURES if name in figure.titles]
    sentences = re.split(r"(?<=[.!?])\s+|(?<=\.\*\*)\s+", text.strip())
    return " ".join(each for each in sentences if "{" not in each)
