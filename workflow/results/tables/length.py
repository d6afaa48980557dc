"""The study of length: exact match on longer problems than those of training, published and ours, by encoding."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from transformer.support.strict import plain
from workflow.results.common.cells import beside, number, spread
from workflow.results.common.drawing import POSITIONS, Axes, Drawing, draw_band, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds, read_json, read_yaml
from workflow.results.common.result import Content, Job, Plan, Selection, Table

CAPTION = """\
**Length.** Decoders with each positional encoding learn tasks from short problems and are tested on longer ones, too.
There are {tasks} tasks and {runs} runs. They learn from lengths {study[recipe][trained][0]} to
{study[recipe][trained][1]} and are tested on lengths up to {study[recipe][tested]}.
In the figure the lengths of training are shaded, lines are means over seeds, and bands reach from the worst seed to the
best. The number in a panel is the mean over the unseen lengths. See first how well each encoding learns the shaded
lengths, then how far beyond them its line stays high. The table has exact match on the unseen lengths, and the
order of the encodings, beside the published ones. The published models are larger, so compare the order and not the
numbers.
"""


def plan(selection: Selection) -> Plan:
    """The runs of the study."""
    study, folder = selection.experiment.length, f"{selection.runs.paths.results}/length"
    runs = [
        f"{folder}/{task}/{positions}/{seed}/exact_match.json"
        for task in study.tasks
        for positions in study.positions
        for seed in study.seeds
    ]
    return Plan({"published": selection.numbers, "runs": runs}, {"study": plain(study), "tasks": len(study.tasks)})


def by_length(runs: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A row for each run and length: the share of problems solved, and whether training had this length."""
    return pd.DataFrame(
        [
            {"task": run["task"], "model": run["positions"], "seed": run["seed"], "length": int(length), "right": right}
            | {"part": "seen" if int(length) <= run["trained"][1] else "unseen"}
            for run in runs
            for length, right in run["exact_match"].items()
        ]
    )


def measured(runs: pd.DataFrame) -> pd.DataFrame:
    """A row for each run: the mean exact match over the lengths of training (seen), and over the unseen ones."""
    keys = ["task", "model", "seed"]
    return runs.pivot_table(index=keys, columns="part", values="right", sort=False).reset_index()


def names(published: Mapping[str, Any]) -> dict[str, str]:
    """The name of each encoding in tables and figures, by its value of `positions`."""
    return {row["positions"]: row["name"] for row in published["positions"]}


def ranks(scores: Mapping[str, float]) -> pd.Series:
    """1 for the greatest score. Equal scores share the mean of their ranks."""
    return pd.Series(scores, dtype=float).rank(ascending=False)


def task_rows(task: str, positions: Mapping[str, str], published: Mapping[str, Any], ours: Any) -> list[Row]:
    """A row for each encoding of a task; `positions` has its name."""
    scores = published.get("exact_match", {})
    theirs = pd.Series(published["ranks"], dtype=float) if "ranks" in published else ranks(scores)
    mine = ranks({encoding: ours[task, encoding]["unseen"] for encoding in positions})
    both = pd.concat([theirs, mine], axis=1, join="inner").rank()
    correlation = both[0].corr(both[1]) if (both.nunique() > 1).all() else None
    rows: list[Row] = [
        {
            ("Task", ""): task,
            ("Positions", ""): name,
            ("Lengths trained on", "ours"): spread(ours[task, encoding], "seen", 3),
            **beside("Unseen lengths", scores.get(encoding), ours[task, encoding], "unseen", 3),
            ("Rank", "published"): number(both[0].get(encoding), 1).removesuffix(".0"),
            ("Rank", "ours"): number(both[1].get(encoding), 1).removesuffix(".0"),
            ("Correlation of ranks", ""): "",
        }
        for encoding, name in positions.items()
    ]
    rows[0]["Correlation of ranks", ""] = number(correlation, 2)
    return rows


def claim_notes(runs: pd.DataFrame) -> list[str]:
    """For each task, whether `none` is better than the best other encoding of the same seed.

    No note if `none` is not run, if nothing else is, or if there are fewer than SEEDS seeds.
    """
    from transformer.evaluation.statistics import SEEDS, Hypothesis, judge, mean

    leads = {}
    for task, each in runs.groupby("task", sort=False):
        unseen = each.pivot(index="seed", columns="model", values="unseen")
        if "none" in unseen and len(unseen.columns) > 1 and len(unseen) >= SEEDS:
            leads[str(task)] = (unseen["none"] - unseen.drop(columns="none").max(axis=1)).to_numpy()
    judged = [
        f"{task} {one.effect:+.2f} (95 % interval {one.interval[0]:+.2f} to {one.interval[1]:+.2f}), {one.verdict}"
        for task, one in judge({task: Hypothesis(mean(lead)) for task, lead in leads.items()}).items()
    ]
    return [f"None against the best other encoding of each seed: {'; '.join(judged)}."] if judged else []


