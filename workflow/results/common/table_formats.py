"""A table as csv, Markdown, HTML and LaTeX.

A column is a heading and a subheading, which may be empty. The first `names` columns hold text, the others numbers.
"""

import csv
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path

from transformer.support.markdown import markdown, without_breaks
from workflow.results.common.plan import Content, Row, heading_of

Columns = Sequence[tuple[str, str]]
Cells = Sequence[Sequence[str]]

POWER = re.compile(r"^(\d\.\d)e([+-]\d+)$")  # a mantissa and an exponent
NEGATIVE = re.compile(r"^-(\d[\d.]*(?: ± [\d.]+)?(?: \\?%)?)$")
LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"|": r"\textbar{}", "<": "$<$", ">": "$>$", "√": r"$\surd$", "≈": r"$\approx$"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}"}
)
READ, GUIDE = "How to read this table", "docs/tables.md"
LONG = 24  # characters of a text that gets a wider column
SYLLABLES = "pub-lished", "differ-ence", "sen-tences", "Para-meters"  # where a heading may break


def write_table(content: Content, title: str, paths: Mapping[str, str]) -> None:
    """Write the csv, md, html and tex of a table to their paths.

    The csv has all columns. The other formats leave out those that are for the csv only, and those whose cells are
    equal, which a note names. They have the title, the notes and the place of the page that explains all tables.
    """
    every = list(dict.fromkeys(column for row in content.rows for column in row))
    with Path(paths["csv"]).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([map(heading_of, every), *cells_of(content.rows, every)])
    shown = [column for column in every if column[1] not in content.csv_only]
    columns, cells, names, left_out = without_constants(shown, cells_of(content.rows, shown), content.names)
    notes = [*content.notes, *left_out]
    texts = {
        "md": f"{markdown(title, list(map(heading_of, columns)), cells, notes, names)}\n[{READ}](/{GUIDE})\n",
        "html": as_html(title, columns, cells, notes, names),
        "tex": as_latex(title, columns, cells, [*notes, f"{READ}: {GUIDE}"], names),
    }
    for kind in paths.keys() & texts.keys():
        Path(paths[kind]).write_text(texts[kind], "utf-8")


def cells_of(rows: Iterable[Row], columns: Columns) -> Cells:
    """The cells of some columns. One that a row lacks is empty."""
    return [[row.get(column, "") for column in columns] for row in rows]


def without_constants(columns: Columns, cells: Cells, names: int) -> tuple[Columns, Cells, int, list[str]]:
    """The columns whose cells differ, and the first; their rows; how many are names; notes that say the others.

    A single row keeps all columns that are not empty.
    """
    values = list(zip(*cells, strict=True))
    kept = [i for i, (one, *rest) in enumerate(values) if i == 0 or set(rest) - {one} or (one and not rest)]
    left_out = [(heading_of(columns[i]), values[i][0]) for i in range(len(columns)) if i not in kept]
    equal = "; ".join(f"{heading} {value}" for heading, value in left_out if value)
    notes = [f"Equal in all rows: {equal}."] * bool(equal)
    rows = [[row[i] for i in kept] for row in cells]
    return [columns[i] for i in kept], rows, sum(i < names for i in kept), notes


def as_html(title: str, columns: Columns, cells: Cells, notes: Sequence[str], names: int) -> str:
    """A page. All but its head stands in one <section>, so that another page can take it, and has that page's colours.

    A click on a heading sorts by it: upwards, then downwards, then back to the order in which the rows were written.
    """
    style, script = (Path(__file__).with_suffix(kind).read_text("utf-8") for kind in (".css", ".js"))
    upper, lower = [], []
    for name, group in groups(columns):
        if columns[group[0]][1]:
            upper.append(f"<th scope=colgroup colspan={len(group)}>{_hyphenated(name)}</th>")
            lower += [_heading(i, columns[i][1], 1, i < names) for i in group]
        else:
            upper.append(_heading(group[0], name, 2, group[0] < names))
    body = []
    for row, first in zip(cells, begins_group(cells), strict=True):
        looks = " ".join(["rule"] * first + ["base"] * ("base" in row[:names]))
        shown = "".join(_cell(cell, i < names) for i, cell in enumerate(row))
        body.append(f'<tr class="{looks}">{shown}</tr>' if looks else f"<tr>{shown}</tr>")
    return "\n".join(
        [
            f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{_text(title)}</title>",
            "<style>:root { color-scheme: light dark } body { margin: 1.5em }</style>",
            f"<section class=results><style>\n{style}</style>",
            f"<table><caption>{_text(title)}</caption>",
            f"<thead><tr>{''.join(upper)}</tr><tr>{''.join(lower)}</tr></thead><tbody>",
            *body,
            "</tbody></table>",
            f"<ul>{''.join(f'<li>{_text(note)}</li>' for note in notes)}</ul><p>{READ}: {GUIDE}</p>",
            f"<script>\n{script}</script></section></html>\n",
        ]
    )


