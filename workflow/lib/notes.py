"""Notes on how our models differ from the paper's, for the tables that show them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformer.experiment.config import Experiment
from transformer.support.strict import plain

UNSCALED = ("P_drop", "eps_ls")
SIZES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", *UNSCALED)


def model_notes(
    experiment: Experiment, shown: Iterable[tuple[str, str]], table3: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The sizes of base and of each parser, and the dropout of rows that have another than the paper's.

    `shown` are the trained runs of a table, and `table3` are the paper's rows. Base has no note if it has its sizes.
    """
    printed = {row["model"]: row for row in table3}
    notes = {}
    for task, model in shown:
        sized = model if experiment.tasks[task].kind == "parsing" else "base"
        sizes = _sizes(experiment, sized)
        if sized != "base" or any(value != printed["base"][key] for key, value in sizes.items()):
            notes[sized] = f"Our {sized} has {_listed(sizes)}.{_scaled(experiment)}"
        paper = printed.get(model, {}) if task == "ende" and model != "base" else {}
        ours = {key: value for key, value in _sizes(experiment, model).items() if key in UNSCALED}
        if differ := {key: value for key, value in ours.items() if key in paper and paper[key] != value}:
            theirs = {key: paper[key] for key in differ}
            notes[f"{model}, dropout"] = f"Our {model} has {_listed(differ)}; the paper's has {_listed(theirs)}."
    return list(notes.values())


def _sizes(experiment: Experiment, model: str) -> dict[str, Any]:
    run = experiment.run("", model, experiment.seeds[0])
    resolved = plain(run.architecture) | {"eps_ls": run.training.eps_ls}
    return {key: resolved[key] for key in SIZES if key in resolved}


def _listed(sizes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sizes.items())


def _scaled(experiment: Experiment) -> str:
    scale = experiment.scale
    if (scale.width, scale.depth) == (1, 1):
        return ""
    return f" The config's widths are multiplied by {scale.width} and its layers by {scale.depth}, rounded."
