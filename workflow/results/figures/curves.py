"""Training loss and development perplexity of every run, as differences from base, in groups of models."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd

from transformer.training.history import HISTORY
from workflow.results.common.csv_files import read_csv
from workflow.results.common.drawing import COLOURS, Axes, Drawing, draw_band, literal, panels, plain_numbers
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Equal
from workflow.results.common.records import read_training
from workflow.results.common.result import Job, Plan, Run, Selection

CAPTION = """\
**Training curves.** Training loss (with label smoothing) and perplexity on the first 250 pairs of the development set,
grouped by the paper's tables. There are {histories} runs. Table 3 measures perplexity on all pairs. *Base* shows base
itself. The other panels show each model minus base of the same seed, from the end of base's warm-up on; below 0 a model
has less loss or less perplexity than base. A group whose task has no base shows its models themselves. Lines are means
over seeds, and bands reach from the least seed to the greatest. Each point of a loss is a mean over several steps, and
long lines have means of neighbouring points. Each panel has a scale of its own. Losses of training with other dropout
or label smoothing than base's are not comparable, and are left out. Look for lines that are still moving away from 0 at
the last step: there the rows of a table would differ otherwise after longer training.
"""
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1.2)))
PER_LINE = 3  # the most groups side by side
POINTS = {"difference": 15, "curve": 60}  # the most points of a line
MEASURES = {  # column of a history -> its label as a curve, and as a difference from base
    "loss": ("training loss, nats", "loss from base, nats"),
    "dev_perplexity": ("development perplexity", "perplexity from base, %"),
}
LEGEND: Any = {"loc": "lower left", "bbox_to_anchor": (-0.05, 0.98), "alignment": "left", "handlelength": 1.8}
LEGEND |= {"labelspacing": 0.1, "columnspacing": 0.7, "borderpad": 0.2, "handletextpad": 0.4}
Curves = Mapping[Run, Mapping[int, pd.DataFrame]]  # (task, model) -> the history of each seed


def plan(selection: Selection) -> Plan | None:
    """The histories of all runs, and their groups: the runs of each table."""
    packages, histories = (
        selection.runs.packages_behind(selection.all_scores, name) for name in ("config.json", "history.csv")
    )
    groups, read = selection.curves, {"packages": packages, "histories": histories}
    tasks = {task for runs in groups.values() for task, model in runs if model == "base"}
    warmups = {task: selection.experiment.run(task, "base", 1).training.warmup for task in sorted(tasks)}
    apart = [run for runs in groups.values() for run in runs if run[0] in tasks and not comparable(selection, *run)]
    params = {"groups": groups, "equal": selection.runs.equal, "warmups": warmups, "apart": apart}
    return Plan(read, params) if groups else None


def comparable(selection: Selection, task: str, model: str) -> bool:
    """Whether the training losses of a model and of base mean the same: they have equal dropout and label smoothing."""
    runs = (selection.experiment.run(task, name, 1) for name in (model, "base"))
    return (
        len({(run.training.eps_ls, run.architecture.P_drop, run.architecture.attention_dropout) for run in runs}) == 1
    )


def read_curves(packages: Sequence[str], histories: Sequence[str], equal: Equal) -> dict[Run, dict[int, pd.DataFrame]]:
    """The histories of each (task, row), by seed. `packages` and `histories` are of the same runs, in order."""
    curves: dict[Run, dict[int, pd.DataFrame]] = {}
    for run, path in zip(map(read_training, packages), histories, strict=True):
        history = read_csv(path, *HISTORY)
        for row in equal[run["task"]][run["model"]]:
            curves.setdefault((run["task"], row), {})[run["seed"]] = history.set_index("step")
    return curves


def thinned(values: pd.Series, points: int) -> pd.Series:
    """A line with at most `points` points: means of neighbours."""
    parts = np.array_split(np.arange(len(values)), min(points, len(values)) or 1)
    means = {values.index[part].to_numpy().mean(): values.iloc[part].mean() for part in parts if len(part)}
    return pd.Series(means, dtype=float)


def by_seed(key: str, seeds: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """A measure against the steps, with a column for each seed."""
    lines = {seed: thinned(history[key].dropna(), POINTS["curve"]) for seed, history in seeds.items()}
    return pd.DataFrame(lines)


def from_base(
    key: str, seeds: Mapping[int, pd.DataFrame], base: Mapping[int, pd.DataFrame], warmup: int
) -> pd.DataFrame:
    """How far a measure is from base's of the same seed, after `warmup` steps: nats of loss, percent of perplexity."""
    lines = {}
    for seed in seeds.keys() & base.keys():
        values, theirs = seeds[seed][key].dropna(), base[seed][key].dropna()
        values = values[(values.index > warmup) & (values.index <= theirs.index.max())]
        beside = np.interp(values.index, theirs.index, theirs) if len(values) else values  # dev may not be measured
        apart = values - beside if key == "loss" else 100 * (values / beside - 1)
        lines[seed] = thinned(apart, POINTS["difference"])
    return pd.DataFrame(lines)


