"""Perplexity against the length of pairs, a line for each encoding of positions; the lengths of training are shaded."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from figures_common import COLOURS, save
from lengths import Lengths, read_lengths
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter
from records import logged, read_yaml

FEW = 10  # pairs of a class of lengths, from which on it is drawn


def draw(rows: Sequence[Mapping[str, Any]], lengths: Lengths, longest: int) -> Figure:
    """Perplexity, and where base is run its ratio to base's; `longest` are the subwords of training's longest pair.

    A line ends where the positions of a model do.
    """
    figure, panels = plt.subplots(1, 2, sharex=True, figsize=(7.2, 2.9), layout="constrained")
    for axes in panels:
        axes.set(xscale="log", xlabel="subwords of the longer side of a pair")
        axes.axvspan(1, longest, color="#f0f0f0", zorder=0, label="lengths of training" if axes is panels[0] else None)
    for row, colour in zip((row for row in rows if row["model"] in lengths), ("black", *COLOURS), strict=False):
        measured = lengths[row["model"]]
        drawn = measured["pairs"] >= FEW
        middle = ((measured["shortest"] + measured["longest"]) / 2)[drawn]
        look = {"color": colour, "linewidth": 1.2, "marker": "o", "markersize": 2.5}
        panels[0].plot(middle, measured["perplexity"][drawn], label=row["name"], **look)
        if "base" in lengths:
            panels[1].plot(middle, (measured["perplexity"] / lengths["base"]["perplexity"])[drawn], **look)
    panels[0].set(yscale="log", ylabel="perplexity of a subword", xlim=(0.25 * longest, None))
    panels[1].set_ylabel("perplexity / perplexity of base")
    for axis in (panels[0].xaxis, panels[1].xaxis, panels[0].yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_locator(NullLocator())
    figure.legend(loc="outside right upper")
    return figure


def main(snakemake: Any) -> None:
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    figure = draw(read_yaml(snakemake.input.published)["positions"], lengths, snakemake.params.longest)
    save(figure, snakemake.output)
    plt.close(figure)


if "snakemake" in globals():
    logged(main, snakemake)
