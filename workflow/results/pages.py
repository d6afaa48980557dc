"""Tables of pages, from the released csv. `python -m workflow.results.pages` makes them again.

Comments, which neither GitHub nor the site shows, say what a table has and where it ends:

    <!-- table: replication/tables/claims.csv
    rows: Measure = BLEU* | F1*; Size = larger
    rows: Verdict = contrary
    columns: Claim; In favour*; Verdict
    -->
    <!-- end -->

The csv is named as in a link of the page. A row is shown if it meets every condition of one line `rows`, or if there is
no such line. Patterns are those of file names. Columns stand in the order asked for.
"""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from transformer.support.files import InputError
from transformer.support.markdown import table

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- table: ", "<!-- end -->"
CONDITION = "[^;=\n]+ = [^;=\n]+"
MARKED = re.compile(
    rf"({BEGIN}(.+)\n((?:rows: {CONDITION}(?:; {CONDITION})*\n)*)columns: (.+)\n-->\n)(?:(?!<!--).*\n)*{END}"
)
NUMBER = re.compile(r"([+-]?\d[\d.,]*(e[+-]\d+)?( %)?( ± .+)?)?$")


def filled(page: Path) -> str:
    """The text of a page with its tables made again. Raises InputError for other comments, and as `excerpt` does."""

    def made(found: re.Match[str]) -> str:
        return f"{found[1]}\n{excerpt(page.parent / found[2], found[3].splitlines(), found[4])}\n\n{END}"

    text, count = MARKED.subn(made, page.read_text("utf-8"))
    if count != text.count(BEGIN):
        raise InputError(f"{page}: has a table whose comments are not as at the head of {__file__}")
    return text


def excerpt(path: Path, rows: Sequence[str], columns: str) -> str:
    """Rows and columns of a csv, in Markdown. Raises InputError for no such column, and where there is no such row."""
    with path.open(encoding="utf-8", newline="") as file:
        every = list(csv.DictReader(file))
    asked = [dict(part.split(" = ") for part in line.removeprefix("rows: ").split("; ")) for line in rows]
    matching = {name: [heading for heading in every[0] if fnmatchcase(heading, name)] for name in columns.split("; ")}
    missing = [name for name in chain(*asked) if name not in every[0]]
    missing += [name for name, found in matching.items() if not found]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]}; it has {'; '.join(every[0])}")
    shown = list(dict.fromkeys(chain(*matching.values())))
    chosen = [row for row in every if not asked or any(_meets(row, conditions) for conditions in asked)]
    for line, conditions in zip(rows, asked, strict=True):
        if not any(_meets(row, conditions) for row in chosen):
            raise InputError(f"{path}: has no row for {line}")
    cells = [[row[heading] for heading in shown] for row in chosen]
    sides = ["right" if all(map(NUMBER.match, column)) else "left" for column in zip(*cells, strict=True)]
    return table(shown, cells, sides)


def _meets(row: Mapping[str, str], conditions: Mapping[str, str]) -> bool:
    return all(
        any(fnmatchcase(row[heading], pattern) for pattern in patterns.split(" | "))
        for heading, patterns in conditions.items()
    )


if __name__ == "__main__":
    try:
        for each in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
            if (text := filled(each)) != each.read_text("utf-8"):
                each.write_text(text, "utf-8")
                print(each.relative_to(ROOT))
    except (InputError, OSError) as error:
        sys.exit(f"error: {error}")
