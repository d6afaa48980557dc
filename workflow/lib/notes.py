"""Notes on how our models differ from the paper's, for the tables that show them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from transformer.experiment.config import Experiment
from transformer.support.strict import plain

UNSCALED = ("P_drop", "eps_ls")


def model_notes(
    experiment: Experiment, shown: Sequence[tuple[str, str]], table3: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The sizes of base and of each parser, and the dropout of rows that have another than the paper's.

    `shown` are the trained runs of a table, and `table3` are the paper's rows. Base has no note if it has its sizes.
    """
    printed = {row["model"]: row for row in table3}
    notes = []
    for model in dict.fromkeys(model if experiment.tasks[task].kind == "parsing" else "base" for task, model in shown):
        sizes = _sizes(experiment, model, printed["base"])
        if model != "base" or any(value != printed["base"][key] for key, value in sizes.items()):
            notes.append(f"Our {model} has {_listed(sizes)}.{_scaled(experiment)}")
    for model in dict.fromkeys(model for task, model in shown if task == "ende" and model != "base"):
        paper = {key: value for key, value in printed.get(model, {}).items() if key in UNSCALED}
        ours = _sizes(experiment, model, paper) if paper else {}
        if ours != paper:
            notes.append(f"Our {model} has {_listed(ours)}; the paper's has {_listed(paper)}.")
    return notes


def _sizes(experiment: Experiment, model: str, keys: Collection[str]) -> dict[str, Any]:
    """Those of the keys that a model's config has, with their values."""
    run = experiment.run("", model, experiment.seeds[0])
    resolved = plain(run.architecture) | {"eps_ls": run.training.eps_ls}
    return {key: value for key, value in resolved.items() if key in keys}


def _listed(sizes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sizes.items())


def _scaled(experiment: Experiment) -> str:
    scale = experiment.scale
    if (scale.width, scale.depth) == (1, 1):
        return ""
    return f" The config's widths are multiplied by {scale.width} and its layers by {scale.depth}, rounded."
