"""The rows of translation tasks that the paper does not have, on the development set, beside base of the same task."""

from typing import Any

from transformer.support.strict import listed
from workflow.results.common.against_base import CSV_ONLY, against_base, measured
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table, languages, own_translation
from workflow.results.common.scored import read_inputs

CAPTION = """\
**Your own tasks.** Each row of {languages}, measured on the development set as in Table 3: {scores} runs. See how far a
row is from base of the same task. Table 2 has the scores on the test set.
"""
OF_PAPER = ("published", "difference")  # columns that this table does not have


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows of each task; base is the first. No task's name has a space, so no two groups have one name."""
    groups: dict[str, list[Run]] = {}
    for run in sorted(rows.shown["own"], key=lambda run: run[1] != "base"):
        groups.setdefault(f"Task {run[0]}", []).append(run)
    return groups


def plan(selection: Selection) -> Plan | None:
    """The rows that are run."""
    if not (shown := selection.shown["own"]):
        return None
    tasks = {task: selection.experiment.tasks[task] for task, _ in shown}
    named = ", ".join(dict.fromkeys(map(languages, tasks.values())))
    return selection.on_dev(shown, own=selection.own_rows["own"], languages=named)


def own_row(rows: Rows, task: str, model: str) -> dict[str, Any] | None:
    """A row with its changes from base, of a task that the paper does not have."""
    changes = rows.experiment.models[model] if model != "base" else {}
    own = {"task": task, "model": model, "changes": listed(changes)}
    return own if own_translation(task, rows.experiment.tasks[task]) else None


def content(job: Job) -> Content:
    """The table and its notes."""
    _, runs, notes = read_inputs(job)
    ours = over_seeds(against_base(runs))
    rows: list[Row] = []
    for row in job.params.own:
        cells = {
            (heading, "" if part == "ours" else part): text
            for (heading, part), text in measured(row, ours, {}).items()
            if part not in OF_PAPER
        }
        first = {"Task": row["task"], "Pair": job.params.pairs[row["task"]], "Model": row["model"]}
        rows.append({(name, ""): text for name, text in (first | {"Changes": row["changes"]}).items()} | cells)
    return Content(rows, 4, notes, CSV_ONLY)


RESULTS = (
    Table(
        name="own",
        section="6.2",
        title="Your own tasks",
        detail="{languages}, development set",
        caption=CAPTION,
        own_row=own_row,
        curves=curves,
        plan=plan,
        content=content,
        printed={
            "Pair": "",
            "Model": "Your own tasks",
            "Perplexity from base": "perplexity from base",
            "BLEU from base": "BLEU from base",
            "Perplexity": "perplexity",
            "BLEU": "BLEU",
        },
    ),
)