def recipe_note(study: Mapping[str, Any], runs: list[Mapping[str, Any]]) -> str:
    """How our decoders were trained and tested."""
    recipe = study["recipe"]
    steps = ", ".join(f"{task} {study['steps'][task]:,}" for task in study["tasks"])
    (least, most), tested = recipe["trained"], recipe["tested"]
    parameters = [run["parameters"] for run in runs]
    seeds = len(study["seeds"])
    means = f"Means ± standard deviations of {seeds} seeds" if seeds > 1 else "One seed"
    return (
        f"{means}. N {recipe['N']}, d_model {recipe['d_model']}, d_ff {recipe['d_ff']}, h {recipe['h']} "
        f"({min(parameters):,} to {max(parameters):,} parameters); lengths {least} to {most}, {recipe['batch']} "
        f"problems a step; {recipe['problems']} problems of each length to {tested}. Steps: {steps}."
    )


def content(job: Job) -> Content:
    """The table and its notes."""
    study, numbers = job.params.study, read_yaml(job.input.published)
    published, named = numbers["length"], names(numbers)
    positions = {encoding: named[encoding] for encoding in study["positions"]}
    read = [read_json(path) for path in job.input.runs]
    runs = measured(by_length(read))
    ours, theirs = over_seeds(runs), published["tasks"]
    rows = [row for task in study["tasks"] for row in task_rows(task, positions, theirs.get(task, {}), ours)]
    return Content(rows, 2, [*claim_notes(runs), recipe_note(study, read)])


def draw_encoding(axes: Axes, right: pd.DataFrame, colour: str, trained: Sequence[int]) -> None:
    """The mean over seeds as a line, and from the least to the greatest as a band; the mean over unseen lengths."""
    axes.axvspan(*trained, color="#ececec", linewidth=0)
    by_seed = right.pivot_table(index="length", columns="seed", values="right")
    draw_band(axes, by_seed, 0.3, color=colour, linewidth=1.6, clip_on=False)
    unseen = right["right"][right["part"] == "unseen"].mean()
    axes.text(0.97, 0.98, f"{unseen:.2f}", transform=axes.transAxes, ha="right", va="top", fontsize=8)


def draw(runs: pd.DataFrame, study: Mapping[str, Any], named: Mapping[str, str]) -> Drawing:
    """A row of panels for each task, a column for each encoding, so that no line lies on another one.

    `named` has the name of each encoding.
    """
    tasks, positions, recipe = study["tasks"], study["positions"], study["recipe"]
    (least, most), tested = recipe["trained"], recipe["tested"]
    width = 0.6 + 1.1 * len(positions)
    figure, grid = panels(len(tasks), len(positions), width, 0.5 + 1.05 * len(tasks), sharex=True, sharey=True)
    for row, task in zip(grid, tasks, strict=True):
        for axes, encoding in zip(row, positions, strict=True):
            shown = runs[(runs["task"] == task) & (runs["model"] == encoding)]
            draw_encoding(axes, shown, POSITIONS[encoding], recipe["trained"])
        row[0].set_ylabel(task, fontweight="bold")
    for axes, encoding in zip(grid[0], positions, strict=True):
        axes.set_title(named[encoding])
    grid[0, 0].set(xlim=(least, tested), ylim=(0, 1.3), xticks=[least, most, tested], yticks=[0, 0.5, 1])
    figure.supxlabel("length of a problem; lengths trained on are shaded", fontsize=8)
    figure.supylabel("share of problems solved exactly", fontsize=8)
    return figure


def figure(job: Job) -> list[Drawing]:
    """The figure."""
    runs = by_length(map(read_json, job.input.runs))
    return [draw(runs, job.params.study, names(read_yaml(job.input.published)))]


RESULTS = (
    Table(
        name="length",
        section="3.5",
        title="Length",
        detail="exact match on longer problems than those of training",
        caption=CAPTION,
        plan=plan,
        content=content,
        target="length",
        packed=False,
    ),
    Figure(
        name="length",
        section="3.5",
        titles={"length": "Length"},
        caption=CAPTION,
        plan=plan,
        draw=figure,
        target="length",
        packed=False,
    ),
)
