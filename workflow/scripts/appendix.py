"""The appendix's table: attention over parameters instead of feed-forward layers, the paper's and ours."""

from typing import Any

from records import over_seeds
from table3 import COMPARED, measured
from tables_common import Ours, Row, is_shown, number, read_inputs, write_table

TITLE = "Appendix: attention over parameters, en-de, development set, published and ours"
NOTES = [
    "h_p to n_p are the paper's; for scale and text of ours see below. Perplexity and BLEU as in Table 3.",
    "Hours: the published ones on 8 P100, ours on the device named below.",
]


def table_row(row: dict[str, Any], all_ours: Ours, steps: int) -> Row:
    """A row of the paper's table; `steps` are those of the paper's base model."""
    ours = all_ours.get(("ende", row["model"]), {})
    return {
        ("Model", ""): row["name"],
        **{(key, ""): str(row.get(key, "")) for key in ("h_p", "d_pk", "d_pv", "n_p")},
        ("Steps", "published"): number(steps, 0),
        **measured(row, all_ours),
        ("Hours", "published"): number(row["hours"], 0),
        ("Hours", "ours"): number(ours["seconds"] / 3600 if ours else None, 2),
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours, steps = over_seeds(runs), published["table3"][0]["steps"]
    shown = [row for row in published["appendix"] if is_shown(snakemake, ours, "ende", row["model"])]
    rows = [table_row(row, ours, steps) for row in shown]
    write_table(snakemake.output, TITLE, rows, [*NOTES, COMPARED, *published["appendix_notes"], *notes], names=1)
