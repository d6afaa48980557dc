"""Table 4: constituency parsing, F1 on the test set, the literature's, the paper's and ours."""

from collections.abc import Mapping
from typing import Any

from runs import logged, over_seeds
from tables_common import NOT_RUN, Row, beside, number, read_inputs, spread, write_table

TITLE = "Table 4: constituency parsing, F1 on the test set, published and ours"
NOTES = [
    "F1 of labelled brackets, in percent. Published: section 23 of the Wall Street Journal.",
    "Exact: sentences with all brackets right, in percent. Repaired: outputs that were no tree.",
]


def table_rows(
    published: list[dict[str, Any]],
    ours: Mapping[tuple[str, str], Mapping[str, float]],
    trained_on: Mapping[str, str],
) -> list[Row]:
    """A row for each row of the paper's table; `trained_on`: task -> which trees stand behind our number."""
    return [table_row(row, ours.get((row.get("task"), row.get("model")), {}), trained_on) for row in published]


def table_row(row: dict[str, Any], ours: Mapping[str, float], trained_on: Mapping[str, str]) -> Row:
    return {
        ("Training", ""): row["training"],
        ("Parser", ""): row["name"],
        ("Ours: trees", ""): trained_on[row["task"]] if ours else "",
        **beside("F1", row["f1"], ours, "brackets.f1", 1, NOT_RUN if "task" in row else ""),
        ("Ours", "exact"): spread(ours, "brackets.exact", 1),
        ("Ours", "repaired"): spread(ours, "brackets.repaired", 0),
        ("Ours", "sentences"): number(ours.get("sentences"), 0),
        ("Ours", "steps"): number(ours.get("steps"), 0),
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    rows = table_rows(published["table4"], over_seeds(runs), snakemake.params.trained_on)
    write_table(snakemake.output, TITLE, rows, [*NOTES, *notes], names=3)


if "snakemake" in globals():
    logged(main, snakemake)
