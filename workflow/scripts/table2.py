"""Table 2: BLEU on the test sets and training cost, the literature's, the paper's and ours."""

from collections.abc import Mapping
from typing import Any

from records import over_seeds
from tables_common import NOT_RUN, Row, is_shown, metric_cells, number, power, read_inputs, write_table

from transformer.evaluation.metrics import metrics_of

TITLE = "Table 2: BLEU on the test set and training cost, published and ours"
NOTES = [
    "BLEU, published and ours: tokenised, hyphenated compounds split (of the published en-fr numbers the split is not "
    "known); sacreBLEU: as its signature says.",
    "Cost, published and estimated: seconds x devices x sustained single-precision FLOP/s of a device; "
    "counted: the matrix products of all training steps; ratio: estimated / published. Ours is measured on the "
    "threads of a run; products in bfloat16 can be faster than that.",
    "Training: the seconds of its steps, longer where other programs ran, and the target subwords in one of them.",
    "Recurrent: LSTMs with attention in the form of GNMT (Wu et al. 2016), with as many parameters as base within 5 %, "
    "on the same batches for as many steps.",
]


def table_row(row: dict[str, Any], task: str, ours: Mapping[str, float]) -> Row:
    cost = row.get("flops", {}).get(task)
    estimated = ours.get("estimated_flops")
    cells: dict[tuple[str, str], str] = {}
    for metric in metrics_of("translation", shared=False):
        cells |= metric_cells(metric, {"bleu": row["bleu"].get(task)}, ours, NOT_RUN if "model" in row else "")
    return {
        ("Pair", ""): f"{task[:2]}-{task[2:]}",
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


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours = over_seeds(runs)
    rows = [
        table_row(row, task, ours.get((task, model), {}))
        for task in ("ende", "enfr")  # first all of en-de, then all of en-fr
        for row in [*snakemake.params.own, *published["table2"]]
        for model in [row.get("model", {}).get(task)]
        if (task in row["bleu"] or model) and is_shown(snakemake, ours, task, model)
    ]
    averages = ", ".join(f"{row['model']['ende']} {row['average']}" for row in published["table2"] if "average" in row)
    averaged = f"Published: checkpoints averaged: {averages}."
    write_table(snakemake.output, TITLE, rows, [*NOTES, averaged, *notes], names=2)
