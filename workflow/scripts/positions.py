"""Positional encodings: row (E) of Table 3 and later ones, en-de; scores on longer sentences than those of training."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd
from lengths import Lengths, between, perplexity, read_lengths, sacrebleu
from records import over_seeds
from table3 import COMPARED, CSV_ONLY, against_base, measured
from tables_common import NOT_RUN, Ours, Row, is_shown, read_inputs, spread, write_table

Classes = Sequence[tuple[int, float]]
EDGES = (0, 1, 3 / 2, 2, 3, math.inf)  # of the classes of lengths; the unit is the longest pair of training
FEWEST = 30  # pairs of a class; smaller classes are left out
MEASURES = {"Perplexity": (perplexity, 2), "sacreBLEU": (sacrebleu, 1)}  # how each is computed, and its digits
NOTES = [
    "The paper has only sinusoids and learned positions. Perplexity and BLEU are measured as in Table 3.",
    "T5 does not divide scores by √d_k; our model with T5's biases does.",
]


def classes_of(longest: int, lengths: Lengths) -> list[tuple[int, float]]:
    """The shortest and the longest length of each class with at least FEWEST pairs; the first is that of training."""
    ends = [math.ceil(longest * edge) if edge < math.inf else edge for edge in EDGES]
    classes = [(int(low) + 1, high) for low, high in pairwise(ends)]
    seeds = [one for each in lengths.values() for one in each]
    return [each for each in classes if not seeds or any(between(one, *each)["pairs"].sum() >= FEWEST for one in seeds)]


def named(shortest: int, longest: float) -> str:
    return f"{shortest} to {longest}" if longest < math.inf else f"above {shortest - 1}"


def table_row(row: Mapping[str, Any], ours: Ours, paper: Mapping[str, Any], lengths: Lengths, classes: Classes) -> Row:
    """A row; `paper` is the paper's row of base."""
    seeds = lengths.get(row["model"], ())
    by_length = {
        (f"{name} by subwords of the longer side", named(*each)): mean(
            [how(between(one, *each)) for one in seeds], digits
        )
        for name, (how, digits) in MEASURES.items()
        for each in classes
    }
    return {
        ("Positions", ""): row["name"],
        ("Model", ""): row["model"],
        **measured(row, ours, paper),
        **by_length,
    }


def mean(seeds: Sequence[float], digits: int) -> str:
    """The mean over seeds with its standard deviation; a dash where a seed has no number."""
    values = pd.Series(seeds, dtype=float)
    if values.empty:
        return NOT_RUN
    numbers = {"mean": values.mean(), "mean.sd": values.std() if len(values) > 1 else 0.0}
    return "–" if values.isna().any() else spread(numbers, "mean", digits)


def length_notes(lengths: Lengths, classes: Classes, longest: int, held_out: str) -> list[str]:
    """What the scores by length are measured on."""
    if not lengths:
        return []
    [first, *_] = next(iter(lengths.values()))
    pairs, translated = (
        ", ".join(f"{between(first, *each)[key].sum():,.0f} ({named(*each)})" for each in classes)
        for key in ("pairs", "translations")
    )
    return [
        f"The scores by length are measured on {held_out}. Training reads pairs of at most {longest} subwords on a "
        f"side, with the end of the sentence. Pairs: {pairs}. Translated: {translated}. Classes with "
        f"fewer than {FEWEST} pairs are left out.",
        "Compare rows within a column; do not compare columns, because longer sentences are different text. A dash "
        "means that the model has learned no positions for sentences of this length.",
    ]


def main(snakemake: Any) -> None:
    published, runs, notes, made = read_inputs(snakemake)
    ours, longest = over_seeds(against_base(runs)), snakemake.params.longest
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    shown: Sequence[dict[str, Any]] = [
        row for row in published["positions"] if is_shown(snakemake, ours, "ende", row["model"])
    ]
    classes = classes_of(longest, lengths)
    rows = [table_row(row, ours, published["table3"][0], lengths, classes) for row in shown]
    by_length = length_notes(lengths, classes, longest, snakemake.params.held_out)
    sources = "; ".join(f"{row['name']}, {row['source']}" for row in shown)
    told = [*notes, f"Where the encodings are from: {sources}.", *NOTES, *by_length, *COMPARED]
    write_table(snakemake, rows, 2, told, made, CSV_ONLY)
