"""Perplexity and sacreBLEU against the length of pairs, a line for each positional encoding."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from figures_common import POSITIONS, save
from lengths import Lengths, read_lengths
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, ScalarFormatter
from records import logged, read_yaml

FEW = {"perplexity": ("pairs", 10), "sacrebleu": ("translations", 30)}  # the fewest with which a length class is drawn


def by_class(seeds: Sequence[pd.DataFrame], measure: str) -> pd.DataFrame:
    """A measure, with a row for each length class that is drawn, by its middle, and a column for each seed."""
    column, few = FEW[measure]
    drawn = [one[one[column] >= few] for one in seeds]
    return pd.concat([one.set_index((one["shortest"] + one["longest"]) / 2)[measure] for one in drawn], axis=1)


def draw_line(axes: Axes, values: pd.DataFrame, colour: str, label: str) -> None:
    """The mean over seeds as a line, and from the least to the greatest as a band."""
    axes.plot(values.mean(axis=1), color=colour, label=label, linewidth=1.2, marker="o", markersize=2.5)
    axes.fill_between(values.index, values.min(axis=1), values.max(axis=1), color=colour, alpha=0.12, linewidth=0)


def draw(rows: Sequence[Mapping[str, Any]], lengths: Lengths, longest: int) -> Figure:
    """Perplexity above and BLEU below; on the right relative to base with the same seed, if base is run.

    The lengths of training, up to `longest` subwords, are shaded. A line ends with the positions of its model.
    """
    figure, panels = plt.subplots(2, 2, sharex=True, figsize=(7.2, 5.6), layout="constrained")
    for axes in panels.flat:
        axes.axvspan(
            1, longest, color="#f0f0f0", zorder=0, label="lengths of training" if axes is panels[0, 0] else None
        )
    for row in (row for row in rows if row["model"] in lengths):
        colour = POSITIONS[row["positions"]]
        for measure, (left, right) in zip(FEW, panels, strict=True):
            values = by_class(lengths[row["model"]], measure)
            draw_line(left, values, colour, row["name"])
            if "base" in lengths:
                base = by_class(lengths["base"], measure)
                draw_line(right, values / base if measure == "perplexity" else values - base, colour, row["name"])
    for axes, label in zip(
        panels.flat,
        ("perplexity of a subword", "perplexity / that of base", "sacreBLEU", "sacreBLEU minus that of base"),
        strict=True,
    ):
        axes.set_ylabel(label)
    panels[0, 0].set(xscale="log", yscale="log", xlim=(0.25 * longest, None))
    for axis in (panels[0, 0].xaxis, panels[0, 0].yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_locator(NullLocator())
    for axes in panels[1]:
        axes.set_xlabel("subwords of the longer side of a pair")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def main(snakemake: Any) -> None:
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    save(draw(read_yaml(snakemake.input.published)["positions"], lengths, snakemake.params.longest), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)
