"""Section 5.2: the time of a training step, measured in turns, and its FLOPs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from workflow.results.common.cells import number, power
from workflow.results.common.plan import Row
from workflow.results.common.records import read_json, read_yaml
from workflow.results.common.result import Content, Job, Plan, Selection, Table
from workflow.results.common.times import circumstances

CAPTION = """\
**The time of a training step**, for the rows of the claims about time. In each round, every row trains a few steps on
the same batches, one row after the other, and nothing else should run on the machine. Compare the ratio of times with
the ratio of FLOPs: if a row's time is the larger ratio, it uses the machine worse than base.
"""


def plan(selection: Selection) -> Plan | None:
    """The measured times."""
    shown = [(task, model) for task, models in selection.runs.timed.items() for model in models]
    read = {"published": selection.numbers, "times": selection.runs.step_times}
    return Plan(read, {"notes": selection.notes(shown)}) if shown else None


def table_row(row: Mapping[str, Any], base: Mapping[str, Any], published: float | None) -> Row:
    """A row of the table. `published` is the ratio of the paper's hours."""
    from transformer.evaluation.statistics import interval

    seconds, ratio = np.array(row["seconds"]), np.log(row["seconds"]) - np.log(base["seconds"])
    times = " to ".join(number(1e3 * bound, 1) for bound in interval(seconds))
    ratios = " to ".join(number(bound, 2) for bound in np.exp(interval(ratio)))
    return {
        ("Task", ""): row["task"],
        ("Model", ""): row["model"],
        ("Milliseconds a step", "mean"): number(1e3 * seconds.mean(), 1),
        ("Milliseconds a step", "interval"): times,
        ("Milliseconds a step", "each round"): " ".join(number(1e3 * each, 1) for each in seconds),
        ("Time, x base", "published"): number(published, 2),
        ("Time, x base", "ours"): number(float(np.exp(ratio.mean())), 2),
        ("Time, x base", "interval"): "" if row is base else ratios,
        ("FLOPs", "a step"): power(row["flops"]),
        ("FLOPs", "x base"): number(row["flops"] / base["flops"], 2),
        ("FLOPs", "a second"): power(row["flops"] / seconds.mean()),
        ("Parameters", ""): f"{row['parameters']:,}",
        ("Target subwords a step", ""): f"{row['target_tokens']:,.0f}",
        ("Other programs", "cores"): number(np.mean(row["others"]) if None not in row["others"] else None, 2),
    }


def content(job: Job) -> Content:
    """The table and its notes. Without base, the first row of a task takes its place."""
    records = list(map(read_json, job.input.times))
    hours = {row["model"]: row["hours"] for row in read_yaml(job.input.published)["appendix"]}
    rows, told = [], []
    for record in records:
        by_model = {row["model"]: row for row in record["rows"]}
        base = by_model.get("base", record["rows"][0])
        if base["model"] != "base":
            told.append(f"Base is not timed in {base['task']}: there, {base['model']} takes its place.")
        for row in record["rows"]:
            both = {"base", row["model"]} <= hours.keys() and base["model"] == "base"
            rows.append(table_row(row, base, hours[row["model"]] / hours["base"] if both else None))
    return Content(rows, 2, [*job.params.notes, *told, *map(circumstances, records)], ("each round", "cores"))


RESULTS = (
    Table(
        name="step_time",
        section="5.2",
        title="Time of a training step",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
)
