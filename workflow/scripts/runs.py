"""The runs: the config, the code, the software and the machine behind each."""

from collections.abc import Mapping, Sequence
from typing import Any

from means import by_means, difference_notes, short_commit, versions
from records import read_training
from scores import Equal
from tables_common import Row, write_table

NOTES = [
    "Config is the start of the config's SHA-256, which stands in the package. Commit is the commit of this code: "
    "-dirty marks uncommitted changes, and unknown marks a training without git.",
    "Resumed counts how often a training was stopped or killed and then went on. Steps again counts the steps since "
    "the last save, which the training then repeated. Commit and device are those of the last attempt.",
]


def run_row(run: Mapping[str, Any], equal: Equal) -> Row:
    return {
        ("Task", ""): run["task"],
        ("Model", ""): ", ".join(equal[run["task"]][run["model"]]),
        ("Seed", ""): str(run["seed"]),
        ("Config", ""): run["config_sha256"][:12],
        ("Commit", ""): short_commit(run["software"]),
        ("Device", ""): f"{run['devices']} x {run['device']}",
        ("Precision", ""): run["precision"],
        ("Parameters", ""): f"{run['parameters']:,}",
        ("Steps", ""): f"{run['steps']:,}",
        ("Hours", ""): f"{run['seconds'] / 3600:.2f}",
        ("Resumed", ""): str(run["resumed"]),
        ("Steps again", ""): f"{run['steps_redone']:,}",
    }


def software_notes(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The versions of the software, each with its runs if there are several."""
    made = by_means(runs, lambda one: versions(one["software"]))
    return [f"Made with {each}: {'all' if len(made) == 1 else ', '.join(names)}." for each, names in made.items()]


def main(snakemake: Any) -> None:
    runs = [read_training(package) for package in snakemake.input.packages]
    rows = [run_row(run, snakemake.params.equal) for run in runs]
    write_table(snakemake, rows, 7, NOTES, [*difference_notes(runs), *software_notes(runs)])
