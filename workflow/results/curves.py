"""Training loss and development perplexity of every run against its steps, in groups of models."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import pandas as pd

from workflow.results.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.records import Equal, read_training
from workflow.results.result import Figure, Plan, Selection

CAPTION = """\
**Training curves.** Training loss (with label smoothing) and perplexity on the first 250 pairs of the development set,
grouped by the paper's tables. There are {histories} runs. Table 3 measures perplexity on all
pairs. Base is black in every panel of its task. Do not compare the losses of runs with different label smoothing. Look
for runs whose perplexity is still falling at the last step.
"""
DASHES = ("-", "--", ":")
PER_LINE = 3  # the most groups side by side
Curves = Mapping[tuple[str, str], Sequence[pd.DataFrame]]  # (task, model) -> the histories of its seeds


def plan(selection: Selection) -> Plan | None:
    """The histories of all runs, and their groups: the runs of each table."""
    packages, histories = (
        selection.runs.packages_behind(selection.all_scores, name) for name in ("config.json", "history.csv")
    )
    groups, read = selection.curves, {"packages": packages, "histories": histories}
    return Plan(read, {"groups": groups, "equal": selection.runs.equal}) if groups else None


def read_curves(
    packages: Sequence[str], histories: Sequence[str], equal: Equal
) -> dict[tuple[str, str], list[pd.DataFrame]]:
    """The histories of each (task, row). `packages` and `histories` are of the same runs, in order."""
    curves: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for run, history in zip(map(read_training, packages), map(pd.read_csv, histories), strict=True):
        for row in equal[run["task"]][run["model"]]:
            curves.setdefault((run["task"], row), []).append(history)
    return curves


def draw(curves: Curves, groups: Mapping[str, Sequence[tuple[str, str]]]) -> Drawing:
    """For each group the loss, and below it the perplexity. Base is black. Groups of a task share their axes."""
    columns = min(PER_LINE, len(groups))
    lines = -(-len(groups) // columns)
    figure, axes = panels(2 * lines, columns, 2.6 * columns, 4 * lines)
    for each in axes.flat:
        each.set_axis_off()
    first: dict[str, tuple[Axes, Axes]] = {}
    for place, (name, runs) in enumerate(groups.items()):
        line, column = divmod(place, columns)
        loss, perplexity = axes[2 * line, column], axes[2 * line + 1, column]
        if runs[0][0] in first:
            loss.sharey(first[runs[0][0]][0])
            perplexity.sharey(first[runs[0][0]][1])
        else:
            first[runs[0][0]] = loss, perplexity
        draw_group(loss, perplexity, curves, runs)
        loss.set_title(name)
        if column == 0:
            loss.set_ylabel("training loss, nats")
            perplexity.set_ylabel("development perplexity")
    return figure


def draw_group(loss: Axes, perplexity: Axes, curves: Curves, runs: Sequence[tuple[str, str]]) -> None:
    """Draw the curves of `runs`: a colour and a dash for each model, a line for each seed."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator, ScalarFormatter

    looks = zip(cycle(COLOURS), cycle(DASHES))  # 21 combinations
    for task, model in runs:
        colour, dashes = ("black", "-") if (task, model) == (runs[0][0], "base") else next(looks)
        for seed, history in enumerate(curves[task, model]):
            look = {"color": colour, "linestyle": dashes, "linewidth": 1.1}
            name = literal(model if task == "ende" else f"{task} {model}")
            loss.plot(history["step"], history["loss"], label=None if seed else name, **look)
            measured = history.dropna(subset="dev_perplexity")
            perplexity.plot(measured["step"], measured["dev_perplexity"], marker="o", markersize=2, **look)
    for axes in (loss, perplexity):
        axes.set_axis_on()
        axes.set_xlim(left=0)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    perplexity.set_yscale("log")
    perplexity.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    perplexity.yaxis.set_major_formatter(ScalarFormatter())
    perplexity.yaxis.set_minor_locator(NullLocator())
    perplexity.set_xlabel("steps")
    loss.legend(handlelength=2.4, labelspacing=0.1, columnspacing=1, ncols=1 + (len(runs) > 9))


def figure(job: Any) -> list[Drawing]:
    """The figure."""
    return [draw(read_curves(job.input.packages, job.input.histories, job.params.equal), job.params.groups)]


RESULTS = (
    Figure(
        name="training_curves",
        section="5",
        titles={"training_curves": "Training curves"},
        caption=CAPTION,
        plan=plan,
        draw=figure,
    ),
)
