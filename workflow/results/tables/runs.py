"""The runs: the config, the code, the software and the machine behind each."""

from collections.abc import Mapping, Sequence
from typing import Any

from transformer.training.attempts import devices
from workflow.results.common.overfitting import overfitting_notes
from workflow.results.common.plan import Equal, Row
from workflow.results.common.provenance import by_means, difference_notes, short_commit
from workflow.results.common.records import read_training
from workflow.results.common.result import Content, Job, Plan, Selection, Table

CAPTION = """\
**The runs.** For each of {packages} runs the table has its config, the commit of the code, the
device and the hours, and below it the software. Check whether all runs were made with the same commit and device.
"""
NOTES = [
    "Config is the start of the config's SHA-256, which stands in the package. Commit is the commit of this code: "
    "-dirty marks uncommitted changes, and unknown marks a training without git.",
    "Resumed counts how often a training was stopped or killed and then went on. Steps again counts the steps since "
    "the last save, which the training then repeated. Commit is that of the last attempt.",
]


def plan(selection: Selection) -> Plan:
    """The packages of all runs, and what they measured while they trained."""
    packages, histories = (
        selection.runs.packages_behind(selection.all_scores, name) for name in ("config.json", "history.csv")
    )
    return Plan({"packages": packages, "histories": histories}, {"equal": selection.runs.equal})


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


def software_notes(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The versions of the software, each with its runs if there are several."""
    made = by_means(runs, "versions")
    return [f"Made with {each}: {'all' if len(made) == 1 else ', '.join(names)}." for each, names in made.items()]


def content(job: Job) -> Content:
    """The table and its notes."""
    runs = [read_training(package) for package in job.input.packages]
    rows = [run_row(run, job.params.equal) for run in runs]
    overfitting = overfitting_notes(job.input.packages, job.input.histories, job.params.equal)
    return Content(rows, 7, [*overfitting, *NOTES], [*difference_notes(runs), *software_notes(runs)])


RESULTS = (
    Table(
        name="runs",
        section="5.2",
        title="The runs",
        detail="config, code, software and machine",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
)
