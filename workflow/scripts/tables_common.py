"""Cells, notes, and a table as csv, md, html and tex.

A row is a dict from (heading, subheading) to the text of the cell; the subheading may be empty.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pandas as pd
from means import difference_notes
from records import read_json, read_training, read_yaml
from scores import read_runs

from transformer.evaluation.metrics import METRICS, Metric
from transformer.support.markdown import markdown

Row = Mapping[tuple[str, str], str]
Columns = Sequence[tuple[str, str]]
Cells = Sequence[Sequence[str]]
Ours = Mapping[tuple[str, str], Mapping[str, float]]  # what `over_seeds` gives

NOT_RUN = "not run"
STYLE = """
body { font: 14px/1.45 sans-serif; margin: 1.5em; color: #1b1b1b }
table { border-collapse: collapse; border-top: 2px solid; border-bottom: 2px solid }
th, td { padding: .2em .6em; text-align: right; white-space: nowrap }
thead tr:first-child th { text-align: center }
tbody tr:first-child td, tr.rule td { border-top: 1px solid #999 }
ul { max-width: 60em; color: #444 }
"""


def number(value: float | None, digits: int) -> str:
    """`value` with so many digits; nothing for no value."""
    return "" if value is None or pd.isna(value) else f"{value:.{digits}f}"


def printed(value: float | None, digits: int) -> str:
    """A number of the paper: a whole one as it is, another with so many digits or more; else nothing."""
    decimals = max(digits, len(str(value).partition(".")[2]))
    return str(value) if isinstance(value, int) else number(value, decimals)


def power(value: float | None) -> str:
    """`value` with two figures and an exponent, as the paper prints costs; nothing for no value."""
    return "" if value is None or pd.isna(value) else f"{value:.1e}"


def spread(ours: Mapping[str, float], key: str, digits: int) -> str:
    """The mean of a number and, where its seeds differ, its standard deviation; nothing for no value."""
    deviation = ours.get(f"{key}.sd")
    return number(ours.get(key), digits) + (f" ± {deviation:.{digits}f}" if deviation else "")


def beside(
    heading: str,
    published: float | None,
    ours: Mapping[str, float],
    key: str,
    digits: int,
    missing: str = NOT_RUN,
) -> Row:
    """Three cells: published, ours (or `missing`), and ours - published of the numbers as shown."""
    both = published is not None and key in ours
    return {
        (heading, "published"): printed(published, digits),
        (heading, "ours"): spread(ours, key, digits) if key in ours else missing,
        (heading, "difference"): f"{round(ours[key], digits) - published:+.{digits}f}" if both else "",
    }


def metric_cells(
    metric: Metric, published: Mapping[str, float | None], ours: Mapping[str, float], missing: str = NOT_RUN
) -> Row:
    """A metric's cells: three of a number that the paper prints, one of another."""
    cells: dict[tuple[str, str], str] = {}
    for column in metric.columns:
        if column.published:
            cells |= beside(column.heading, published.get(column.published), ours, column.key, column.digits, missing)
        else:
            cells[column.heading, "ours"] = spread(ours, column.key, column.digits)
    return cells


def read_inputs(snakemake: Any) -> tuple[dict[str, Any], pd.DataFrame, list[str]]:
    """What every table is made of: the paper's numbers, the runs, and the notes under the table."""
    runs = read_runs(
        snakemake.input.scores,
        snakemake.input.packages,
        snakemake.params.equal,
        getattr(snakemake.input, "comparisons", ()),
    )
    notes = [
        *snakemake.params.notes,
        *map(corpus_note, map(read_json, snakemake.input.corpora)),
        *run_notes(runs),
        *difference_notes(map(read_training, snakemake.input.packages)),
    ]
    return read_yaml(snakemake.input.published), runs, notes


def is_shown(snakemake: Any, ours: Ours, task: str, model: str | None) -> bool:
    """Whether a row of the paper's table is shown: where it is run, or its task is shown in full."""
    return task in snakemake.params.in_full or (task, model) in ours


def corpus_note(corpus: Mapping[str, Any]) -> str:
    pairs = ", ".join(f"{count:,} {part}" for part, count in corpus["pairs"].items())
    text = f"{corpus['corpus']}: {corpus['description']} ({corpus['licence']})"
    leaves = f"; trees hold {corpus['leaves']} in place of XX" if corpus.get("leaves", "XX") != "XX" else ""
    return f"Text, {corpus['source']} to {corpus['target']}: {text}; pairs: {pairs}{leaves}."


def run_notes(runs: pd.DataFrame) -> list[str]:
    """How our numbers were made: part, beam, averaging, seeds, devices, and the signatures of the scores."""
    notes = []
    for (task, part, sentences, decoding), group in runs.groupby(["task", "part", "sentences", "decoding"]):
        first = group.groupby("model", sort=False)["average"].first()
        each = ", ".join(f"{model} {n}" for model, n in first.items())
        averages = f"{first.iloc[0]} of each model" if first.nunique() == 1 else each
        notes.append(f"Ours, {task}: {sentences:,} sentences of {part}, {decoding}; checkpoints averaged: {averages}.")
    for task, group in runs.groupby("task"):
        tokens = (group["target_tokens"] / group["steps"]).mean()
        notes.append(f"Ours, {task}: {tokens:,.0f} target subwords a step; the paper's: about 25,000.")
    for (task, longest, left_out), group in runs.groupby(["task", "longest_pair", "left_out"]):
        if left_out:
            notes.append(
                f"Ours, {task}: {left_out:,.0f} of {left_out + group['pairs'].iloc[0]:,.0f} pairs are left out of the "
                f"training of {', '.join(group['model'].unique())}: more than {longest:.0f} subwords on a side."
            )
    seeds = runs.groupby(["task", "model"])["seed"].nunique()
    if len(seeds) and seeds.max() == 1:
        notes.append("Ours are of one seed each: small differences between rows mean nothing.")
    elif len(seeds):
        notes.append(f"Ours are means ± standard deviations over {seeds.max()} seeds.")
    for device, group in runs.dropna(subset="device").groupby("device"):
        notes.append(f"Ours, trained on {device}: {power(group['sustained_flops'].mean())} FLOP/s sustained, a device.")
    signed = {metric.signature: metric.columns[0].heading for metric in METRICS if metric.signature}
    signed |= {
        "randomisation.signature": "the approximate randomisation",
        "bootstrap.signature": "the paired bootstrap",
    }
    for key, name in signed.items():
        notes += [f"Signature of {name}: {signature}" for signature in runs[key].dropna().unique()]
    return notes


def write_table(
    outputs: Any,
    title: str,
    rows: Sequence[Row],
    notes: Sequence[str],
    names: int,
    details: Sequence[Row] = (),
) -> None:
    """Write `outputs.csv`, `.md`, `.html` and `.tex`.

    The first `names` columns hold text, the others numbers. All but the csv have title and notes; the csv alone has
    `details`, further columns of each row.
    """
    frame = pd.DataFrame(rows).fillna("")
    columns, cells = list(frame.columns), frame.to_numpy().tolist()
    whole = pd.concat([frame, pd.DataFrame(details)], axis=1)
    whole.columns = [", ".join(filter(None, column)) for column in whole.columns]
    whole.to_csv(outputs.csv, index=False)
    headings = list(whole.columns)[: len(columns)]
    Path(outputs.md).write_text(markdown(title, headings, cells, notes, names))
    Path(outputs.html).write_text(as_html(title, columns, cells, notes, names))
    Path(outputs.tex).write_text(as_latex(title, columns, cells, notes, names))


def as_html(title: str, columns: Columns, cells: Cells, notes: Sequence[str], names: int) -> str:
    def text(cell: str) -> str:
        return typeset(html.escape(cell), "\u2212{}", "{}\u00b710<sup>{}</sup>")

    def line(tag: str, row: Sequence[str], above: Sequence[str]) -> str:
        rule = " class=rule" if row[0] != above[0] else ""
        return f"<tr{rule}>{''.join(f'<{tag}>{text(cell)}</{tag}>' for cell in row)}</tr>"

    head = "".join(f"<th colspan={span}>{text(heading)}</th>" for heading, span in spans(columns))
    return "\n".join(
        [
            f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{text(title)}</title>",
            f"<style>{STYLE} :is(th, td):nth-child(-n+{names}) {{ text-align: left }}</style>",
            f"<h3>{text(title)}</h3><table><thead><tr>{head}</tr>",
            f"{line('th', [sub for _, sub in columns], [''])}</thead><tbody>",
            *(line("td", row, above) for above, row in pairwise([cells[0], *cells])),
            "</tbody></table><ul>",
            *(f"<li>{text(note)}</li>" for note in notes),
            "</ul></html>\n",
        ]
    )


def as_latex(title: str, columns: Columns, cells: Cells, notes: Sequence[str], names: int) -> str:
    def text(cell: str) -> str:
        escaped = re.sub(r"[&%$#_{}]", r"\\\g<0>", cell)
        return typeset(escaped.replace("|", r"\textbar{}"), "$-{}$", r"${} \cdot 10^{{{}}}$")

    def line(row: Iterable[str]) -> str:
        return " & ".join(row) + r" \\"

    head, rules, start = [], [], 1
    for heading, span in spans(columns):
        head.append(rf"\multicolumn{{{span}}}{{c}}{{{text(heading)}}}")
        rules += [rf"\cmidrule(lr){{{start}-{start + span - 1}}}"] * (span > 1)
        start += span
    body = [line(map(text, row)) for row in cells]
    for i in range(len(cells) - 1, 0, -1):
        if cells[i][0] != cells[i - 1][0]:
            body.insert(i, r"\midrule")
    return "\n".join(
        [
            "% needs the packages booktabs and graphicx",
            rf"\begin{{table}}\caption{{{text(title)}}}\resizebox{{\textwidth}}{{!}}{{%",
            rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(columns) - names)}}}",
            rf"\toprule {line(head)} {' '.join(rules)}",
            rf"{line(text(sub) for _, sub in columns)} \midrule",
            *body,
            r"\bottomrule\end{tabular}}\begin{itemize}\footnotesize",
            *(rf"\item {text(note)}" for note in notes),
            r"\end{itemize}\end{table}" + "\n",
        ]
    )


def typeset(cell: str, minus: str, power: str) -> str:
    """A negative number put into `minus`, mantissa and exponent into `power`; other text stays as it is."""
    cell = re.sub(r"^-(\d[\d.]*(?: \\?%)?)$", lambda match: minus.format(match[1]), cell)
    return re.sub(r"^(\d\.\d)e([+-]\d+)$", lambda match: power.format(match[1], int(match[2])), cell)


def spans(columns: Columns) -> list[tuple[str, int]]:
    """Each heading of the upper line, with the number of columns below it."""
    return [
        (heading, len(list(group)))
        for (heading, _), group in groupby(columns, key=lambda column: (column[0], column[1] != ""))
    ]
