"""Positions: Table 3's row (E), widened by later encodings, en-de; and perplexity beyond the lengths of training."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from lengths import Lengths, between, perplexity, read_lengths
from records import over_seeds
from table3 import COMPARED, measured
from tables_common import NOT_RUN, Ours, Row, is_shown, number, read_inputs, write_table

TITLE = "Positions: row (E) of Table 3, widened, en-de, development set, published and ours"
EDGES = (0, 1, 3 / 2, 2, 3, math.inf)  # of the classes of lengths shown; the unit is the longest pair of training
HEADING = "Perplexity by subwords of the longer side"
NOTES = [
    "Only sinusoids and learned positions are the paper's. Perplexity and BLEU as in Table 3.",
    "T5 does not divide scores by sqrt(d_k); ours with T5's biases does.",
]


def classes_of(longest: int) -> list[tuple[int, float]]:
    """From how many subwords to how many each class of lengths goes; the first is that of training."""
    return [
        (math.ceil(longest * low) + 1, math.ceil(longest * high) if high < math.inf else high)
        for low, high in pairwise(EDGES)
    ]


def named(shortest: int, longest: float) -> str:
    return f"{shortest} to {longest}" if longest < math.inf else f"above {shortest - 1}"


def table_row(row: Mapping[str, Any], ours: Ours, lengths: Lengths, longest: int) -> Row:
    """A row of the table; `longest` are the subwords of the longest pair of training."""
    of_classes = {}
    for each in classes_of(longest):
        cell = NOT_RUN
        if row["model"] in lengths:
            found = between(lengths[row["model"]], *each)
            cell = number(perplexity(found), 2) or ("none" if len(found) else "")
        of_classes[HEADING, named(*each)] = cell
    return {
        ("Positions", ""): row["name"],
        ("Model", ""): row["model"],
        ("Published in", ""): row["source"],
        **measured(row, ours),
        **of_classes,
    }


def length_notes(lengths: Lengths, longest: int) -> list[str]:
    """What perplexity by length is measured on."""
    if not lengths:
        return []
    first = next(iter(lengths.values()))
    counts = [f"{between(first, *each)['pairs'].sum():,} of {named(*each)}" for each in classes_of(longest)]
    return [
        f"Perplexity by length: of all text held out, longer sentences than those of dev and test among it. Training "
        f"reads pairs of at most {longest} subwords on a side, ends counted. Pairs: {', '.join(counts)}. "
        "none: the class has sentences beyond the last learned position. Longer sentences are other text, too: "
        "compare rows within a column, not columns."
    ]


def main(snakemake: Any) -> None:
    published, runs, notes = read_inputs(snakemake)
    ours, longest = over_seeds(runs), snakemake.params.longest
    lengths = read_lengths(snakemake.input.scores, snakemake.input.lengths, snakemake.params.equal)
    shown: Sequence[dict[str, Any]] = [
        row for row in published["positions"] if is_shown(snakemake, ours, "ende", row["model"])
    ]
    rows = [table_row(row, ours, lengths, longest) for row in shown]
    write_table(snakemake.output, TITLE, rows, [*NOTES, *length_notes(lengths, longest), COMPARED, *notes], names=3)
