"""Figures 3, 4 and 5: encoder self-attention on the paper's sentences, drawn as the paper draws it.

Each panel shows the sentence twice, with its words upright. Each word of the upper row attends to the words of the
lower row. A line between two words has the opacity of their attention weight, and the colour of its head.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workflow.results.common.drawing import Axes, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.records import read_json, read_yaml
from workflow.results.common.result import Job, Plan, Selection

CAPTION = """\
**Figures 3, 4 and 5.** Self-attention in the last but one layer of the encoder, on the paper's sentences; the paper
shows layer 5 of 6. The model is {model} ({task}, the first seed). Each word above attends to the words below. Each head
has its colour. *Figure 3*: all heads, from "making". *Figure 4*: head 5 in full, then heads 5 and 6 from "its" alone.
*Figure 5*: two other heads. If a model has fewer heads, its last ones are shown. The weights of subwords are joined to
weights of words. A line is drawn if its weight is above an even spread, at which all words have the same weight; the
greatest weight of a panel is opaque. The text above a panel says what one can see: the word that each head prefers,
with its weight, or how much of its weight a word gives to its first choice. In the paper, heads connect "making" with
"more difficult", and "its" with "Law" and "application", and are very sharp for "its". See whether ours prefer these
words, and how far their weights are above an even spread. Small models spread their weights over many words, and their
first choices are often words beside the question, the full stop or the end of the sentence. Do not read grammar into
single lines.
"""
GAP = 6.0  # height between the two lines of words; the unit is the distance between neighbouring words
ROOM = 3.3  # height of a line of words
MARK = 0.5  # height of a head's mark on a key
HEADS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a6d00", "#555555")  # --c0 to --c7 there

Panel = tuple[Sequence[int], int | None]  # heads, counted from 1, and the only query word, or None for all


def plan(selection: Selection) -> Plan:
    """The attention of the run of `figures`."""
    task, model = selection.experiment.drawn
    read = {"published": selection.numbers, "attention": selection.runs.attention()}
    return Plan(read, {"task": task, "model": model})


def panels_of(number: int, figures: Mapping[int, Any], words: Sequence[str], heads: int) -> list[Panel]:
    """The panels of figure `number`, from top to bottom. If the model has few heads, they are its last ones."""
    wanted, every = figures[4]["heads"], range(1, heads + 1)
    shown = sorted({max(1, head - max(0, max(wanted) - heads)) for head in wanted})
    others = [head for head in every if head not in shown][:2] or [1]
    query = words.index(figures[number]["word"]) if "word" in figures[number] else None
    panels: dict[int, list[Panel]] = {
        3: [(every, query)],
        4: [(shown[:1], None), (shown, query)],
        5: [([head], None) for head in others],
    }
    return panels[number]


def draw_panel(axes: Axes, words: Sequence[str], weights: np.ndarray, heads: Sequence[int], query: int | None) -> None:
    """Draw the attention of `heads` from every word, or from the word `query` alone.

    weights: (head, query, key). The largest weight of the panel is opaque, an even spread is invisible, and weights
    between them are in proportion. With `query`, each key also has a mark for each head, as opaque as its line.
    """
    from matplotlib.collections import LineCollection
    from matplotlib.patches import Patch, Rectangle

    queries = list(range(len(words))) if query is None else [query]
    even, largest = 1 / len(words), max(weights[head - 1][queries].max() for head in heads)
    lines = []
    for place, head in enumerate(heads):
        ends = np.arange(len(words)) + 0.9 * ((place + 0.5) / len(heads) - 0.5)
        for i in queries:
            for end, weight in zip(ends, weights[head - 1][i], strict=True):
                if weight > even:
                    lines.append(((weight - even) / (largest - even), i, end, colour_of(head)))
    lines.sort()  # the most opaque lines are drawn last, on top of the others
    colours = [(*colour, alpha) for alpha, _, _, colour in lines]
    axes.add_collection(
        LineCollection([[(i, GAP), (end, 0)] for _, i, end, _ in lines], colors=colours, linewidths=1.5)
    )
    if query is not None:
        width = 0.9 / len(heads)
        for alpha, _, end, colour in lines:
            axes.add_patch(Rectangle((end - width / 2, -MARK), width, MARK, color=(*colour, alpha), lw=0))
        axes.add_patch(Rectangle((query - 0.45, GAP), 0.9, ROOM, color="#d9d9d9", lw=0))
    upright = {"rotation": 90, "rotation_mode": "anchor", "va": "baseline"}
    for i, word in enumerate(map(literal, words)):
        baseline = i + 0.14
        axes.text(baseline, GAP + 0.25, word, ha="left", alpha=1 if i in queries else 0.6, **upright)
        axes.text(baseline, -MARK * (query is not None) - 0.25, word, ha="right", **upright)
    axes.set(xlim=(-0.7, len(words) - 0.3), ylim=(-MARK - ROOM, GAP + ROOM), aspect="equal")
    axes.axis("off")
    marks = [Patch(color=colour_of(head), label=seen(words, weights[head - 1], head, query)) for head in heads]
    choice = "" if query is None else "; the first choice of each head:"
    title = f"spread evenly, each weight would be {even:.2f}{choice}"
    space: Any = {"handlelength": 0.7, "handletextpad": 0.3, "columnspacing": 1.2, "borderaxespad": 0, "borderpad": 0.2}
    space |= {"loc": "lower left", "bbox_to_anchor": (0, 1), "alignment": "left"}
    axes.legend(handles=marks, ncols=min(4, len(heads)), title=title, title_fontsize=7, **space)


def seen(words: Sequence[str], weights: np.ndarray, head: int, query: int | None) -> str:
    """What one can see of a head: where the word `query` looks most, or how sure of its first choice each word is.

    weights: (query, key).
    """
    if query is not None:
        return f"head {head}: “{literal(words[weights[query].argmax()])}” {weights[query].max():.2f}"
    asking, asked = map(int, np.unravel_index(weights.argmax(), weights.shape))
    return (
        f"head {head}: a word gives {weights.max(1).mean():.2f} to its first choice on average, and at most "
        f"{weights.max():.2f}, from “{literal(words[asking])}” to “{literal(words[asked])}”"
    )


def colour_of(head: int) -> tuple[float, float, float]:
    """The colour of a head, counted from 1, as on the page of `explore`."""
    from matplotlib.colors import to_rgb

    return to_rgb(HEADS[(head - 1) % len(HEADS)])


def draw(words: Sequence[str], weights: np.ndarray, shown: Sequence[Panel]) -> Drawing:
    """A figure with the panels below each other; weights as in `draw_panel`."""
    height = 7.2 * (GAP + 2 * ROOM + MARK) / (len(words) + 0.4) + 0.5
    figure, axes = panels(len(shown), 1, 7.2, height * len(shown))
    for each, (heads, query) in zip(axes[:, 0], shown, strict=True):
        draw_panel(each, words, weights, heads, query)
    return figure


def figures(job: Job) -> list[Drawing]:
    """Figures 3, 4 and 5."""
    figures = read_yaml(job.input.published)["attention"]["figures"]
    sentences = {each["source"]: each for each in read_json(job.input.attention)["sentences"]}
    drawn = []
    for number in (3, 4, 5):
        sentence = sentences[figures[number]["sentence"]]
        weights = np.array(sentence["weights"])
        drawn.append(draw(sentence["words"], weights, panels_of(number, figures, sentence["words"], len(weights))))
    return drawn


RESULTS = (
    Figure(
        name="attention",
        section="Appendix",
        titles={
            "figure3": "Figure 3: heads from “making”",
            "figure4": "Figure 4: heads from “its”",
            "figure5": "Figure 5: two other heads",
        },
        caption=CAPTION,
        plan=plan,
        draw=figures,
    ),
)
