"""How decoding was chosen (section 6.1): beam size, length penalty alpha and averaged checkpoints, on dev."""

from collections.abc import Iterable
from itertools import cycle
from typing import Any

import pandas as pd

from transformer.evaluation.metrics import metrics_of
from workflow.results.common.cells import signed, spread
from workflow.results.common.drawing import COLOURS, Axes, Drawing, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds, read_json
from workflow.results.common.result import Content, Job, Plan, Selection, Table
from workflow.results.common.scored import read_inputs

CAPTION = """\
**Tuning of decoding** (section 6.1). BLEU on the development set of {scores} run(s) of one
model. The first row has the task's own decoding. The others have another beam or length penalty alpha, or the last
checkpoint alone. See whether any difference is above 0, and which differences are larger than their deviation over
seeds.
"""
FIGURE_CAPTION = """\
**Tuning of decoding** (section 6.1). The figure shows BLEU on the development set minus BLEU of the task's own
decoding, for each beam, with a line for each length penalty alpha. The point on the right, if any, is the last
checkpoint alone. Each difference is between runs of the same seed. Points are means over seeds, and bars reach one
standard deviation of the seeds to either side; a single seed has no bars. A point above the line at 0 is better than
the task's decoding. The table has sacreBLEU, too.
"""
METRICS = list(metrics_of("translation", shared=False))
BLEUS = [metric.columns[0] for metric in METRICS]
SETTING = ["average", "beam", "alpha"]


def searches(selection: Selection) -> dict[str, list[str]]:
    """Dev scores of the run of `figures`: with its task's decoding, with others, then of the last checkpoint alone.

    Empty if the experiment has no `searches`.
    """
    experiment, runs = selection.experiment, selection.runs
    if not experiment.searched():
        return {}
    task, model = experiment.drawn
    own, average = runs.averaged_scores({task: [model]}, "dev"), runs.average(task, model)
    others = [path for search in runs.searches for path in runs.searched(task, model, search)]
    last = runs.files_of(task, [model], "average-1/dev.scores.json") if average > 1 else []
    return {"scores": own, "others": [*others, *last]}


def plan(selection: Selection) -> Plan | None:
    """These scores. If several rows are one model, the table names the row of `figures`."""
    if not (read := searches(selection)):
        return None
    task, model = selection.experiment.drawn
    equal = {task: {selection.runs.run_of[task, model]: [model]}}
    inputs = selection.measured(read["scores"]) | read
    return Plan(inputs, {"notes": selection.notes([(task, model)]), "equal": equal})


def read_searches(own: Iterable[str], others: Iterable[str]) -> pd.DataFrame:
    """A row for each file of scores, those of `own` first: setting, seed, each BLEU, length.

    `KEY.difference` is how far that number is above the one of `own` with the same seed.
    """
    read = [pd.json_normalize(list(map(read_json, paths))) for paths in (own, others)]
    first, scores = read[0].set_index("seed"), pd.concat(read, ignore_index=True)
    scores = scores.rename(columns=lambda name: name.removeprefix("decoding."))
    keys = [column.key for metric in METRICS for column in metric.columns]
    gains = scores[keys] - first.loc[scores["seed"], keys].to_numpy()
    return scores[[*SETTING, "seed", *keys]].join(gains.add_suffix(".difference"))


def table_rows(searches: pd.DataFrame) -> list[Row]:
    """A row for each setting, in the order of the files."""
    numbers = over_seeds(searches, SETTING)
    rows: list[Row] = []
    for average, beam, alpha in searches[SETTING].drop_duplicates().itertuples(index=False):
        ours = numbers[average, beam, alpha]
        cells = {
            ("Checkpoints averaged", ""): str(average),
            ("Beam", ""): str(beam),
            ("Alpha", ""): f"{alpha:g}" if beam > 1 else "any",
        }
        for metric in METRICS:
            first, *others = metric.columns
            cells[first.heading, "ours"] = spread(ours, first.key, first.digits)
            cells[first.heading, "difference"] = signed(ours, f"{first.key}.difference", first.digits) if rows else ""
            for column in others:
                cells[first.heading, column.heading] = spread(ours, column.key, column.digits)
        rows.append(cells)
    return rows


def content(job: Job) -> Content:
    """The table and its notes."""
    _, runs, notes = read_inputs(job)
    shown = f"The model is {runs['task'].iloc[0]} {runs['model'].iloc[0]}."
    return Content(table_rows(read_searches(job.input.scores, job.input.others)), 1, [shown, *notes])


DODGE = 0.08  # between two alphas of a beam; the unit is the distance between beams


def draw_bleu(axes: Axes, means: pd.DataFrame, deviations: pd.Series, own: Any) -> None:
    """The mean difference of each setting over seeds and its standard deviation; `own` is the task's setting."""
    beams = sorted(means["beam"].unique())
    alphas = sorted(means["alpha"][means["beam"] > 1].unique())
    averaged = means["average"] == own.average
    look: dict[str, Any] = {"markersize": 4, "capsize": 2, "linewidth": 1.2}
    axes.axhline(0, color="black", linewidth=0.8)
    for number, (alpha, colour, marker) in enumerate(zip(alphas, cycle(COLOURS), cycle("o^sv"), strict=False)):
        row = means[averaged & ((means["alpha"] == alpha) | (means["beam"] == 1))].sort_values("beam")
        places = row["beam"].map(beams.index) + DODGE * (number - (len(alphas) - 1) / 2) * (row["beam"] > 1)
        marks = {"color": colour, "marker": marker, "label": f"alpha {alpha:g}"}
        axes.errorbar(places, row["mean"], deviations[row.index], **marks, **look)
    last = means[~averaged]
    axes.errorbar(
        [len(beams)] * len(last), last["mean"], deviations[last.index], color="black", marker="D", ls="none", **look
    )
    names = ["last\ncheckpoint"] * len(last)
    axes.set_xticks(range(len(beams) + len(last)), [*map("beam {}".format, beams), *names])
    axes.margins(x=0.1)


def draw(searches: pd.DataFrame) -> Drawing:
    """The first BLEU."""
    own, column = next(searches[SETTING].itertuples(index=False)), BLEUS[0]
    figure, [[axes]] = panels(1, 1, 5, 2.9)
    grouped = searches.groupby(SETTING)[f"{column.key}.difference"]
    means = grouped.mean().rename("mean").reset_index()
    draw_bleu(axes, means, grouped.std().fillna(0).reset_index(drop=True), own)
    score = searches[column.key][(searches[SETTING] == list(own)).all(axis=1)].mean()
    axes.set_title(f"{column.heading}: {score:.{column.digits}f} with beam {own.beam}, alpha {own.alpha:g}")
    axes.set_ylabel(
        f"{column.heading}: points more or less than\nbeam {own.beam}, alpha {own.alpha:g}, bars: ± 1 std. dev."
    )
    axes.legend()
    return figure


def figure(job: Job) -> list[Drawing]:
    """The figure."""
    return [draw(read_searches(job.input.scores, job.input.others))]


RESULTS = (
    Table(
        name="decoding",
        section="6.1",
        title="Tuning of decoding",
        detail="beam, length penalty and averaging; development set",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
    Figure(
        name="decoding",
        section="6.1",
        titles={"decoding": "Tuning of decoding"},
        caption=FIGURE_CAPTION,
        plan=plan,
        draw=figure,
    ),
)
