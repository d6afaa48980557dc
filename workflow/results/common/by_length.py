"""Scores by the length of pairs, and the scores of some classes of lengths together."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from transformer.evaluation.bleu import Counts, sacrebleu_of
from workflow.results.common.csv_files import read_csv
from workflow.results.common.plan import Equal
from workflow.results.common.records import read_json

# For each row, a frame for each seed. A length class has shortest, longest, pairs, subwords, perplexity, BLEU's counts.
Lengths = Mapping[str, Sequence[pd.DataFrame]]


def read_lengths(scores: Sequence[str], lengths: Sequence[str], equal: Equal) -> Lengths:
    """The lengths of each row that is run; `scores` and `lengths` are of the same runs, in order.

    Perplexity and counts are NaN if a pair is longer than the model takes.
    """
    seeds: dict[str, list[pd.DataFrame]] = {}
    for run, path in zip(map(read_json, scores), lengths, strict=True):
        for row in equal[run["task"]][run["model"]]:
            seeds.setdefault(row, []).append(read_classes(path))
    return seeds


def read_classes(path: str | Path) -> pd.DataFrame:
    """The length classes of one run. Raises the InputErrors of `read_csv`."""
    return read_csv(path, "shortest", "longest", "pairs", "subwords", "perplexity", *Counts._fields)


def between(measured: pd.DataFrame, shortest: float, longest: float) -> pd.DataFrame:
    """The classes between two lengths."""
    return measured[(measured["shortest"] >= shortest) & (measured["longest"] <= longest)]


def perplexity(measured: pd.DataFrame) -> float:
    """The perplexity of all pairs of some classes; NaN without classes, or if one of them has NaN."""
    weights = measured["subwords"] / measured["subwords"].sum()
    return math.exp((weights * measured["perplexity"].map(math.log)).sum(skipna=False)) if len(measured) else math.nan


def sacrebleu(measured: pd.DataFrame) -> float:
    """The sacreBLEU of the translated pairs of some classes; NaN where `perplexity` is."""
    counts = measured[list(Counts._fields)].sum(skipna=False)
    return sacrebleu_of(Counts(*counts)) if len(measured) and not counts.isna().any() else math.nan
