"""The study of length: exact match against length, a panel for each task, a line for each positional encoding."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from figures_common import POSITIONS, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from records import logged, read_json

COLUMNS = 3
DASHES = dict(zip(POSITIONS, cycle(("-", (0, (4, 2)), (0, (1, 1.5))))))  # show lines that lie on each other


def read_runs(paths: list[str]) -> pd.DataFrame:
    """A row for each run and length."""
    return pd.DataFrame(
        [
            {"task": run["task"], "positions": run["positions"], "length": int(length), "right": right}
            for run in map(read_json, paths)
            for length, right in run["exact_match"].items()
        ]
    )


def draw_task(axes: Axes, runs: pd.DataFrame, study: Mapping[str, Any]) -> None:
    """The mean over seeds as a line, and from the least to the greatest as a band."""
    least, most = study["recipe"]["trained"]
    axes.axvspan(least, most, color="#ececec", linewidth=0, label="lengths trained on")
    for positions in study["positions"]:
        look = {"color": POSITIONS[positions], "linestyle": DASHES[positions], "linewidth": 1.3}
        right = runs[runs["positions"] == positions].groupby("length")["right"]
        axes.fill_between(right.mean().index, right.min(), right.max(), color=look["color"], alpha=0.15, linewidth=0)
        axes.plot(right.mean(), label=positions, **look)
    axes.set(xlim=(least, study["recipe"]["tested"]), ylim=(-0.03, 1.03))
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))


def draw(runs: pd.DataFrame, study: Mapping[str, Any]) -> Figure:
    """A panel for each task; the legend stands after the last."""
    tasks = study["tasks"]
    lines = len(tasks) // COLUMNS + 1
    figure, panels = plt.subplots(
        lines, COLUMNS, sharex=True, sharey=True, squeeze=False, figsize=(7.2, 2.2 * lines), layout="constrained"
    )
    for axes, task in zip(panels.flat, tasks, strict=False):
        draw_task(axes, runs[runs["task"] == task], study)
        axes.set_title(task)
        axes.set_xlabel("length")
        axes.tick_params(labelbottom=True)
    for axes in panels[:, 0]:
        axes.set_ylabel("exact match")
    for axes in panels.flat[len(tasks) :]:
        axes.set_axis_off()
    handles, labels = panels.flat[0].get_legend_handles_labels()
    panels.flat[len(tasks)].legend(handles, labels, loc="center", fontsize=8)
    return figure


def main(snakemake: Any) -> None:
    save(draw(read_runs(snakemake.input.runs), snakemake.params.study), snakemake.output)


if "snakemake" in globals():
    logged(main, snakemake)
