"""Table 4: constituency parsing, F1 on the test set: the literature, the paper, and our runs."""

from collections.abc import Mapping
from typing import Any

from records import over_seeds
from tables_common import NOT_RUN, Row, beside, is_shown, number, read_inputs, spread, write_table

from transformer.evaluation.metrics import Column, metrics_of

DETAILS = [column for metric in metrics_of("parsing", shared=False) for column in metric.details]  # for the csv
NOTES = [
    "F1 of labelled brackets is in percent. It is counted by the rules of EVALB with COLLINS.prm. The published "
    "numbers are on section 23 of the Wall Street Journal.",
    "Exact is the percentage of sentences whose brackets are all right. Repaired counts the outputs that were not a "
    "tree over their sentence and were changed into one.",
]


def table_rows(
    published: list[dict[str, Any]],
    ours: Mapping[tuple[str, str], Mapping[str, float]],
    trained_on: Mapping[str, str],
) -> list[Row]:
    """A row for each of the paper's rows and of your own; `trained_on`: task -> the trees behind our number."""
    return [table_row(row, ours.get((row.get("task"), row.get("model")), {}), trained_on) for row in published]


def table_row(row: dict[str, Any], ours: Mapping[str, float], trained_on: Mapping[str, str]) -> Row:
    cells: dict[tuple[str, str], str] = {}
    for column in (column for metric in metrics_of("parsing", shared=False) for column in metric.columns):
        if column.published:
            missing = NOT_RUN if "task" in row else ""
            cells |= beside(column.heading, row.get(column.published), ours, column.key, column.digits, missing)
        else:
            cells["Ours", column.heading] = spread(ours, column.key, column.digits)
    return {
        ("Training", ""): row["training"],
        ("Parser", ""): row["name"],
        ("Ours: trees", ""): trained_on[row["task"]] if ours else "",
        **cells,
        ("Ours", "sentences"): number(ours.get("sentences"), 0),
        ("Ours", "steps"): number(ours.get("steps"), 0),
        **{("Ours", column.heading): detail(ours, column) for column in DETAILS},
    }


def detail(ours: Mapping[str, float], column: Column) -> str:
    """Another number of EVALB's summary; one without digits is a count."""
    return spread(ours, column.key, column.digits) if column.digits else number(ours.get(column.key), 0)


def main(snakemake: Any) -> None:
    published, runs, notes, made = read_inputs(snakemake)
    ours = over_seeds(runs)
    shown = [
        *snakemake.params.own,
        *(
            row
            for row in published["table4"]
            if "task" not in row or is_shown(snakemake, ours, row["task"], row["model"])
        ),
    ]
    rows = table_rows(shown, ours, snakemake.params.trained_on)
    write_table(snakemake, rows, 3, [*notes, *NOTES], made, ["difference", *(column.heading for column in DETAILS)])
