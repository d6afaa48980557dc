"""The appendix: attention over parameters instead of feed-forward layers, the paper's numbers and ours."""

from collections.abc import Mapping
from typing import Any

from records import over_seeds
from table3 import COMPARED, CSV_ONLY, against_base, measured
from tables_common import Ours, Row, is_shown, number, read_inputs, write_table

NOTES = [
    "The values of h_p, d_pk, d_pv and n_p are the paper's.",
    "Perplexity and BLEU are measured as in Table 3.",
    "The published hours are those of 8 P100 GPUs.",
]


def table_row(row: dict[str, Any], all_ours: Ours, paper: Mapping[str, Any]) -> Row:
    """A row of the paper's table; `paper` is the paper's row of base."""
    ours = all_ours.get(("ende", row["model"]), {})
    return {
        ("Model", ""): row["name"],
        **{(key, ""): str(row.get(key, "")) for key in ("h_p", "d_pk", "d_pv", "n_p")},
        ("Steps", "published"): number(paper["steps"], 0),
        **measured(row, all_ours, paper),
        ("Hours", "published"): number(row["hours"], 0),
        ("Hours", "ours"): number(ours["seconds"] / 3600 if ours else None, 3),
    }


def main(snakemake: Any) -> None:
    published, runs, notes, made = read_inputs(snakemake)
    ours = over_seeds(against_base(runs))
    shown = [row for row in published["appendix"] if is_shown(snakemake, ours, "ende", row["model"])]
    rows = [table_row(row, ours, published["table3"][0]) for row in shown]
    told = [*notes, *NOTES, *COMPARED, *(row["note"] for row in shown if "note" in row)]
    write_table(snakemake, rows, 1, told, made, CSV_ONLY)
