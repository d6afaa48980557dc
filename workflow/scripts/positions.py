"""Positions: Table 3's row (E), widened by later encodings, en-de; and perplexity beyond the lengths of training."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd
from lengths import Lengths, between, perplexity, read_lengths
from records import over_seeds
from table3 import COMPARED, measured
from tables_common import NOT_RUN, Ours, Row, is_shown, number, read_inputs, write_table

TITLE = "Positions: row (E) of Table 3, widened, en-de, development set, published and ours"
Classes = Sequence[tuple[int, float]]
EDGES = (0, 1, 3 / 2, 2, 3, math.inf)  # of the classes of lengths shown; the unit is the longest pair of training
HEADING = "Perplexity by subwords of the longer side"
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
    return [each for each in classes if not lengths or any(len(between(one, *each)) for one in lengths.values())]


def named(shortest: int, longest: float) -> str:
    return f"{shortest} to {longest}" if longest < math.inf else f"above {shortest - 1}"


def table_row(row: Mapping[str, Any], ours: Ours, lengths: Lengths, classes: Classes) -> Row:
    """A row of the table."""
    measured_on = lengths.get(row["model"])
    by_length = {each: NOT_RUN if measured_on is None else by(measured_on, each) for each in classes}
    return {
        ("Positions", ""): row["name"],
        ("Model", ""): row["model"],
        ("Published in", ""): row["source"],
        **measured(row, ours),
        **{(HEADING, named(*each)): cell for each, cell in by_length.items()},
    }


def by(measured_on: pd.DataFrame, each: tuple[int, float]) -> str:
    """The perplexity of a class of lengths."""
    return number(perplexity(between(measured_on, *each)), 2) or "none"


def length_notes(lengths: Lengths, classes: Classes, longest: int) -> list[str]:
    """What perplexity by length is measured on."""
    if not lengths:
        return []
    first = next(iter(lengths.values()))
    counts = [f"{between(first, *each)['pairs'].sum():,} ({named(*each)})" for each in classes]
    return [
        "Perplexity by length: of dev, test and, of the help pages, longer sentences of the same pages. Training reads "
        f"pairs of at most {longest} subwords on a side, ends counted. Pairs: {', '.join(counts)}. Longer sentences "
        "are other text, too: compare rows within a column, not columns. none: sentences are longer than the learned "
        "positions go."
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
    told = [*NOTES, *length_notes(lengths, classes, longest), COMPARED, *notes]
    write_table(snakemake.output, TITLE, rows, told, names=3)