def draw(
    curves: Curves, groups: Mapping[str, Sequence[Run]], warmups: Mapping[str, int], losses_apart: Sequence[Run] = ()
) -> Drawing:
    """Each group that has more than base, and base: the loss, and below it the perplexity.

    `warmups` has the tasks that have a base, and `losses_apart` the runs whose losses cannot be compared with base's.
    """
    base = [(task, "base") for task in warmups]
    blocks = {name: runs for name, runs in groups.items() if set(runs) - set(base)} | ({"Base": base} if base else {})
    columns = min(PER_LINE, len(blocks))
    lines = -(-len(blocks) // columns)
    figure, axes = panels(2 * lines, columns, 2.4 * columns, 3.2 * lines)
    for each in axes.flat:
        each.set_axis_off()
    for place, (name, runs) in enumerate(blocks.items()):
        line, column = divmod(place, columns)
        apart = runs is not base and all(task in warmups for task, _ in runs)
        shown = axes[2 * line : 2 * line + 2, column]
        for panel, (key, labels) in zip(shown, MEASURES.items(), strict=True):
            left_out = losses_apart if apart and key == "loss" else ()
            draw_group(panel, key, curves, runs, warmups if apart else {}, left_out)
            if column == 0 or not apart:
                panel.set_ylabel(labels[apart], fontsize=7)
        legend = shown[0].legend(*shown[1].get_legend_handles_labels(), title=literal(name), ncols=2, **LEGEND)
        legend.get_title().set(fontweight="bold", fontsize=8)
        shown[1].set_xlabel("steps")
    return figure


def draw_group(
    axes: Axes, key: str, curves: Curves, runs: Sequence[Run], warmups: Mapping[str, int], left_out: Sequence[Run]
) -> None:
    """Draw a measure of `runs`, a colour and a dash for each model; as differences from base if there are `warmups`."""
    from matplotlib.ticker import MaxNLocator

    looks = zip(cycle(COLOURS), cycle(DASHES))  # 21 combinations
    axes.set_axis_on()
    axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    for task, model in runs:
        base = model == "base"
        colour, dashes = ("black", "-") if base and task == runs[0][0] else next(looks)
        if (warmups and base) or (task, model) in left_out:
            continue
        seeds = curves[task, model]
        lines = from_base(key, seeds, curves[task, "base"], warmups[task]) if warmups else by_seed(key, seeds)
        name = literal(model if task == "ende" else f"{task} {model}")
        draw_band(axes, lines, 0.13, color=colour, linestyle=dashes, label=name)
    if left_out and not axes.lines:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "losses that cannot be\ncompared with base's", ha="center", va="center", fontsize=7)
    elif warmups:
        axes.axhline(0, color="black", linewidth=0.8)
    elif key == "dev_perplexity" and any(len(line.get_xdata()) for line in axes.lines):
        axes.set_yscale("log")
        plain_numbers(axes.yaxis)


def figure(job: Job) -> list[Drawing]:
    """The figure."""
    curves = read_curves(job.input.packages, job.input.histories, job.params.equal)
    return [draw(curves, job.params.groups, job.params.warmups, job.params.apart)]


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
