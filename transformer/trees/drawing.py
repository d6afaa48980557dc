"""Draw constituency trees as self-contained SVG."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from transformer.trees.linear import read_parses
from transformer.trees.tree import Leaf, Tree, walk, words

# All lengths are in pixels.
SIZE = 14  # the font size
ROW = 44  # from one label down to the next
GAP = 16  # between two words
MARGIN = 40
PAGE = 920  # the widest page on which the text can be read
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"
  viewBox="0 0 {width:.0f} {height:.0f}">
<style>
text {{ font: {size}px system-ui, "DejaVu Sans", sans-serif; text-anchor: middle; fill: #222 }}
.label {{ fill: #0072b2 }}
text.differs {{ fill: #a84300; font-weight: bold }}
rect.differs {{ fill: #ffe9d6; stroke: #a84300 }}
.note {{ text-anchor: start; fill: #888 }}
path {{ fill: none; stroke: #aaa }}
</style>
<rect width="100%" height="100%" fill="#fff"/>
"""


def draw(sentences: Mapping[int, Sequence[Tree]], columns: Sequence[str] = ("",), differing: Sequence[int] = ()) -> str:
    """An SVG with a row for each sentence and a column for each of the sentence's trees.

    Each row shows the number of its sentence, and each column its head. Columns that are wider than a page stand below
    each other. The words of a tree stand in one row at the bottom, and each label stands above the middle of its words.
    Tags are left out. Of sentences in `differing`, which have two trees, constituents that the other tree lacks are
    marked.
    """
    drawn = {}
    for number, trees in sentences.items():
        others = reversed(trees) if number in differing else trees
        drawn[number] = [_draw_tree(tree, _only(tree, other)) for tree, other in zip(trees, others, strict=True)]
    widths = [
        max([width_of(head), *(trees[column][1] for trees in drawn.values())]) for column, head in enumerate(columns)
    ]
    if len(columns) > 1 and sum(widths) + 2 * MARGIN * len(columns) > PAGE:
        rows = [
            (f"{number} {head}", [tree]) for number in drawn for head, tree in zip(columns, drawn[number], strict=True)
        ]
        columns, widths = [""], [max(widths)]
    else:
        rows = [(str(number), trees) for number, trees in drawn.items()]
    margin = max([MARGIN, *(width_of(name) + SIZE for name, _ in rows)])
    lefts = [margin + sum(widths[:column]) + 2 * MARGIN * column for column in range(len(columns))]
    parts = [_text(left, SIZE * 2, head, "note") for left, head in zip(lefts, columns, strict=True) if head]
    top = SIZE * 3.0 if parts else SIZE
    for name, row in rows:
        parts.append(_text(SIZE / 2, top + SIZE, name, "note"))
        for left, (shapes, _, _) in zip(lefts, row, strict=True):
            parts.append(f'<g transform="translate({left:.1f} {top + SIZE:.1f})">\n{shapes}</g>\n')
        top += max(height for _, _, height in row) + MARGIN
    head = HEAD.format(width=lefts[-1] + widths[-1] + MARGIN, height=top, size=SIZE)
    return "".join([head, *parts, "</svg>\n"])


def _spans(tree: Tree) -> list[tuple[str, int, int]]:
    """Each constituent's label, first word and end, in the order in which constituents open."""
    spans: list[tuple[str, int, int]] = []
    opened: list[int] = []
    word = 0
    for item in walk(tree):
        if isinstance(item, Leaf):
            word += 1
        elif item[0] == "(":
            opened.append(len(spans))
            spans.append((item[1:], word, word))
        else:
            place = opened.pop()
            spans[place] = (*spans[place][:2], word)
    return spans


def _only(tree: Tree, other: Tree) -> set[int]:
    """The constituents of a tree, by the order in which they open, that another tree over its words lacks."""
    known = Counter(_spans(other))
    found = set()
    for place, span in enumerate(_spans(tree)):
        known[span] -= 1
        if known[span] < 0:
            found.add(place)
    return found


