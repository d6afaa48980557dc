"""Tables in Markdown."""

import re
from collections.abc import Sequence

from tabulate import tabulate

Texts = Sequence[str]
HTML = r"<(?=[A-Za-z/!?])"
SPECIAL = rf"[|`$]|{HTML}|\*(?=\w)|(?<!\w)_(?=\w)"  # what has a meaning of its own in a cell


def without_breaks(text: str) -> str:
    """A text without line breaks."""
    return re.sub(r"\s*[\n\r\v\f\x85\u2028\u2029]\s*", " ", text.strip("\r\n"))


def table(headings: Texts, rows: Sequence[Texts], sides: Texts) -> str:
    """An aligned table. `sides` says where the cells of each column stand: left or right."""
    escaped = [[re.sub(SPECIAL, r"\\\g<0>", without_breaks(cell)) for cell in row] for row in (headings, *rows)]
    return str(tabulate(escaped[1:], escaped[0], tablefmt="pipe", disable_numparse=True, colalign=sides))


def markdown(title: str, headings: Texts, rows: Sequence[Texts], notes: Texts, names: int) -> str:
    """A table with a title above it and notes below. The first `names` columns hold text, the rest numbers."""
    sides = ["left"] * names + ["right"] * (len(headings) - names)
    listed = ["- " + re.sub(HTML, r"\<", without_breaks(note)) for note in notes]
    return "\n".join([f"**{title}**", "", table(headings, rows, sides), "", *listed, ""])
