"""Positions: Table 3's row (E), widened by later encodings, en-de; and scores beyond the lengths of training."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd
from lengths import Lengths, between, perplexity, read_lengths, sacrebleu
from records import over_seeds
from table3 import COMPARED, measured
from tables_common import NOT_RUN, Ours, Row, is_shown, read_inputs, spread, write_table

TITLE = "Positions: row (E) of Table 3, widened, en-de, development set, published and ours"
Classes = Sequence[tuple[int, float]]
EDGES = (0, 1, 3 / 2, 2, 3, math.inf)  # of the classes of lengths shown; the unit is the longest pair of training
MEASURES = {"Perplexity": (perplexity, 2), "sacreBLEU": (sacrebleu, 1)}  # by length: how, and with how many digits
NOTES = [
    "Only sinusoids and learned positions are the paper's. Perplexity and BLEU as in Table 3.",
    "T5 does not divide scores by sqrt(d_k); ours with T5's biases does.",
]


def classes_of(longest: int, lengths: Lengths) -> list[tuple[int, float]]:
    """From how many subwords to how many each class of lengths goes; the first is that of training.

    Classes without pairs are left out.
    """
    ends = [math.ceil(longest * edge) if edge < math.inf else edge for edge in EDGES]
    classes = [(int(low) + 1, high) for low, high in pairwise(ends)]
    seeds = [one for each in lengths.values() for one in each]
    return [each for each in classes if not seeds or any(len(between(one, *each)) for one in seeds)]


def named(shortest: int, longest: float) -> str:
    return f"{shortest} to {longest}" if longest < math.inf else f"above {shortest - 1}"


def table_row(row: Mapping[str, Any], ours: Ours, lengths: Lengths, classes: Classes) -> Row:
    """A row of the table."""
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
        ("Published in", ""): row["source"],
        **measured(row, ours),
        **by_length,
    }


def mean(seeds: Sequence[float], digits: int) -> str:
    """The mean of some seeds with its standard deviation; `none` of no numbers."""
    values = pd.Series(seeds, dtype=float)
    if values.empty:
        return NOT_RUN
    numbers = {"mean": values.mean(), "mean.sd": values.std() if len(values) > 1 else 0.0}
    return "none" if values.isna().any() else spread(numbers, "mean", digits)


def length_notes(lengths: Lengths, classes: Classes, longest: int, held_out: str) -> list[str]:
    """What perplexity and BLEU by length are measured on."""
    if not lengths:
        return []
    [first, *_] = next(iter(lengths.values()))
    pairs, translated = (
        ", ".join(f"{between(first, *each)[key].sum():,.0f} ({named(*each)})" for each in classes)
        for key in ("pairs", "translations")
    )
    return [
        f"By length: measured on {held_out}. Training reads pairs of at most {longest} subwords on a side, ends "
        f"counted. Pairs: {pairs}. Translated: {translated}.",
        "Longer sentences are other text, too: compare rows within a column, not columns. none: sentences are longer "
        "than the learned positions go.",
    ]


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours, longest = over_seeds(runs), snakemake.params.longest
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    shown: Sequence[dict[str, Any]] = [
        row for row in published["positions"] if is_shown(snakemake, ours, "ende", row["model"])
    ]
    classes = classes_of(longest, lengths)
    rows = [table_row(row, ours, lengths, classes) for row in shown]
    told = [*NOTES, *length_notes(lengths, classes, longest, snakemake.params.held_out), COMPARED, *notes]
    write_table(snakemake.output, TITLE, rows, told, names=3)
