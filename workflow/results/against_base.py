"""Rows of a task on the development set beside base: Table 3, and tables with rows like its own."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from transformer.evaluation.metrics import Column, metrics_of
from workflow.results.cells import beside, metric_cells, number, signed
from workflow.results.records import Ours
from workflow.results.table_formats import Row

PRINTED = {column.key: column for metric in metrics_of("translation") for column in metric.columns if column.published}
CSV_ONLY = ("difference", "p, randomisation", "p, bootstrap")
FROM_BASE = (
    "The columns from base show how far a row is from base with the same seed: BLEU in points, perplexity in percent."
)
STARRED = [
    "A star means that sacreBLEU differs from that of base with the same seed at p < 0.05, for every seed, by "
    "approximate randomisation. With several seeds the means must also differ by at least two standard deviations of "
    "base.",
    "A starred difference would show on other sentences, too. With one seed, another training might not show it: two "
    "trainings of the same model can differ by that much. The csv also has the p of this test, the largest of the "
    "seeds, and that of a paired bootstrap. The bootstrap asks in one direction only, so its p is about half.",
]
COMPARED = [f"{FROM_BASE} The csv also has how far our numbers are from the published ones.", *STARRED]


def differs(ours: Mapping[str, float], base: Mapping[str, float]) -> bool:
    """Whether the row has a star. COMPARED explains the star."""
    difference = abs(ours.get("sacrebleu.score", 0) - base.get("sacrebleu.score", 0))
    return ours.get("randomisation.p", 1) < 0.05 and difference >= 2 * base.get("sacrebleu.score.sd", 0)


def change(column: Column, ours: Any, base: Any) -> Any:
    """How far a number is from that of base: perplexity in percent, BLEU in points."""
    return 100 * (ours / base - 1) if column.key == "perplexity" else ours - base


def against_base(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs with `KEY.change` for each number that the paper prints: its `change` from base with the same seed."""
    base = runs[runs["model"] == "base"].set_index(["task", "seed"])
    same = pd.MultiIndex.from_frame(runs[["task", "seed"]])
    changes = {key: change(column, runs[key], base[key].reindex(same).to_numpy()) for key, column in PRINTED.items()}
    return runs.assign(**{f"{key}.change": numbers for key, numbers in changes.items()})


def measured(row: Mapping[str, Any], all_ours: Ours, paper: Mapping[str, Any]) -> Row:
    """Steps, metrics and parameters of a row of en-de, or of its `task`. `paper` is the paper's row of base."""
    ours, base = (all_ours.get((row.get("task", "ende"), model), {}) for model in (row["model"], "base"))
    cells: dict[tuple[str, str], str] = {("Steps", "ours"): number(ours.get("steps"), 0)}
    for metric in metrics_of("translation"):
        cells |= metric_cells(metric, row, ours)
        for column in metric.columns:
            if column.published:
                cells |= compared(column, column.published, row, paper, ours)
        if metric.key == "sacrebleu":  # the tests compare this metric
            cells |= {
                ("sacreBLEU", "differs on other sentences"): "*" if differs(ours, base) else "",
                ("sacreBLEU", "p, randomisation"): number(ours.get("randomisation.p"), 3),
                ("sacreBLEU", "p, bootstrap"): number(ours.get("bootstrap.p"), 3),
            }
    return cells | beside("Parameters (millions)", row.get("params"), ours, "millions", 2)


def compared(
    column: Column, published: str, row: Mapping[str, Any], paper: Mapping[str, Any], ours: Mapping[str, float]
) -> Row:
    """The change of a number from base, the paper's and ours. Both are empty for base itself."""
    heading, unit = f"{column.heading} from base", " %" * (column.key == "perplexity")
    if row["model"] == "base":
        return {(heading, "published"): "", (heading, "ours"): ""}
    theirs = {"change": change(column, row[published], paper[published])} if published in row else {}
    return {
        (heading, "published"): signed(theirs, "change", 1, unit),
        (heading, "ours"): signed(ours, f"{column.key}.change", 1, unit),
    }
