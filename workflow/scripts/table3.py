"""Table 3: variations on the architecture, the paper's and ours, en-de, measured on the development set."""

from collections.abc import Mapping
from typing import Any

from runs import logged, mean_over_seeds
from tables_common import Row, beside, number, read_inputs, write_table

TITLE = "Table 3: variations on the architecture, en-de, development set, published and ours"
OVERRIDES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls")
NOTES = [
    "An empty cell: the value of base. N to eps_ls are the paper's; for scale and text of ours see below.",
    "Perplexity: per subword, without label smoothing. BLEU, published and ours: tokenised, hyphenated "
    "compounds split; sacreBLEU: as its signature says.",
]


def table_rows(published: list[dict[str, Any]], ours: Mapping[tuple[str, str], Mapping[str, float]]) -> list[Row]:
    """A row for each row of the paper's table; its published steps are base's where the paper prints none."""
    base = next(row for row in published if row["model"] == "base")
    return [
        {
            ("Row", ""): row.get("group", row["model"]),
            ("Model", ""): f"{row['model']}: {row['text']}" if "text" in row else row["model"],
            **{(key, ""): str(row.get(key, "")) for key in OVERRIDES},
            ("Steps", "published"): number(row.get("steps", base["steps"]), 0),
            **measured(row, ours.get(("ende", row["model"]), {})),
        }
        for row in published
    ]


def measured(row: dict[str, Any], ours: Mapping[str, float]) -> Row:
    """Steps, perplexity, BLEU and parameters of a row of en-de, the paper's beside ours."""
    parameters = ours["parameters"] / 1e6 if ours else None
    return {
        ("Steps", "ours"): number(ours.get("steps"), 0),
        **beside("Perplexity", row["ppl"], ours.get("perplexity"), 2),
        **beside("BLEU", row["bleu"], ours.get("paper_bleu.score"), 1),
        ("sacreBLEU", "ours"): number(ours.get("sacrebleu.score"), 1),
        **beside("Parameters (millions)", row.get("params"), parameters, 2),
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    rows = table_rows(published["table3"], mean_over_seeds(runs))
    write_table(snakemake.output, TITLE, rows, [*NOTES, *published["table3_notes"], *notes], names=2)


if "snakemake" in globals():
    logged(main, snakemake)
