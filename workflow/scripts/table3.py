"""Table 3: variations on the architecture, the paper's and ours, en-de, measured on the development set."""

from collections.abc import Mapping, Sequence
from typing import Any

from records import over_seeds
from tables_common import Ours, Row, beside, is_shown, metric_cells, number, read_inputs, write_table

from transformer.evaluation.metrics import metrics_of
from transformer.support.strict import listed

TITLE = "Table 3: variations on the architecture, en-de, development set, published and ours"
OVERRIDES = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls")
NOTES = [
    "An empty cell: the value of base. N to eps_ls are the paper's; for scale and text of ours see below.",
    "Perplexity: per subword, without label smoothing. BLEU, published and ours: tokenised, hyphenated "
    "compounds split; sacreBLEU: as its signature says.",
]
COMPARED = (
    "*: other sentences would show a difference from base, too; another training might not. sacreBLEU differs from "
    "that of base of the same seed, for every seed, at p < 0.05 by approximate randomisation (ar: trials and seed in "
    "its signature); p is the largest of the seeds. Of 20 rows that equal base about one is marked. With several seeds "
    "the means must also differ by at least two standard deviations of base's. Paired bootstrap (bs: resamples) asks "
    "in one direction only, so its p is about half."
)


def table_rows(shown: Sequence[Mapping[str, Any]], ours: Ours, steps: int) -> list[Row]:
    """A row for each row of the paper's table, and for each of one's own, which has `changes` of base.

    The published steps of a row are `steps`, base's, where the paper prints none.
    """
    return [
        {
            ("Row", ""): row.get("group", row["model"]),
            ("Model", ""): ": ".join([row["model"], *text_of(row)]),
            **{(key, ""): str(row.get("changes", row).get(key, "")) for key in OVERRIDES},
            ("Steps", "published"): "" if "changes" in row else number(row.get("steps", steps), 0),
            **measured(row, ours),
        }
        for row in shown
    ]


def text_of(row: Mapping[str, Any]) -> list[str]:
    """What a row changes that has no column of its own."""
    if "text" in row:
        return [row["text"]]
    others = {key: value for key, value in row.get("changes", {}).items() if key not in OVERRIDES}
    return [listed(others)] if others else []


def differs(ours: Mapping[str, float], base: Mapping[str, float]) -> bool:
    """Whether sacreBLEU differs from base's as COMPARED says."""
    difference = abs(ours.get("sacrebleu.score", 0) - base.get("sacrebleu.score", 0))
    return ours.get("randomisation.p", 1) < 0.05 and difference >= 2 * base.get("sacrebleu.score.sd", 0)


def measured(row: Mapping[str, Any], all_ours: Ours) -> Row:
    """Steps, metrics and parameters of a row of en-de, the paper's beside ours."""
    ours, base = (all_ours.get(("ende", model), {}) for model in (row["model"], "base"))
    cells: dict[tuple[str, str], str] = {}
    for metric in metrics_of("translation"):
        cells |= metric_cells(metric, row, ours)
        if metric.key == "sacrebleu":  # which the tests compare
            cells |= {
                ("sacreBLEU", "differs on other sentences"): "*" if differs(ours, base) else "",
                ("sacreBLEU", "p, randomisation"): number(ours.get("randomisation.p"), 3),
                ("sacreBLEU", "p, bootstrap"): number(ours.get("bootstrap.p"), 3),
            }
    return {
        ("Steps", "ours"): number(ours.get("steps"), 0),
        **cells,
        **beside("Parameters (millions)", row.get("params"), ours, "millions", 2),
    }


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours = over_seeds(runs)
    shown = [
        *snakemake.params.own,
        *(row for row in published["table3"] if is_shown(snakemake, ours, "ende", row["model"])),
    ]
    rows = table_rows(shown, ours, published["table3"][0]["steps"])
    own = ["In a row of your own, N to eps_ls are those of models.yaml."] if snakemake.params.own else []
    write_table(snakemake.output, TITLE, rows, [*NOTES, *own, COMPARED, *published["table3_notes"], *notes], names=2)
