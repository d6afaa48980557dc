"""The commit, device, threads and precision of runs, and notes on runs or attempts in which they differ."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from transformer.training.attempts import devices, kept_attempts

FEW = 3  # runs that a note names one by one


def short_commit(software: Mapping[str, str]) -> str:
    """The first 12 digits of a commit, and whether the tree was dirty."""
    commit, dash, dirty = software["commit"].partition("-")
    return commit[:12] + dash + dirty


def versions(software: Mapping[str, str]) -> str:
    """The versions of the software."""
    return ", ".join(f"{name} {value}" for name, value in software.items() if name != "commit")


def _means(one: Mapping[str, Any]) -> dict[str, str]:
    """By what means an attempt trained a run."""
    return {
        "commit": short_commit(one["software"]),
        "device": devices(one),
        "threads": str(one.get("threads", "not recorded")),
        "precision": one["precision"],
        "versions": versions(one["software"]),
    }


def difference_notes(runs: Iterable[Mapping[str, Any]]) -> list[str]:
    """A note that says which runs have other means than most. A run whose attempts differ is named as in part."""
    runs, told = list(runs), []
    for name in ("commit", "device", "threads", "precision", "versions"):
        made = defaultdict(list)
        for run in runs:
            each = dict.fromkeys(_means(one)[name] for one in kept_attempts(run))
            for means in each:
                made[means].append(f"{run['task']} {run['model']} {run['seed']}" + " (in part)" * (len(each) > 1))
        if len(made) > 1:
            usual = max(made, key=lambda means: len(made[means]))
            counted = {means: names if len(names) <= FEW else [f"{len(names)} runs"] for means, names in made.items()}
            others = [f"{means}: {', '.join(names)}" for means, names in counted.items() if means != usual]
            told.append(f"{name} {usual}; {'; '.join(others)}")
    return [f"Not all runs are made alike, most with {'. '.join(told)}."] * bool(told)
