"""What made each run: its config, the code, the software and the machine."""

from collections.abc import Mapping, Sequence
from typing import Any

from records import read_training
from tables_common import Row, write_table

TITLE = "The runs: what made each"
NOTES = [
    "Config: the start of the SHA-256 that stands in the package. Commit: of this code; -dirty: with further changes; "
    "unknown: trained without git.",
    "Resumed: how often the training was interrupted; steps again: those since its last save, which it repeated.",
]


def run_row(run: Mapping[str, Any]) -> Row:
    commit, dash, dirty = run["software"]["commit"].partition("-")
    return {
        ("Task", ""): run["task"],
        ("Model", ""): run["model"],
        ("Seed", ""): str(run["seed"]),
        ("Config", ""): run["config_sha256"][:12],
        ("Commit", ""): commit[:12] + dash + dirty,
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
    made: dict[str, list[str]] = {}
    for run in runs:
        versions = ", ".join(f"{name} {value}" for name, value in run["software"].items() if name != "commit")
        made.setdefault(versions, []).append(f"{run['task']} {run['model']} {run['seed']}")
    return [
        f"Made with {versions}: {'all' if len(made) == 1 else ', '.join(names)}." for versions, names in made.items()
    ]


def main(snakemake: Any) -> None:
    runs = [read_training(package) for package in snakemake.input.packages]
    write_table(snakemake.output, TITLE, [run_row(run) for run in runs], [*NOTES, *software_notes(runs)], names=7)
