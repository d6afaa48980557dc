"""Figures 3, 4 and 5: encoder self-attention on the paper's sentences, drawn as the paper draws it.

Two lines of upright words, the same sentence twice: the upper one attends to the lower one. A line from a
word to a word is as opaque as the attention weight between them; each head has its colour.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from figures_common import save
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from records import logged, read_json, read_yaml

HEAD_COLOURS = plt.get_cmap("tab10").colors
GAP = 6.0  # height between the two lines of words; the unit is the distance from a word to the next
ROOM = 3.3  # height of a line of words
MARK = 0.5  # height of a head's mark on a key

Panel = tuple[Sequence[int], int | None]  # heads, counted from 1, and the one query word that is drawn, or None for all


def choose_heads(wanted: Sequence[int], heads: int) -> list[int]:
    """The heads that the paper shows, counted from 1; of a model with fewer heads, the last ones."""
    return sorted({max(1, head - max(0, max(wanted) - heads)) for head in wanted})


def other_heads(shown: Sequence[int], heads: int) -> list[int]:
    """The first two heads, counted from 1, that are not among `shown`; the first one if there is none."""
    return [head for head in range(1, heads + 1) if head not in shown][:2] or [1]


def panels_of(number: int, figures: Mapping[int, Any], words: Sequence[str], heads: int) -> list[Panel]:
    """What the panels of figure `number` show, from top to bottom."""
    shown = choose_heads(figures[4]["heads"], heads)
    query = words.index(figures[number]["word"]) if "word" in figures[number] else None
    return {
        3: [(range(1, heads + 1), query)],
        4: [(shown[:1], None), (shown, query)],
        5: [([head], None) for head in other_heads(shown, heads)],
    }[number]


def draw_panel(axes: Axes, words: Sequence[str], weights: np.ndarray, heads: Sequence[int], query: int | None) -> None:
    """Draw the attention of `heads` from every word, or from the word `query` alone.

    weights: (head, query, key). From one word alone, each key carries a mark a head, as opaque as the weight.
    """
    queries = range(len(words)) if query is None else [query]
    for place, head in enumerate(heads):
        colour = HEAD_COLOURS[(head - 1) % len(HEAD_COLOURS)]
        ends = np.arange(len(words)) + 0.9 * ((place + 0.5) / len(heads) - 0.5)
        opacity = np.clip(weights[head - 1], 0, 1)
        axes.add_collection(
            LineCollection(
                [[(i, GAP), (end, 0)] for i in queries for end in ends],
                colors=[(*colour, alpha) for i in queries for alpha in opacity[i]],
                linewidths=1.5,
            )
        )
        if query is not None:
            width = 0.9 / len(heads)
            for end, alpha in zip(ends, opacity[query], strict=True):
                axes.add_patch(Rectangle((end - width / 2, -MARK), width, MARK, color=(*colour, alpha), lw=0))
    if query is not None:
        axes.add_patch(Rectangle((query - 0.45, GAP), 0.9, ROOM, color="#d9d9d9", lw=0))
    upright = {"rotation": 90, "rotation_mode": "anchor", "va": "baseline"}
    for i, word in enumerate(words):
        baseline = i + 0.14
        axes.text(baseline, GAP + 0.25, word, ha="left", alpha=1 if i in queries else 0.4, **upright)
        axes.text(baseline, -MARK * (query is not None) - 0.25, word, ha="right", **upright)
    axes.set(xlim=(-0.7, len(words) - 0.3), ylim=(-MARK - ROOM, GAP + ROOM), aspect="equal")
    axes.axis("off")


def draw(words: Sequence[str], weights: np.ndarray, panels: Sequence[Panel]) -> Figure:
    """A figure with the panels one below the other; weights as in `draw_panel`."""
    height = 7.2 * (GAP + 2 * ROOM + MARK) / (len(words) + 0.4) + 0.15
    figure, axes = plt.subplots(len(panels), squeeze=False, figsize=(7.2, height * len(panels)), layout="constrained")
    for each, (heads, query) in zip(axes[:, 0], panels, strict=True):
        draw_panel(each, words, weights, heads, query)
    return figure


def main(snakemake: Any) -> None:
    figures = read_yaml(snakemake.input.published)["attention"]["figures"]
    sentences = {each["source"]: each for each in read_json(snakemake.input.attention)["sentences"]}
    for number in (3, 4, 5):
        sentence = sentences[figures[number]["sentence"]]
        weights = np.array(sentence["weights"])
        panels = panels_of(number, figures, sentence["words"], len(weights))
        figure = draw(sentence["words"], weights, panels)
        save(figure, snakemake.output[f"figure{number}"])
        plt.close(figure)


if "snakemake" in globals():
    logged(main, snakemake)
