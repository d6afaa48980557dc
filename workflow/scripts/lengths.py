"""Perplexity by the length of pairs, as `perplexity --by-length` writes it."""

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from records import read_json
from scores import Equal

# Of each row; a class of lengths has shortest, longest, pairs, subwords, perplexity.
Lengths = Mapping[str, pd.DataFrame]


def read_lengths(scores: Sequence[str], lengths: Sequence[str], equal: Equal) -> Lengths:
    """Means over seeds of each row that is run, by `equal`; `scores` and `lengths` are of the same runs, in order.

    A perplexity is no number where a pair is longer than the model takes.
    """
    seeds: dict[str, list[pd.DataFrame]] = {}
    for run, path in zip(map(read_json, scores), lengths, strict=True):
        for row in equal[run["task"]][run["model"]]:
            seeds.setdefault(row, []).append(pd.read_csv(path))
    classes = ["shortest", "longest", "pairs", "subwords"]
    return {row: pd.concat(each).groupby(classes, as_index=False).mean() for row, each in seeds.items()}


def between(measured: pd.DataFrame, shortest: float, longest: float) -> pd.DataFrame:
    """The classes from one length to another."""
    return measured[(measured["shortest"] >= shortest) & (measured["longest"] <= longest)]


def perplexity(measured: pd.DataFrame) -> float:
    """That of all pairs of some classes; no number where there are none, and where one of the classes has none."""
    weights = measured["subwords"] / measured["subwords"].sum()
    return math.exp((weights * measured["perplexity"].map(math.log)).sum(skipna=False)) if len(measured) else math.nan
