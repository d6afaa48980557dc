"""A trial: whether a row of the user's is better than a released one, in a table, a picture and a sentence."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow.results.common.cells import chance, number, power
from workflow.results.common.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Row
from workflow.results.common.records import read_json
from workflow.results.common.result import EVERY, Content, Job, Plan, Selection, Table, languages
from workflow.results.common.times import circumstances

CAPTION = """\
**A trial** of a row against a released one. A positive difference is in favour of the row. See first the verdicts, then
how far the interval reaches to either side of zero, and what the row costs.
"""
FIGURE_CAPTION = """\
**A trial** of a row against a released one. On the left are the scores of each seed; a line joins those of one seed,
if these are compared. On the right the diamond is the mean difference, and the line through it is its interval (98 %
in the first look, more in later ones). To the right of the vertical line it is in favour of the row. The shaded area
is the margin within which two rows count as alike.
"""
VERDICTS = {"better": COLOURS[2], "worse": COLOURS[1], "alike": COLOURS[0], "undecided": "#555555"}


def plan(selection: Selection) -> Plan | None:
    """The answer."""
    runs, trial = selection.runs, selection.experiment.trial
    if trial is None:
        return None
    folder = runs.paths.trial.format(task=selection.experiment.drawn[0])
    params = {"notes": selection.experiment.notes, "languages": languages(selection.experiment.tasks["ende"])}
    return Plan({"answer": f"{folder}/{trial.row}.json"}, params)


def measured(answer: Mapping[str, Any], name: str) -> Row:
    """The row of perplexity or of BLEU."""
    from workflow.results.claims.verdicts import MEASURES

    judged, measure = answer["measures"][name], MEASURES[name]
    return {
        ("Measure", ""): measure.heading,
        ("Verdict", ""): judged["verdict"],
        **{(answer[row], ""): _spread(judged[row]) for row in ("row", "against")},
        ("In favour", "mean"): measure.text(judged["mean"]),
        ("In favour", "interval"): " to ".join(map(measure.text, judged["interval"])),
        ("p", "differ"): chance(judged["p"]),
        ("p", "alike"): chance(judged["p_alike"]),
        ("Margin", ""): f"{judged['margin']:g}{' %' * measure.relative}",
        ("Could show", ""): measure.text(judged["smallest"], ""),
    }


def _spread(values: list[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values, ddof=1):.2f}"


def costs(answer: Mapping[str, Any]) -> list[Row]:
    """The rows of parameters, FLOPs and time of a step: by how many percent the row is above the other."""
    from transformer.evaluation.statistics import interval

    by_model = {each["model"]: each for each in answer["times"]["rows"]}
    both = row, against = [by_model[answer[key]] for key in ("row", "against")]
    ratios = np.log(np.array(row["seconds"]) / against["seconds"])  # of each round
    bounds = " to ".join(map(_more, np.exp(interval(ratios))))
    times = [number(1e3 * float(np.mean(each["seconds"])), 1) for each in both]
    shown = {
        "parameters": ([f"{each['parameters']:,}" for each in both], row["parameters"] / against["parameters"], ""),
        "FLOPs of a step": ([power(each["flops"]) for each in both], row["flops"] / against["flops"], ""),
        "milliseconds of a step": (times, float(np.exp(ratios.mean())), bounds),
    }
    return [
        {
            ("Measure", ""): name,
            (answer["row"], ""): ours,
            (answer["against"], ""): theirs,
            ("More", "mean"): _more(ratio),
            ("More", "interval"): bounds,
        }
        for name, ((ours, theirs), ratio, bounds) in shown.items()
    ]


def _more(ratio: float) -> str:
    return f"{100 * (ratio - 1):+z.1f} %"


def content(job: Job) -> Content:
    """The table and its notes."""
    answer = read_json(job.input.answer)
    rows = [*(measured(answer, name) for name in answer["measures"]), *costs(answer)]
    looks = ", then ".join(f"{len(seeds)} seeds ({', '.join(map(str, seeds))})" for seeds in answer["looks"])
    counted = f"Looks: {len(answer['looks'])}, with {looks}; this one is decided at {100 * answer['level']:.3g} %."
    notes = [*answer["sentences"], counted, *job.params.notes, circumstances(answer["times"])]
    return Content(rows, 2, notes)


def draw(job: Job) -> list[Drawing]:
    """For each measure, the scores of both rows, and their difference."""
    from workflow.results.claims.verdicts import MEASURES

    answer = read_json(job.input.answer)
    names = list(answer["measures"])
    figure, grid = panels(len(names), 2, 7.2, 1.5 * len(names), width_ratios=[2, 3])
    for (left, right), name in zip(grid, names, strict=True):
        draw_scores(left, answer, name)
        draw_difference(right, answer["measures"][name], MEASURES[name])
    return [figure]


def draw_scores(axes: Axes, answer: Mapping[str, Any], name: str) -> None:
    """The scores of each seed. A line joins those of one seed, if these are compared."""
    judged = answer["measures"][name]
    for row, against in zip(judged["row"], judged["against"], strict=True) if answer["paired"] else ():
        axes.plot([row, against], [0, 1], color="#bbbbbb", linewidth=0.8)
    for height, key in enumerate(("row", "against")):
        colour = COLOURS[0] if key == "row" else "black"
        axes.plot(judged[key], [height] * len(judged[key]), "o", color=colour, markersize=4, alpha=0.7)
    axes.set(yticks=[0, 1], yticklabels=[literal(answer["row"]), literal(answer["against"])], ylim=(1.5, -0.5))
    axes.set_title(name if name == "perplexity" else "BLEU")


def draw_difference(axes: Axes, judged: Mapping[str, Any], measure: Any) -> None:
    """The difference with its interval, beside the margin."""
    colour = VERDICTS[judged["verdict"].partition(",")[0]]
    margin = measure.margin(judged["margin"])
    axes.axvspan(measure.shown(-margin), measure.shown(margin), color="#e8eef4", zorder=0)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.plot([measure.shown(bound) for bound in judged["interval"]], [0, 0], color=colour, linewidth=1.6)
    axes.plot(measure.shown(judged["mean"]), 0, "D", color=colour, markersize=5)
    axes.set(yticks=[], ylim=(0.6, -0.6))
    axes.set_title(judged["verdict"], color=colour)
    axes.set_xlabel(f"{measure.axis}, in favour of the row")


RESULTS = (
    Table(
        name="trial",
        section=EVERY,
        title="A trial",
        detail="{languages}, development set",
        caption=CAPTION,
        plan=plan,
        content=content,
        target="trial",
        packed=False,
    ),
    Figure(
        name="trial",
        section=EVERY,
        titles={"trial": "A trial"},
        caption=FIGURE_CAPTION,
        plan=plan,
        draw=draw,
        target="trial",
        packed=False,
    ),
)
