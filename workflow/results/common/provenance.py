"""The commit, device, threads and precision of runs, and notes on runs or attempts in which they differ."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transformer.training.attempts import devices, kept_attempts

FEW = 5  # runs that a note names one by one


def short_commit(software: Mapping[str, str]) -> str:
    """The first 12 digits of a commit, and whether the tree was dirty."""
    commit, dash, dirty = software["commit"].partition("-")
    return commit[:12] + dash + dirty


def versions(software: Mapping[str, str]) -> str:
    """The versions of the software."""
    return ", ".join(f"{name} {value}" for name, value in software.items() if name != "commit")


MEANS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "commit": lambda one: short_commit(one["software"]),
    "device": devices,
    "threads": lambda one: str(one.get("threads", "not recorded")),
    "precision": lambda one: one["precision"],
}


def by_means(runs: Iterable[Mapping[str, Any]], of: Callable[[Mapping[str, Any]], str]) -> dict[str, list[str]]:
    """The names of the runs, grouped by what `of` says of a run. A run whose attempts differ is in several groups."""
    made: dict[str, list[str]] = {}
    for run in runs:
        each = dict.fromkeys(map(of, kept_attempts(run)))
        for means in each:
            name = f"{run['task']} {run['model']} {run['seed']}" + " (in part)" * (len(each) > 1)
            made.setdefault(means, []).append(name)
    return made


def few(names: list[str]) -> str:
    """The names of a few runs, or how many runs they are."""
    return ", ".join(names) if len(names) <= FEW else f"{len(names)} runs"


def difference_notes(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A note for each of MEANS that is not the same in all runs."""
    runs, notes = list(runs), []
    for name, of in MEANS.items():
        made = by_means(runs, of)
        if len(made) > 1:
            usual = max(made, key=lambda means: len(made[means]))
            others = "; ".join(f"{means}: {few(names)}" for means, names in made.items() if means != usual)
            notes.append(f"Our runs were not all trained with the same {name}: {others}. All others: {usual}.")
    return notes
