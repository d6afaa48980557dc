"""Table 4: constituency parsing, F1 on the test set, the literature's, the paper's and ours."""

from collections.abc import Mapping
from typing import Any

from runs import logged, over_seeds
from tables_common import NOT_RUN, Row, beside, number, read_inputs, spread, write_table

TITLE = "Table 4: constituency parsing, F1 on the test set, published and ours"
NOTES = [
    "F1 of labelled brackets, in percent, as EVALB with COLLINS.prm counts. Published: section 23 of the Wall Street "
    "Journal.",
    "Exact: sentences with all brackets right, in percent. Repaired: outputs that were no tree over their sentence.",
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
        ("Ours", "recall"): spread(ours, "brackets.recall", 1),
        ("Ours", "precision"): spread(ours, "brackets.precision", 1),
        ("Ours", "exact"): spread(ours, "brackets.exact", 1),
        ("Ours", "repaired"): spread(ours, "brackets.repaired", 0),
        ("Ours", "sentences"): number(ours.get("sentences"), 0),
        ("Ours", "steps"): number(ours.get("steps"), 0),
    }


def detail_row(ours: Mapping[str, float]) -> Row:
    """What else EVALB's summary prints; for the csv."""
    return {
        ("Ours", "F1 up to 40 words"): spread(ours, "brackets.up_to_40_words.f1", 2),
        ("Ours", "average crossing"): spread(ours, "brackets.crossing", 2),
        ("Ours", "no crossing"): spread(ours, "brackets.no_crossing", 2),
        ("Ours", "2 or less crossing"): spread(ours, "brackets.two_or_less_crossing", 2),
        **{("Ours", status): number(ours.get(f"brackets.{status}"), 0) for status in ("valid", "error", "skip")},
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours = over_seeds(runs)
    rows = table_rows(published["table4"], ours, snakemake.params.trained_on)
    details = [detail_row(ours.get((row.get("task"), row.get("model")), {})) for row in published["table4"]]
    write_table(snakemake.output, TITLE, rows, [*NOTES, *notes], names=3, details=details)


if "snakemake" in globals():
    logged(main, snakemake)
