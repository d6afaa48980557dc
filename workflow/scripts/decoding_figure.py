"""How far other beams, other length penalties and the last checkpoint alone move BLEU from the task's decoding."""

from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from decoding import SETTING, read_searches
from figures_common import COLOURS, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from records import logged

from transformer.evaluation.metrics import metrics_of

BLEUS = [metric.columns[0] for metric in metrics_of("translation", shared=False)]
DODGE = 0.08  # between two alphas of a beam; the unit is the distance between beams


def draw_bleu(axes: Axes, means: pd.DataFrame, deviations: pd.Series, own: Any) -> None:
    """The mean difference of each setting over seeds and its standard deviation; `own` is the task's setting."""
    beams = sorted(means["beam"].unique())
    alphas = sorted(means["alpha"][means["beam"] > 1].unique())
    averaged = means["average"] == own.average
    look = {"marker": "o", "markersize": 4, "capsize": 2, "linewidth": 1.2}
    axes.axhline(0, color="black", linewidth=0.8)
    for number, (alpha, colour) in enumerate(zip(alphas, cycle(COLOURS), strict=False)):
        row = means[averaged & ((means["alpha"] == alpha) | (means["beam"] == 1))].sort_values("beam")
        places = row["beam"].map(beams.index) + DODGE * (number - (len(alphas) - 1) / 2) * (row["beam"] > 1)
        axes.errorbar(places, row["mean"], deviations[row.index], color=colour, label=f"alpha {alpha:g}", **look)
    last = means[~averaged]
    axes.errorbar(
        [len(beams)] * len(last), last["mean"], deviations[last.index], color="black", linestyle="none", **look
    )
    names = ["last\ncheckpoint"] * len(last)
    axes.set_xticks(range(len(beams) + len(last)), [*map("beam {}".format, beams), *names])
    axes.margins(x=0.1)


def draw(searches: pd.DataFrame) -> Figure:
    """A panel for each BLEU."""
    own = next(searches[SETTING].itertuples(index=False))
    figure, panels = plt.subplots(1, len(BLEUS), sharey=True, figsize=(7.2, 2.9), layout="constrained")
    for axes, column in zip(panels, BLEUS, strict=True):
        grouped = searches.groupby(SETTING)[f"{column.key}.difference"]
        means = grouped.mean().rename("mean").reset_index()
        draw_bleu(axes, means, grouped.std().fillna(0).reset_index(drop=True), own)
        score = searches[column.key][(searches[SETTING] == list(own)).all(axis=1)].mean()
        axes.set_title(f"{column.heading}: {score:.{column.digits}f} with beam {own.beam}, alpha {own.alpha:g}")
    panels[0].set_ylabel("difference from that, BLEU points")
    panels[0].legend()
    return figure


def main(snakemake: Any) -> None:
    save(draw(read_searches(snakemake.input.scores, snakemake.input.others)), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)