def _text(cell: str) -> str:
    return typeset(html.escape(cell), "\u2212{}", "{}\u00b710<sup>{}</sup>").replace("<sup>-", "<sup>\u2212")


def _heading(i: int, name: str, rows: int, names: bool) -> str:
    kind = " class=text" * names
    return f"<th scope=col{kind} data-column={i} rowspan={rows}><button type=button>{_hyphenated(name)}</button></th>"


def _hyphenated(name: str) -> str:
    for word in SYLLABLES:
        name = name.replace(word.replace("-", ""), word.replace("-", "\u00ad"))
    return _text(name).replace("\u00ad", "&shy;")


def _cell(cell: str, names: bool) -> str:
    kind = '"text long"' if len(cell) > LONG else "text"
    look = f" class={kind}" if names else f" data-value={cell}" if POWER.match(cell) else ""
    joined = _text(cell).replace("± ", "±\u00a0").replace(" %", "\u00a0%")
    return f"<td{look}>" + re.sub(r"[^\s<>]+-[^\s<>]+", r"<span class=whole>\g<0></span>", joined) + "</td>"


def as_latex(title: str, columns: Columns, cells: Cells, notes: Sequence[str], names: int) -> str:
    """A table environment."""

    def text(cell: str) -> str:
        return typeset(without_breaks(cell).translate(LATEX), "$-${}", r"${} \cdot 10^{{{}}}$")

    def line(row: Iterable[str]) -> str:
        return " & ".join(row) + r" \\"

    head, rules = [], []
    for heading, group in groups(columns):
        head.append(rf"\multicolumn{{{len(group)}}}{{c}}{{{text(heading)}}}")
        rules += [rf"\cmidrule(lr){{{group[0] + 1}-{group[-1] + 1}}}"] * (len(group) > 1)
    body = [r"\midrule " * first + line(map(text, row)) for row, first in zip(cells, begins_group(cells), strict=True)]
    return "\n".join(
        [
            "% needs the packages booktabs and graphicx",
            rf"\begin{{table}}\caption{{{text(title)}}}\resizebox{{\textwidth}}{{!}}{{%",
            rf"\begin{{tabular}}{{{'l' * names}{'r' * (len(columns) - names)}}}",
            rf"\toprule {line(head)} {' '.join(rules)}",
            rf"{line(text(sub) for _, sub in columns)} \midrule",
            *body,
            r"\bottomrule\end{tabular}}\begin{itemize}\footnotesize",
            *(rf"\item{{}} {text(note)}" for note in notes),
            r"\end{itemize}\end{table}" + "\n",
        ]
    )


def typeset(cell: str, minus: str, power: str) -> str:
    """A negative number put into `minus`, mantissa and exponent into `power`; other text stays as it is."""
    cell = " to ".join(NEGATIVE.sub(lambda match: minus.format(match[1]), part) for part in cell.split(" to "))
    return POWER.sub(lambda match: power.format(match[1], int(match[2])), cell)


def begins_group(cells: Cells) -> list[bool]:
    """Whether each row begins a new group, of rows with equal first cells. None does if all first cells differ."""
    firsts = [row[0] for row in cells]
    grouped = len(set(firsts)) < len(firsts)
    return [grouped and above != first for above, first in pairwise([*firsts[:1], *firsts])]


def groups(columns: Columns) -> list[tuple[str, list[int]]]:
    """Each heading with the numbers of the columns below it."""
    numbered = groupby(range(len(columns)), key=lambda i: (columns[i][0], columns[i][1] != ""))
    return [(heading, list(group)) for (heading, _), group in numbered]