def width_of(text: str) -> float:
    """An estimate of the width of a drawn text, on the large side, because fonts differ."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    narrow = sum(bool(unicodedata.combining(letter)) for letter in text)
    capital = sum(letter.isupper() for letter in text)
    return SIZE * (0.6 * len(text) + 0.4 * wide - 0.6 * narrow + 0.15 * capital)


class _Box(NamedTuple):
    """A subtree as it is drawn: a word, or a label above its children.

    It is as wide as its text or as all boxes of the children together, if they are wider.
    """

    text: str
    children: list["_Box"]
    inside: float  # the width of all children
    width: float


def _boxes(tree: Tree) -> tuple[_Box, int]:
    """The box of a tree, and how many rows its words are below the root's label."""
    levels: list[list[_Box]] = [[]]
    depth = 0
    for item in walk(tree):
        if not isinstance(item, Leaf) and item[0] == "(":
            levels.append([])
            depth = max(depth, len(levels) - 1)
        else:
            text, children = (item.word, []) if isinstance(item, Leaf) else (item[1:], levels.pop())
            # `sum` rounds otherwise from Python 3.12 on.
            *_, inside = accumulate((child.width for child in children), initial=0.0)
            levels[-1].append(_Box(text, children, inside, max(width_of(text) + GAP, inside)))
    [[root]] = levels
    return root, depth


def _draw_tree(tree: Tree, marked: Collection[int]) -> tuple[str, float, float]:
    """The shapes of a tree, its width and its height; the baseline of the root's label is at 0.

    The labels of `marked` constituents, by the order in which they open, have a frame.
    """
    root, depth = _boxes(tree)
    shapes = []
    constituent = 0
    pending: list[tuple[_Box, float, int, float]] = [(root, 0, 0, 0)]  # box, left side, row, middle of its parent
    while pending:
        box, left, row, parent = pending.pop()
        middle = left + box.width / 2
        if row:
            start = f"M{parent:.1f} {(row - 1) * ROW + 5} L{middle:.1f} {row * ROW - SIZE}"
            end = f" V{depth * ROW - SIZE}" if not box.children and row < depth else ""
            shapes.append(f'<path d="{start}{end}"/>\n')
        if not box.children:
            shapes.append(_text(middle, depth * ROW, box.text))
            continue
        kind = "label"
        if constituent in marked:
            kind, width = "label differs", width_of(box.text)
            frame = f'x="{middle - width / 2:.1f}" y="{row * ROW - SIZE}" width="{width:.1f}" height="{SIZE + 4}"'
            shapes.append(f'<rect class="differs" {frame}/>\n')
        constituent += 1
        shapes.append(_text(middle, row * ROW, box.text, kind))
        lefts = accumulate((child.width for child in box.children), initial=middle - box.inside / 2)
        below = [(child, at, row + 1, middle) for child, at in zip(box.children, lefts, strict=False)]
        pending += reversed(below)
    return "".join(shapes), root.width, depth * ROW + SIZE


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    """A text whose baseline is at y. U+FFFD replaces characters that XML does not allow."""
    held = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{attribute}>{escape(held)}</text>\n'


def draw_examples(outputs: Sequence[str], gold: Path) -> str:
    """An SVG of three sentences of 5 to 15 words: each gold tree beside the tree of the decoder's output.

    They are the first sentence whose trees are the same, and the first two whose trees differ, as far as there are
    such sentences; else the next ones. Constituents that only one of the two trees has are marked. A note replaces the
    trees if no sentence is as long. Raises the InputErrors of `read_parses`.
    """
    trees = {number: [tree, parse] for number, (tree, parse, _) in enumerate(read_parses(outputs, gold), 1)}
    fitting = [number for number, (tree, _) in trees.items() if 5 <= len(words(tree)) <= 15]
    differing = [number for number in fitting if _spans(trees[number][0]) != _spans(trees[number][1])]
    same = [number for number in fitting if number not in set(differing)]
    shown = [*same[:1], *differing[:2], *same[1:], *differing[2:]][:3]
    heads = ["gold", "ours"] if shown else ["no sentence has 5 to 15 words"]
    return draw({number: trees[number] for number in sorted(shown)}, heads, differing)
