"""The claims as a forest plot: the paper's differences, our differences with their intervals, and the verdicts."""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from claims import MEASURES, Result, results
from figures_common import COLOURS, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from records import logged

VERDICTS = {"reproduced": COLOURS[2], "contrary": COLOURS[1], "undecided": "#555555", "not run": "#888888"}
PAPER = {"marker": "o", "color": COLOURS[0], "markerfacecolor": "none", "linestyle": "none", "markersize": 5.5}


def draw(judged: Sequence[Result]) -> Figure:
    """A panel for each measure, with its claims in the order of the paper."""
    groups = [[each for each in judged if each.measure is measure] for measure in MEASURES.values()]
    groups = [group for group in groups if group]
    figure, panels = plt.subplots(
        len(groups),
        1,
        figsize=(7.2, 0.18 * len(judged) + 0.75 * len(groups)),
        height_ratios=[len(group) + 1 for group in groups],
        squeeze=False,
        layout="constrained",
    )
    for axes, group in zip(panels[:, 0], groups, strict=True):
        draw_measure(axes, group)
    looks = [Line2D([], [], label="paper", **PAPER)]
    looks += [
        Line2D([], [], label=f"ours, {name}", color=colour, marker="D", markersize=4, linewidth=1.2)
        for name, colour in VERDICTS.items()
        if name != "not run"
    ]
    figure.legend(handles=looks, loc="outside upper center", ncols=len(looks))
    return figure


def told(result: Result) -> str:
    """The verdict, with the number of seeds, and what they could show if they do not decide."""
    if not result.judged:
        return result.verdict
    could_show = f"; could show {result.could_show}" if result.could_show else ""
    return f"{result.verdict} (n {result.judged.seeds}{could_show})"


def draw_measure(axes: Axes, group: Sequence[Result]) -> None:
    """The claims about one measure, one below the other."""
    measure = group[0].measure
    axes.axvline(0, color="black", linewidth=0.8)
    for height, each in enumerate(group):
        colour = VERDICTS[each.verdict.partition(":")[0]]
        if each.claim.get("margin"):
            margin = measure.margin(each.claim["margin"])
            bounds = measure.shown(-margin), measure.shown(margin)
            axes.fill_betweenx([height - 0.4, height + 0.4], *bounds, color="#e8eef4", zorder=0)
        if each.judged:
            axes.plot([measure.shown(bound) for bound in each.judged.interval], [height, height], color=colour)
        if each.ours is not None:
            face = colour if each.judged else "none"
            axes.plot(measure.shown(each.ours), height, marker="D", markersize=4, color=colour, markerfacecolor=face)
        if each.paper is not None:
            axes.plot(measure.shown(each.paper), height, **PAPER)
        axes.text(1.02, height, told(each), transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=colour)
    labels = [f"{each.claim['claim']}  ({each.claim['section']})" for each in group]
    axes.set(yticks=range(len(group)), ylim=(len(group) - 0.4, -0.6))
    axes.set_yticklabels(labels, fontsize=7)
    axes.tick_params(axis="y", length=0)
    unit = "% less" if measure.relative else "points of"
    axes.set_xlabel(f"{unit} {measure.heading}, in favour of the claim")


def main(snakemake: Any) -> None:
    save(draw(results(snakemake)), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)
