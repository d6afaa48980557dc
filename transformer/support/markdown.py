"""Tables in Markdown."""

from collections.abc import Sequence

from tabulate import tabulate

Texts = Sequence[str]


def markdown(title: str, headings: Texts, rows: Sequence[Texts], notes: Texts, names: int) -> str:
    """An aligned table with a title above it and notes below. The first `names` columns hold text, the rest numbers."""
    sides = ["left"] * names + ["right"] * (len(headings) - names)
    escaped = [[cell.replace("|", r"\|") for cell in row] for row in (headings, *rows)]
    table = tabulate(escaped[1:], escaped[0], tablefmt="pipe", disable_numparse=True, colalign=sides)
    return "\n".join([f"**{title}**", "", table, "", *(f"- {note}" for note in notes), ""])
