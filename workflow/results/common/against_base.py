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
FROM_BASE = (
    "The columns from base show how far a row is from base with the same seed: BLEU in points, perplexity in percent."
)
COMPARED = f"{FROM_BASE} The csv also has how far our numbers are from the published ones."
LARGEST = (
    "the largest of the seeds, and that of a paired bootstrap. The bootstrap asks in one direction only, so its p "
)
WITHIN_SEEDS = [
    "A star means that sacreBLEU differs from that of base with the same seed at p < 0.05, for every seed, by "
    "approximate randomisation. With several seeds the means must also differ by at least two standard deviations of "
    "base.",
    "A starred difference is hardly a matter of these sentences. But p is not corrected for the number of rows: with "
    "one seed, about one in 20 rows as good as base has a star. And another training might not show a starred "
    "difference: two trainings of the same model can differ by that much. The csv also has the p of this test, "
    f"{LARGEST}is about half.",
]
OVER_SEEDS = [
    "A star means that the mean difference from base in sacreBLEU would show with other seeds and on other sentences, "
    "at p < 0.05. One test asks both, from all seeds and sentences. Its squared error is that over the seeds and that "
    "over the sentences, added, each with its own quantile of Student's t (Banerjee 1960). So at most 5 % of rows "
    "as good as base get a star, and more seeds find smaller differences. It is not corrected for the number of rows.",
    "The csv also has the p of this test. Beside it is that of approximate randomisation, which shuffles the sentences "
    f"of one seed: {LARGEST}is about half.",
]
CHRF = (
    "chrF compares characters. Unlike BLEU it has no brevity penalty: where the two disagree, look at the length first."
    " The csv also has its difference from base."
)


def ende_rows(name: str) -> Callable[[Rows], list[Run]]:
    """The function that gives the runs of the paper's rows of a table of en-de."""

    def shows(rows: Rows) -> list[Run]:
        return [("ende", row["model"]) for row in rows.published[name]]

    return shows


def star_notes(all_ours: Ours, compared: str = COMPARED) -> list[str]:
    """What the columns of `measured` say, and what a star means for these rows."""
    found = {key for key in ("both.p", "chrf") for ours in all_ours.values() if pd.notna(ours.get(key))}
    return [compared, *(OVER_SEEDS if "both.p" in found else WITHIN_SEEDS), *[CHRF] * ("chrf" in found)]


def differs(ours: Mapping[str, float], base: Mapping[str, float]) -> bool:
    """Whether the row has a star, as `star_notes` explains."""
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
