"""Judge a row against another one by their seeds: better, worse, alike within a margin, or undecided.

Two measures are judged, each at half of the level of the look. Of the statements that a row differs in a measure, and
that it is alike, at most one can be false, so the chance of any false statement is at most the level.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

from transformer.evaluation.claims import LEVEL, Error, own_error

FIRST = 0.8  # the share of LEVEL that the first look gets; each further look gets this share of what is left


@dataclass(frozen=True)
class Difference:
    """The mean difference of two rows, and its error."""

    mean: float
    error: Error

    def above(self, bound: float) -> float:
        """The one-sided p: the chance of a mean at least this far above `bound` if the true one is at `bound`."""
        return self.error.beyond(self.mean - bound)

    def below(self, bound: float) -> float:
        """The same for a mean below `bound`."""
        return self.error.beyond(bound - self.mean)


@dataclass(frozen=True)
class Compared:
    """What the seeds say of a measure. A positive difference is in favour of the row."""

    mean: float
    interval: tuple[float, float]  # it excludes zero if and only if the rows differ
    p: float  # that they differ, corrected for the number of measures; like the next, it is compared with the level
    p_alike: float
    smallest: float  # the least mean that would have been shown to differ
    verdict: str


def level(look: int) -> float:
    """The level at which the k-th look is judged, counted from 1. The levels of all looks add up to LEVEL."""
    return LEVEL * FIRST * (1 - FIRST) ** (look - 1)


def paired(row: Sequence[float], against: Sequence[float]) -> Difference:
    """The difference of rows whose values have the same seeds in the same order (Student's paired t)."""
    each = np.subtract(row, against)
    return Difference(float(each.mean()), own_error(each))


def unpaired(row: Sequence[float], against: Sequence[float]) -> Difference:
    """The difference of rows whose values have nothing in common (Welch's t)."""
    mean = float(np.mean(row) - np.mean(against))
    parts = [float(np.var(values, ddof=1) / len(values)) for values in (row, against)]
    if not any(parts):
        return Difference(mean, Error(0.0, len(row) + len(against) - 2))
    pieces = [part**2 / (len(values) - 1) for part, values in zip(parts, (row, against), strict=True)]
    return Difference(mean, Error(sum(parts) ** 0.5, sum(parts) ** 2 / sum(pieces)))


def compare(difference: Difference, margin: float, look: int, measures: int = 2) -> Compared:
    """Judge a difference in one of several measures.

    The row differs if a two-sided test shows it, and it is alike if two one-sided tests show that the difference is
    within the margin. Both can hold.
    """
    share = level(look) / measures
    p = min(1.0, 2 * min(difference.above(0), difference.below(0)))
    p_alike = max(difference.above(-margin), difference.below(margin))
    differs, alike = p < share, p_alike < share
    half = float(t.isf(share / 2, difference.error.freedom)) * difference.error.standard
    side = "better" if difference.mean > 0 else "worse"
    return Compared(
        mean=difference.mean,
        interval=(difference.mean - half, difference.mean + half),
        p=min(1.0, measures * p),
        p_alike=min(1.0, measures * p_alike),
        smallest=half,
        verdict=side + ", by less than the margin" * alike if differs else "alike" if alike else "undecided",
    )
