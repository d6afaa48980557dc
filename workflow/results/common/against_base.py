"""Rows of a task on the development set beside base: Table 3, and tables with rows like its own."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from transformer.evaluation.metrics import Column, metrics_of
from workflow.results.common.cells import beside, metric_cells, number, signed, spread
from workflow.results.common.plan import Row, Run
from workflow.results.common.records import Ours
from workflow.results.common.result import Rows

BASE: Run = ("ende", "base")
PRINTED = {column.key: column for metric in metrics_of("translation") for column in metric.columns if column.published}
CSV_ONLY = ("difference", "p, seeds and sentences", "p, randomisation", "p, bootstrap", "from base")


def ende_rows(name: str) -> Callable[[Rows], list[Run]]:
    """The function that gives the runs of the paper's rows of a table of en-de."""

    def shows(rows: Rows) -> list[Run]:
        return [("ende", row["model"]) for row in rows.published[name]]

    return shows


def differs(ours: Mapping[str, float], base: Mapping[str, float]) -> bool:
    """Whether the row has a star (docs/tables.md)."""
    if pd.notna(both := ours.get("both.p")):
        return both < 0.05
    difference = abs(ours.get("sacrebleu.score", 0) - base.get("sacrebleu.score", 0))
    return ours.get("randomisation.p", 1) < 0.05 and difference >= 2 * base.get("sacrebleu.score.sd", 0)


def change(column: Column, ours: Any, base: Any) -> Any:
    """How far a number is from that of base: perplexity in percent, BLEU in points."""
    return 100 * (ours / base - 1) if column.key == "perplexity" else ours - base


def against_base(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs beside base with the same seed.

    `KEY.change` is the `change` of each number that the paper prints. `chrf` and `chrf.change` are from the comparison
    with base. `both.p` is the p over seeds and sentences of all runs of a row. It needs several seeds, and differences
    in all comparisons of the table.
    """
    base = runs[runs["model"] == "base"].set_index(["task", "seed"])
    same = pd.MultiIndex.from_frame(runs[["task", "seed"]])
    changes = {key: change(column, runs[key], base[key].reindex(same).to_numpy()) for key, column in PRINTED.items()}
    of_base = runs.groupby(["task", "seed"])["chrf.baseline"].transform("first").where(runs["model"] == "base")
    # If an earlier version made some of the comparisons, all stars of the table are those of the randomisation.
    known = (runs["differences"].notna() | runs["randomisation.p"].isna()).all()
    groups = runs.groupby(["task", "model"])["differences"]
    both = {row: _over_both(group) if known else math.nan for row, group in groups}
    return runs.assign(
        **{f"{key}.change": numbers for key, numbers in changes.items()},
        **{"chrf": runs["chrf.system"].fillna(of_base), "chrf.change": runs["chrf.system"] - runs["chrf.baseline"]},
        **{"both.p": [both[row] for row in zip(runs["task"], runs["model"], strict=True)]},
    )


def _over_both(differences: pd.Series) -> float:
    """The p over the seeds and sentences of a row; NaN for one of either, or if a comparison has no differences."""
    if len(differences) == 1 or differences.isna().any() or len(differences.iloc[0]) == 1:
        return math.nan
    from transformer.evaluation.statistics import p_over_seeds_and_sentences

    return p_over_seeds_and_sentences(differences.tolist())


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
                ("sacreBLEU", "p, seeds and sentences"): number(ours.get("both.p"), 3),
                ("sacreBLEU", "p, randomisation"): number(ours.get("randomisation.p"), 3),
                ("sacreBLEU", "p, bootstrap"): number(ours.get("bootstrap.p"), 3),
                ("chrF", "ours"): spread(ours, "chrf", 1),
                ("chrF", "from base"): signed(ours, "chrf.change", 1),
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
