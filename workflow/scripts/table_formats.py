"""A table as Markdown, HTML and LaTeX.

A column is a heading and a subheading, which may be empty. The first `names` columns hold text, the others numbers.
"""

import html
import re
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

Columns = Sequence[tuple[str, str]]
Cells = Sequence[Sequence[str]]

POWER = re.compile(r"^(\d\.\d)e([+-]\d+)$")  # a mantissa and an exponent
NEGATIVE = re.compile(r"^-(\d[\d.]*(?: ± [\d.]+)?(?: \\?%)?)$")
LATEX = str.maketrans(
    {each: f"\\{each}" for each in "&%$#_{}"}
    | {"|": r"\textbar{}", "<": "$<$", ">": "$>$", "√": r"$\surd$", "≈": r"$\approx$"}
    | {"^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "\\": r"\textbackslash{}"}
)
LONG = 24  # characters of a text that gets a wider column
SYLLABLES = "pub-lished", "differ-ence", "sen-tences"  # where a heading may break

# Everything is inside one <section>, so that another page can take it as it is. Colours are those of that page.
STYLE = """
.results { font: 13px/1.4 system-ui, sans-serif; overflow-x: auto }
.results table { border-collapse: collapse; border-block: 2px solid; font: inherit }
.results caption { padding: .5em; font-size: 15px; font-weight: 600; text-align: left }
.results :is(th, td) { padding: .2em .3em; border: 0; text-align: right; vertical-align: top }
.results thead th { vertical-align: bottom }
.results thead th[colspan] { border-bottom: 1px solid #8888; text-align: center }
.results thead tr:last-child th { font-weight: 400; font-size: 11px }
.results :is(thead, tbody) .text { text-align: left }
.results .text { background: var(--color-background-primary, Canvas) }
.results .long { min-width: 10em }
.results .text:nth-child(2), .results .text:first-child:not(:has(+ .text)) { position: sticky; left: 0; z-index: 1 }
.results :is(ul, details) { position: sticky; left: 0 }
.results tbody tr:first-child td, .results table:not(:has([aria-sort])) tr.rule td { border-top: 1px solid #888 }
.results tr.base td { font-weight: 600 }
.results sup { line-height: 0 }
.results .whole { white-space: nowrap }
.results th button { all: unset; position: relative; cursor: pointer }
.results th button:hover { text-decoration: underline }
.results th button:focus-visible { outline: 2px solid }
.results th[aria-sort] button::after { position: absolute; content: "\\25B2" }
.results th[aria-sort=descending] button::after { content: "\\25BC" }
.results :is(ul, summary) { max-width: 75em }
.results summary { margin: 1em .4em; cursor: pointer }
"""

# A click on a heading sorts by it: upwards, then downwards, then back to the order in which the rows were written.
SCRIPT = """
{
  const table = document.currentScript.closest("section").querySelector("table");
  const rows = [...table.tBodies[0].rows], headings = table.querySelectorAll("th[data-column]");
  const value = (row, column) => {
    const cell = row.cells[column], text = cell.dataset.value ?? cell.textContent;
    const number = parseFloat(text.replace("\\u2212", "-").replaceAll(",", ""));
    return cell.className || isNaN(number) ? text : number;
  };
  const compare = (a, b, sign) => {  // numbers come before text, an empty cell comes last, in either order
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    if (typeof a === "number") return sign * (a - b);
    return (a === "") - (b === "") || sign * a.localeCompare(b, "en", { numeric: true });
  };
  for (const heading of headings) heading.querySelector("button").onclick = () => {
    const column = heading.dataset.column, sorted = [...rows], last = heading.getAttribute("aria-sort");
    const [next, sign] = { null: ["ascending", 1], ascending: ["descending", -1] }[last] ?? [];
    for (const each of headings) each.removeAttribute("aria-sort");
    if (next) {
      heading.setAttribute("aria-sort", next);
      sorted.sort((a, b) => compare(value(a, column), value(b, column), sign));
    }
    table.tBodies[0].append(...sorted);
  };
}
"""


def without_constants(columns: Columns, cells: Cells, names: int) -> tuple[Columns, Cells, int, list[str]]:
    """The columns whose cells differ, and the first; their rows; how many are names; notes that say the others.

    A single row keeps all columns that are not empty.
    """
    values = list(zip(*cells, strict=True))
    kept = [i for i, (one, *rest) in enumerate(values) if i == 0 or set(rest) - {one} or (one and not rest)]
    left_out = [(", ".join(filter(None, columns[i])), values[i][0]) for i in range(len(columns)) if i not in kept]
    equal = "; ".join(f"{heading} ({value})" for heading, value in left_out if value)
    empty = "; ".join(heading for heading, value in left_out if not value)
    notes = [f"Columns left out because all rows are equal: {equal}."] * bool(equal)
    notes += [f"Columns left out because they are empty: {empty}."] * bool(empty)
    rows = [[row[i] for i in kept] for row in cells]
    return [columns[i] for i in kept], rows, sum(i < names for i in kept), notes


def as_html(title: str, columns: Columns, cells: Cells, notes: Sequence[str], made: Sequence[str], names: int) -> str:
    def text(cell: str) -> str:
        return typeset(html.escape(cell), "\u2212{}", "{}\u00b710<sup>{}</sup>").replace("<sup>-", "<sup>\u2212")

    def data(i: int, cell: str) -> str:
        kind = '"text long"' if len(cell) > LONG else "text"
        look = f" class={kind}" if i < names else f" data-value={cell}" if POWER.match(cell) else ""
        joined = text(cell).replace("± ", "±\u00a0").replace(" %", "\u00a0%")
        unbroken = re.sub(r"[^\s<>]+-[^\s<>]+", r"<span class=whole>\g<0></span>", joined)
        return f"<td{look}>{unbroken}</td>"

    def listed(items: Iterable[str]) -> str:
        return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"

    def heading(i: int, name: str, rows: int) -> str:
        kind = " class=text" if i < names else ""
        label = text(name)
        for word in SYLLABLES:
            label = label.replace(word.replace("-", ""), word.replace("-", "&shy;"))
        return f"<th scope=col{kind} data-column={i} rowspan={rows}><button type=button>{label}</button></th>"

    def line(row: Sequence[str], first: bool) -> str:
        looks = ["rule"] * first + ["base"] * ("base" in row[:names])
        kind = f' class="{" ".join(looks)}"' if looks else ""
        return f"<tr{kind}>{''.join(data(i, cell) for i, cell in enumerate(row))}</tr>"

    upper, lower = [], []
    for name, group in groups(columns):
        if columns[group[0]][1]:
            upper.append(f"<th scope=colgroup colspan={len(group)}>{text(name)}</th>")
            lower += [heading(i, columns[i][1], 1) for i in group]
        else:
            upper.append(heading(group[0], name, 2))
    folded = f"<details><summary>What our numbers are made of</summary>{listed(made)}</details>" if made else ""
    return "\n".join(
        [
            f"<!DOCTYPE html><html lang=en><meta charset=utf-8><title>{text(title)}</title>",
            "<style>:root { color-scheme: light dark } body { margin: 1.5em }</style>",
            f"<section class=results><style>{STYLE}</style>",
            f"<table><caption>{text(title)}</caption>",
            f"<thead><tr>{''.join(upper)}</tr><tr>{''.join(lower)}</tr></thead><tbody>",
            *map(line, cells, begins_group(cells)),
            "</tbody></table>",
            *[listed(notes), folded],
            f"<script>{SCRIPT}</script></section></html>\n",
        ]
    )


def as_latex(title: str, columns: Columns, cells: Cells, notes: Sequence[str], names: int) -> str:
    def text(cell: str) -> str:
        return typeset(cell.translate(LATEX), "$-${}", r"${} \cdot 10^{{{}}}$")

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
    """Whether each row is the first of a group; none is if all rows differ in their first cell, by which groups go."""
    firsts = [row[0] for row in cells]
    grouped = len(set(firsts)) < len(firsts)
    return [grouped and above != first for above, first in pairwise([firsts[0], *firsts])]


def groups(columns: Columns) -> list[tuple[str, list[int]]]:
    """Each heading with the numbers of the columns below it."""
    numbered = groupby(range(len(columns)), key=lambda i: (columns[i][0], columns[i][1] != ""))
    return [(heading, list(group)) for (heading, _), group in numbered]
