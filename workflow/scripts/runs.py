"""What made each run: its config, the code, the software and the machine."""

from collections.abc import Mapping, Sequence
from typing import Any

from means import by_means, difference_notes, short_commit, versions
from records import read_training
from scores import Equal
from tables_common import Row, write_table

TITLE = "The runs: what made each"
NOTES = [
    "Config: the start of the SHA-256 that stands in the package. Commit: of this code; -dirty: with further changes; "
    "unknown: trained without git.",
    "Commit, device: of the last attempt. Resumed: how often the training was interrupted, be it stopped or killed, "
    "and went on; steps again: those since its last save, which it repeated.",
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
    """The versions, with the runs that they made where these differ."""
    made = by_means(runs, lambda one: versions(one["software"]))
    return [f"Made with {each}: {'all' if len(made) == 1 else ', '.join(names)}." for each, names in made.items()]


def main(snakemake: Any) -> None:
    runs = [read_training(package) for package in snakemake.input.packages]
    rows = [run_row(run, snakemake.params.equal) for run in runs]
    notes = [*NOTES, *difference_notes(runs), *software_notes(runs)]
    write_table(snakemake.output, TITLE, rows, notes, names=7)
