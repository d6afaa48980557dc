"""Perplexity against the length of pairs, a line for each encoding of positions; the lengths of training are shaded."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from figures_common import COLOURS, save
from lengths import Lengths, read_lengths
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter
from records import logged, read_yaml


def draw(rows: Sequence[Mapping[str, Any]], lengths: Lengths, longest: int) -> Figure:
    """`longest` are the subwords of the longest pair of training. A line ends where the positions of a model do."""
    figure, axes = plt.subplots(figsize=(4.8, 3), layout="constrained")
    axes.axvspan(0, longest, color="#eeeeee", zorder=0, label="lengths of training")
    for row, colour in zip((row for row in rows if row["model"] in lengths), ("black", *COLOURS), strict=False):
        measured = lengths[row["model"]]
        middle = (measured["shortest"] + measured["longest"]) / 2
        axes.plot(
            middle, measured["perplexity"], color=colour, label=row["name"], linewidth=1.2, marker="o", markersize=2.5
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_locator(NullLocator())
    axes.set_xlim(left=0)
    axes.set(xlabel="subwords of the longer side of a pair", ylabel="perplexity of a subword")
    figure.legend(loc="outside right upper")
    return figure


def main(snakemake: Any) -> None:
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    figure = draw(read_yaml(snakemake.input.published)["positions"], lengths, snakemake.params.longest)
    save(figure, snakemake.output)
    plt.close(figure)


if "snakemake" in globals():
    logged(main, snakemake)
