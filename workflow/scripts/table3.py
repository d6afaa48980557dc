"""Table 3: variations on the architecture, the paper's and ours, en-de, measured on the development set."""

from collections.abc import Mapping
from typing import Any

from runs import logged, over_seeds
from tables_common import Row, beside, number, read_inputs, spread, write_table

TITLE = "Table 3: variations on the architecture, en-de, development set, published and ours"
OVERRIDES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls")
NOTES = [
    "An empty cell: the value of base. N to eps_ls are the paper's; for scale and text of ours see below.",
    "Perplexity: per subword, without label smoothing. BLEU, published and ours: tokenised, hyphenated "
    "compounds split; sacreBLEU: as its signature says.",
]
COMPARED = (
    "*: sacreBLEU differs from that of base of the same seed, for every seed, at p < 0.05 by approximate randomisation "
    "(ar: trials and seed in its signature); p is the largest of the seeds. Of 20 rows that equal base about one is "
    "marked. Paired bootstrap (bs: resamples) asks in one direction only, so its p is about half. Both ask whether "
    "other sentences would show the difference, not whether another training would."
)


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
    return {
        ("Steps", "ours"): number(ours.get("steps"), 0),
        **beside("Perplexity", row["ppl"], ours, "perplexity", 2),
        **beside("BLEU", row["bleu"], ours, "paper_bleu.score", 1),
        ("sacreBLEU", "ours"): spread(ours, "sacrebleu.score", 1),
        ("sacreBLEU", "differs"): "*" if ours.get("randomisation.p", 1) < 0.05 else "",
        ("sacreBLEU", "p, randomisation"): number(ours.get("randomisation.p"), 3),
        ("sacreBLEU", "p, bootstrap"): number(ours.get("bootstrap.p"), 3),
        **beside("Parameters (millions)", row.get("params"), ours, "millions", 2),
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    rows = table_rows(published["table3"], over_seeds(runs))
    write_table(snakemake.output, TITLE, rows, [*NOTES, COMPARED, *published["table3_notes"], *notes], names=2)


if "snakemake" in globals():
    logged(main, snakemake)
