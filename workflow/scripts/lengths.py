"""Perplexity and sacreBLEU by the length of pairs, as `perplexity --by-length --translate` writes them."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from records import read_json
from scores import Equal

from transformer.evaluation.bleu_counts import Counts, sacrebleu_of

# Of each row, a seed each; a class of lengths has shortest, longest, pairs, subwords, perplexity and BLEU's counts.
Lengths = Mapping[str, Sequence[pd.DataFrame]]


def read_lengths(scores: Sequence[str], lengths: Sequence[str], equal: Equal) -> Lengths:
    """Each row that is run, by `equal`; `scores` and `lengths` are of the same runs, in order.

    Perplexity and counts are no numbers where a pair is longer than the model takes.
    """
    seeds: dict[str, list[pd.DataFrame]] = {}
    for run, path in zip(map(read_json, scores), lengths, strict=True):
        for row in equal[run["task"]][run["model"]]:
            seeds.setdefault(row, []).append(pd.read_csv(path))
    return seeds


def between(measured: pd.DataFrame, shortest: float, longest: float) -> pd.DataFrame:
    """The classes from one length to another."""
    return measured[(measured["shortest"] >= shortest) & (measured["longest"] <= longest)]


def perplexity(measured: pd.DataFrame) -> float:
    """That of all pairs of some classes; no number where there are none, and where one of the classes has none."""
    weights = measured["subwords"] / measured["subwords"].sum()
    return math.exp((weights * measured["perplexity"].map(math.log)).sum(skipna=False)) if len(measured) else math.nan


def sacrebleu(measured: pd.DataFrame) -> float:
    """That of the translated pairs of some classes; no number where `perplexity` is none."""
    counts = measured[list(Counts._fields)].sum(skipna=False)
    return sacrebleu_of(Counts(*counts)) if len(measured) and not counts.isna().any() else math.nan
