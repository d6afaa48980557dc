"""The notes under tables that say what the models of an experiment are, beside the paper's."""

from collections.abc import Collection, Sequence
from typing import Any

from transformer.support.strict import listed, plain
from workflow.results.common.plan import Run
from workflow.results.rows import Rows

UNSCALED = ("P_drop", "eps_ls")


def model_notes(rows: Rows, shown: Sequence[Run]) -> list[str]:
    """The experiment's own notes, which rows are one model, and how models differ from the paper's.

    Those are the sizes of base, unless they are the paper's, and of each parser, and the dropout of a row that has
    another than the paper's.
    """
    notes = [
        f"At this scale {' and '.join(equal)} are the same model, trained once."
        for task, models in rows.runs.equal.items()
        for equal in models.values()
        if sum((task, row) in shown for row in equal) > 1
    ]
    printed = {row["model"]: row for row in rows.published["table3"]}
    trained, parsers = rows.trained(shown), rows.parsers()
    for model in dict.fromkeys(model if task in parsers else "base" for task, model in trained):
        sizes = _sizes(rows, model, printed["base"])
        if model != "base" or any(value != printed["base"][key] for key, value in sizes.items()):
            notes.append(f"Our {model} has {listed(sizes)}.{_scaled(rows)}")
    for model in dict.fromkeys(model for task, model in trained if task == "ende" and model != "base"):
        paper = {key: value for key, value in printed.get(model, {}).items() if key in UNSCALED}
        ours = _sizes(rows, model, paper) if paper else {}
        if ours != paper:
            notes.append(f"Our {model} has {listed(ours)}; the paper's has {listed(paper)}.")
    return [*rows.experiment.notes, *dict.fromkeys(notes)]


def _sizes(rows: Rows, model: str, keys: Collection[str]) -> dict[str, Any]:
    """Those of the keys that a model's config has, with their values."""
    run = rows.experiment.run("", model, rows.experiment.seeds[0])
    resolved = plain(run.architecture) | {"eps_ls": run.training.eps_ls}
    return {key: value for key, value in resolved.items() if key in keys}


def _scaled(rows: Rows) -> str:
    scale = rows.experiment.scale
    if (scale.width, scale.depth) == (1, 1):
        return ""
    return f" The config's widths are multiplied by {scale.width} and its layers by {scale.depth}, rounded."
