"""The notes under tables that say what the models of an experiment are, beside the paper's."""

from collections.abc import Collection, Sequence
from typing import Any

from transformer.support.strict import listed, plain
from workflow.results.common.plan import Run
from workflow.results.rows import Rows

UNSCALED = ("P_drop", "eps_ls")


def model_notes(rows: Rows, shown: Sequence[Run]) -> list[str]:
    """The experiment's own notes and, in the same, which rows are one model, and how models differ from the paper's.

    Those are base's and each parser's sizes that are not those of the paper's base, and another dropout of a row.
    """
    printed = {row["model"]: row for row in rows.published["table3"]}
    trained, parsers = rows.trained(shown), rows.parsers()
    sizes: dict[str, list[str]] = {}
    for model in dict.fromkeys(model if task in parsers else "base" for task, model in trained):
        base = printed["base"]
        if other := {key: value for key, value in _sizes(rows, model, base).items() if value != base[key]}:
            sizes.setdefault(listed(other), []).append(model)
    told = [f"{' and '.join(models)} {'have' if models[1:] else 'has'} {text}" for text, models in sizes.items()]
    for model in dict.fromkeys(model for task, model in trained if task == "ende" and model != "base"):
        paper = {key: value for key, value in printed.get(model, {}).items() if key in UNSCALED}
        ours = _sizes(rows, model, paper) if paper else {}
        if ours != paper:
            told.append(f"{model} has {listed(ours)} (the paper's {listed(paper)})")
    told += [
        f"{' and '.join(equal)} are one model"
        for task, models in rows.runs.equal.items()
        for equal in models.values()
        if sum((task, row) in shown for row in equal) > 1
    ]
    here = [f"Here {'; '.join(dict.fromkeys(told))}."] * bool(told)
    return list(filter(None, [" ".join([*rows.experiment.notes, *here])]))


def _sizes(rows: Rows, model: str, keys: Collection[str]) -> dict[str, Any]:
    """Those of the keys that a model's config has, with their values."""
    run = rows.experiment.run("", model, rows.experiment.seeds[0])
    resolved = plain(run.architecture) | {"eps_ls": run.training.eps_ls}
    return {key: value for key, value in resolved.items() if key in keys}
