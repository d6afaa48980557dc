"""Table 2: BLEU on the test sets and training cost: the literature, the paper, and our runs."""

from collections.abc import Mapping
from typing import Any

from transformer.evaluation.metrics import METRICS, metrics_of
from workflow.results.common.cells import NOT_RUN, metric_cells, number, power
from workflow.results.common.notes import cost_and_signatures
from workflow.results.common.plan import Row
from workflow.results.common.records import over_seeds
from workflow.results.common.result import Content, Job, Plan, Rows, Run, Selection, Table, own_translation
from workflow.results.common.scored import is_shown, read_inputs

CAPTION = """\
**Table 2.** BLEU on the test set and training cost of the literature, of the paper and of {scores}
runs of ours. The paper estimates the cost as seconds × devices × sustained single-precision FLOP/s (section 6.1). We do
the same, and also count the matrix products. Compare the recurrent and the convolutional model with base, if they are
run: they have about as many parameters, and the same batches and steps.
"""


def shows(rows: Rows) -> list[Run]:
    """The runs of the paper's rows."""
    return [run for row in rows.published["table2"] for run in row.get("model", {}).items()]


def own_row(rows: Rows, task: str, model: str) -> dict[str, Any] | None:
    """A row of a translation task. Table 3 has those of en-de."""
    own = task == "enfr" or own_translation(task, rows.experiment.tasks[task])
    return {"name": model, "model": {task: model}, "bleu": {}} if own else None


def curves(rows: Rows) -> dict[str, list[Run]]:
    """The rows of the paper's tasks. Other tasks have groups of their own."""
    runs = [run for run in rows.trained(rows.shown["table2"]) if run[0] in ("ende", "enfr")]
    return {"Table 2": runs} if runs else {}


def plan(selection: Selection) -> Plan:
    """The rows that are run."""
    return selection.on_test(selection.shown["table2"], own=selection.own_rows["table2"])


def table_row(row: Mapping[str, Any], task: str, pair: str, ours: Mapping[str, float], second: bool) -> Row:
    """A row of the literature, of the paper or of your own for one task; `second` opinions too, if asked for."""
    cost = row.get("flops", {}).get(task)
    estimated = ours.get("estimated_flops")
    cells: dict[tuple[str, str], str] = {}
    for metric in metrics_of("translation", shared=False, second=second):
        cells |= metric_cells(metric, {"bleu": row["bleu"].get(task)}, ours, NOT_RUN if "model" in row else "")
    return {
        ("Pair", ""): pair,
        ("Model", ""): row["name"],
        **cells,
        ("Steps", "published"): number(row.get("steps"), 0),
        ("Steps", "ours"): number(ours.get("steps"), 0),
        ("Training cost (FLOPs)", "published"): power(cost),
        ("Training cost (FLOPs)", "ours, estimated"): power(estimated),
        ("Training cost (FLOPs)", "ratio"): power(estimated / cost if estimated and cost else None),
        ("Training cost (FLOPs)", "ours, counted"): power(ours.get("flops")),
        ("Training, ours", "seconds"): number(ours.get("seconds"), 0),
        ("Training, ours", "subwords/s"): number(ours.get("speed"), 0),
    }


def content(job: Job) -> Content:
    """The table and its notes."""
    published, runs, notes = read_inputs(job)
    ours = over_seeds(runs)
    second = any(runs[metric.columns[0].key].notna().any() for metric in METRICS if metric.second)
    rows = [
        table_row(row, task, job.params.pairs[task], ours.get((task, model), {}), second)
        for task in job.params.pairs  # first all of en-de, then all of en-fr, then your own
        for row in [*job.params.own, *published["table2"]]
        for model in [row.get("model", {}).get(task)]
        if (task in row["bleu"] or model) and is_shown(job, ours, task, model)
    ]
    return Content(rows, 2, [*notes, cost_and_signatures(runs)], ["difference"])


RESULTS = (
    Table(
        name="table2",
        section="6.1",
        title="Table 2: BLEU and training cost",
        detail="test set",
        caption=CAPTION,
        shows=shows,
        own_row=own_row,
        curves=curves,
        plan=plan,
        content=content,
        printed={"Pair": "", "Model": "Table 2", "BLEU, published": "BLEU, paper", "BLEU, ours": "ours"},
    ),
)
