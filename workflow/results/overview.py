"""The start page of the report: the verdicts and Tables 2 to 4 in one look, then every result that the report has.

Its numbers are those of the tables' csv, with the columns that `make reproduce` prints.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from textwrap import fill
from typing import Any

from workflow.results.common.result import EVERY, Table, languages
from workflow.results.released import read
from workflow.results.selection import Selection

FEW_SEEDS = ("undecided: one seed", "undecided: two seeds")
OF_VERDICTS = ("claims", "about the time of a step, on this machine")
DEVIATION = re.compile(r" ± [\d.]+")
NEGATIVE, MINUS = re.compile(r"^-(?=\d)"), "\u2212"
SHOWN_BY = {"text/html": "html", "image/svg+xml": "img"}  # how Snakemake's report shows a file that is no download


def tables_of(selection: Selection) -> list[Table]:
    """The tables of an experiment in the order of the paper. The claims come last."""
    tables = [result for _, result, _ in selection.planned if isinstance(result, Table)]
    return sorted(tables, key=lambda each: (each.section == EVERY, each.section))


def printed_rows(selection: Selection) -> Iterator[tuple[Table, list[list[str]]]]:
    """The tables with columns to be printed, and these columns of the rows that are run.

    Cells that a table of an earlier version lacks are empty; so are those of a table that is cut short.
    """
    for table in tables_of(selection):
        read_rows = read(Path(selection.runs.paths.results, f"tables/{table.name}.csv")) if table.printed else []
        rows = [[row.get(column, "") for column in table.printed] for row in read_rows]
        if run := [row for row in rows if row[-1] not in ("", "not run")]:
            yield table, run


def count_verdicts(verdicts: Iterable[str]) -> tuple[Counter[str], int]:
    """How many claims have each verdict, and how many have too few seeds for one."""
    given = list(verdicts)
    counts = Counter(verdict.partition(":")[0] for verdict in given if verdict not in FEW_SEEDS)
    return counts, len(given) - counts.total()


def overview(selection: Selection, files: Sequence[Any]) -> str:
    """The page as HTML without empty lines. `files` are Snakemake's records of what the report has."""
    style = Path(__file__).with_suffix(".css").read_text("utf-8")
    parts = [f"<style>{style}</style>", _heading(selection), _tables(selection), _results(files)]
    page = f"<div class=overview>{''.join(parts)}</div>"
    return fill(page, 1000, break_long_words=False, break_on_hyphens=False)  # docutils refuses lines of 10,000


def _heading(selection: Selection) -> str:
    """What the experiment is."""
    experiment, runs = selection.experiment, selection.runs
    texts = defaultdict(list)
    for name in runs.trained:
        task = experiment.tasks[name]
        what = languages(task) if task.kind == "translation" else f"parsing ({name})"
        texts[experiment.corpus_of(name).description].append(what)
    learnt = "".join(f"<li>{escape(', '.join(what))}: {escape(text)}</li>" for text, what in texts.items())
    models = sum(map(len, runs.trained.values()))
    seeds = f"{len(experiment.seeds)} seed{'s' * (len(experiment.seeds) > 1)}"
    notes = " ".join(experiment.notes)
    return (
        f"<h1>Attention Is All You Need: {escape(experiment.experiment)}</h1>"
        f"<p>{models} model{'s' * (models > 1)}, {seeds}.</p><ul>{learnt}</ul><p class=notes>{escape(notes)}</p>"
    )


def _tables(selection: Selection) -> str:
    """How many claims have each verdict; the claims; beside them the tables that name columns for it."""
    tables, verdicts, claims = [], "", ""
    for table, rows in printed_rows(selection):
        if table.name == "claims":
            verdicts, claims = _verdicts(rows, shared(selection)), _claims(rows)
        else:
            tables.append(_table(list(table.printed.values()), rows))
    return f"{verdicts}<div class=look>{claims}<div>{''.join(tables)}</div></div>"


def verdicts_apart(rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """The verdicts of claims, and those of claims about time, which are about one machine."""
    from workflow.results.claims.verdicts import MEASURES  # it loads SciPy

    timed = MEASURES["step_time"].heading
    return [row[0] for row in rows if row[3] != timed], [row[0] for row in rows if row[3] == timed]


def shared(selection: Selection) -> str:
    """How many claims point the same way as in the replication. Empty if none can be compared."""
    from workflow.results.claims.same_way import lead  # it loads SciPy

    table = Path(selection.runs.paths.results, "tables/claims.csv")
    return lead(read(table), selection.released("replication") / "claims.csv")


def _verdicts(rows: Sequence[Sequence[str]], leading: str) -> str:
    """The `leading` sentences, and how many claims have each verdict. Those about time stand apart."""
    shown = []
    for verdicts, what in zip(verdicts_apart(rows), OF_VERDICTS, strict=True):
        counts, few = count_verdicts(verdicts)
        each = [f"<b class={verdict}>{count} {verdict}</b>" for verdict, count in counts.most_common()]
        each += [f"<b class=undecided>{few} with too few seeds for a verdict</b>"] * bool(few)
        shown += [f"{len(verdicts)} {what}: {', '.join(each)}"] * bool(verdicts)
    return f"<p class=verdicts>{escape(leading)}</p><p class=verdicts>{'; '.join(shown)}</p>"


def _claims(rows: Sequence[Sequence[str]]) -> str:
    """Each claim: its verdict, its measure, the released verdict, the paper's difference and ours."""
    shown = [
        (verdict.partition(":")[0], f"{claim} ({measure.partition(',')[0]})", *sizes)
        for verdict, _, claim, measure, *sizes in rows
    ]
    return _table(("Verdict", "Claim, and the measure of its difference", "released", "paper", "ours"), shown)


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of a table. Equal first cells stand once, but verdicts stand in each row and have colours."""
    columns = zip(*rows, strict=True)
    kinds = ["number" if all(cell[:1] in ("", *"+-0123456789") for cell in column) else "" for column in columns]
    head = "".join(f"<th class='{kind}'>{escape(text)}</th>" for kind, text in zip(kinds, headings, strict=True))
    body, above = "", ""
    for first, *others in rows:
        verdict = first if headings[0] == "Verdict" else ""
        shown = first if verdict or first != above else ""
        body, above = f"{body}<tr>{_cell(verdict, shown)}{''.join(map(_cell, kinds[1:], others))}</tr>", first
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(kind: str, text: str) -> str:
    return f"<td class='{kind}'>{escape(NEGATIVE.sub(MINUS, DEVIATION.sub('', text)))}</td>"


def _results(files: Sequence[Any]) -> str:
    """A link to each table and figure, by section. A click shows it."""
    links = defaultdict(list)
    for file in sorted(files, key=lambda each: list((each.labels or {}).values())):
        title = next((file.labels[kind] for kind in ("table", "figure") if kind in (file.labels or {})), "")
        if title and (show := SHOWN_BY.get(file.mime)):
            path = json.dumps(str(file.path))
            where = f"resultPath: {path}, contentPath: results[{path}].data_uri"
            click = escape(f"app.setView({{content: '{show}', {where}}}); return false")
            links[file.category.name].append(f'<li><a href="#" onclick="{click}">{escape(title)}</a></li>')
    return "".join(
        f"<h2>{escape(kind)}</h2><ul class=links>{''.join(links[kind])}</ul>" for kind in sorted(links)[::-1]
    )
