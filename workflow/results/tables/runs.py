"""The runs: the config, the code and the machine behind each."""

from collections.abc import Mapping
from typing import Any

from transformer.training.attempts import devices
from workflow.results.common.plan import Equal, Row
from workflow.results.common.provenance import short_commit
from workflow.results.common.records import read_training
from workflow.results.common.result import Content, Job, Plan, Selection, Table

CAPTION = """\
**The runs.** For each of {packages} runs the csv has its config, the commit of the code, the device and the hours.
Check whether all runs were made with the same commit and device.
"""


def plan(selection: Selection) -> Plan:
    """The packages of all runs."""
    packages = selection.runs.packages_behind(selection.all_scores, "config.json")
    return Plan({"packages": packages}, {"equal": selection.runs.equal})


def run_row(run: Mapping[str, Any], equal: Equal) -> Row:
    """The row of a run, from the record of its training."""
    return {
        ("Task", ""): run["task"],
        ("Model", ""): ", ".join(equal[run["task"]][run["model"]]),
        ("Seed", ""): str(run["seed"]),
        ("Config", ""): run["config_sha256"][:12],
        ("Commit", ""): short_commit(run["software"]),
        ("Device", ""): devices(run),
        ("Precision", ""): run["precision"],
        ("Parameters", ""): f"{run['parameters']:,}",
        ("Steps", ""): f"{run['steps']:,}",
        ("Hours", ""): f"{run['seconds'] / 3600:.2f}",
        ("Resumed", ""): str(run["resumed"]),
        ("Steps again", ""): f"{run['steps_redone']:,}",
    }


def content(job: Job) -> Content:
    """The table."""
    return Content([run_row(read_training(package), job.params.equal) for package in job.input.packages], 7)


RESULTS = (
    Table(
        name="runs",
        section="5.2",
        title="The runs",
        caption=CAPTION,
        plan=plan,
        content=content,
        kinds=("csv",),
    ),
)
