"""The statistics of claims, of ideas, and of comparisons with base: Student's t tests, and their corrections.

The differences of several seeds are a sample. A positive difference is in favour of the claim or of the row.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

# SciPy is imported where it is needed: it takes a second to load, and planning needs the constants alone.

LEVEL = 0.05  # the chance that any claim of a family gets a false verdict, and that any idea of a ledger is a false win
APART = math.log1p(0.1)  # claims about time: times are apart if one is more than 10 % above the other
SEEDS = 3  # the fewest that are judged: with two, an interval is 12.7 standard errors to either side
LEAST = 1e-9  # the smallest p over seeds and sentences
Verdict = Literal["reproduced", "contrary", "undecided"]
Size = Literal["similar", "smaller", "larger", "opposite"]
Values = Sequence[float] | np.ndarray


def standard_error(values: np.ndarray) -> float:
    """The standard error of the mean of at least two values: their standard deviation / sqrt(their number)."""
    return float(values.std(ddof=1) / len(values) ** 0.5)


class Mean(NamedTuple):
    """A mean difference."""

    value: float
    error: float  # its standard error
    freedom: float  # degrees of freedom of the error's estimate

    def above(self, bound: float) -> float:
        """The one-sided p: the chance of a mean at least this far above `bound` if the true one is at `bound`."""
        from scipy.special import stdtr

        if self.error == 0:
            return 0.0 if self.value > bound else 1.0
        return float(stdtr(self.freedom, -(self.value - bound) / self.error))

    def below(self, bound: float) -> float:
        """The same for a mean below `bound`."""
        return self._replace(value=-self.value).above(-bound)

    def outside(self, low: float, high: float) -> float:
        """The two-sided p that the true mean is below `low` or above `high`."""
        return min(1.0, 2 * min(self.above(high), self.below(low)))

    def within(self, margin: float) -> float:
        """The p of two one-sided tests that the true mean is less than `margin` from zero."""
        return max(self.above(-margin), self.below(margin))

    def half(self, tail: float) -> float:
        """Half of the confidence interval that has a chance of `tail` on either side."""
        from scipy.special import stdtrit

        return float(-stdtrit(self.freedom, tail) * self.error)

    def interval(self, tail: float = LEVEL / 2) -> tuple[float, float]:
        """The confidence interval with a chance of `tail` on either side; by default of 95 %."""
        half = self.half(tail)
        return self.value - half, self.value + half


def mean(each: Values) -> Mean:
    """The mean of differences, with the error that their spread tells (Student's paired t)."""
    values = np.asarray(each, dtype=float)
    return Mean(float(values.mean()), standard_error(values), len(values) - 1)


def unpaired(row: Values, against: Values) -> Mean:
    """The difference of rows whose values have nothing in common (Welch's t)."""
    both = [mean(values) for values in (row, against)]
    squares = [each.error**2 for each in both]
    pieces = sum(square**2 / each.freedom for square, each in zip(squares, both, strict=True))
    freedom = sum(squares) ** 2 / pieces if pieces else sum(each.freedom for each in both)
    return Mean(both[0].value - both[1].value, sum(squares) ** 0.5, freedom)


def interval(each: Values) -> tuple[float, float]:
    """The 95 % confidence interval of a mean."""
    return mean(each).interval()


# Claims.


class Hypothesis(NamedTuple):
    """What a claim says of its mean effect."""

    effect: Mean
    margin: float | None = None  # it is within this, on either side of zero
    least: float = 0.0  # without a margin: it is above this


@dataclass(frozen=True)
class Judged:
    """What the seeds, or the rounds, say about a claim. A positive effect is in favour of it."""

    effect: float
    interval: tuple[float, float]  # of the effect, for this claim alone: 95 %, or 90 % for rows claimed to be alike
    verdict: Verdict
    # None for rounds:
    p_alone: float | None = None
    p: float | None = None  # after Holm's correction
    smallest: float | None = (
        None  # the least mean that would be decided; for rows claimed to be alike, the least margin
    )


def effects(values: Sequence[Sequence[float]] | np.ndarray) -> np.ndarray:
    """The effect of each seed, from values [rows, seeds]. The rows are in the order of the claim.

    With two rows the effect is the second minus the first. With more rows it is the linear trend from first to last.
    The first row is subtracted before, so that equal rows have an effect of exactly zero.
    """
    rows = np.asarray(values, dtype=float)
    weights = np.arange(len(rows)) - (len(rows) - 1) / 2
    return (len(rows) - 1) * (weights @ (rows - rows[0])) / (weights @ weights)


def judge(family: Mapping[str, Hypothesis]) -> dict[str, Judged]:
    """Judge a family of claims.

    A two-sided t test decides whether an effect is above or below `least`. Rows are alike if two one-sided tests show
    that the effect is within the margin. They differ if one test shows that it is outside. Holm's correction keeps the
    chance of any false verdict in the family at LEVEL.
    """
    tested = {name: _test(claim) for name, claim in family.items()}
    corrected, largest = dict[str, float](), 0.0
    for rank, name in enumerate(sorted(tested, key=lambda name: tested[name][0])):
        largest = corrected[name] = max(largest, min(1.0, (len(tested) - rank) * tested[name][0]))
    undecided = sum(p >= LEVEL for p in corrected.values())
    judged = {}
    for name, (effect, margin, least) in family.items():
        alone, verdict = tested[name]
        tail = LEVEL / (2 if margin is None else 1)  # the 90 % interval belongs to two one-sided tests
        judged[name] = Judged(
            effect=effect.value,
            interval=effect.interval(tail),
            verdict=verdict if corrected[name] < LEVEL else "undecided",
            p_alone=alone,
            p=corrected[name],
            smallest=effect.half(tail / max(1, undecided)) + (least if margin is None else abs(effect.value)),
        )
    return judged


def _test(claim: Hypothesis) -> tuple[float, Verdict]:
    """The smallest p of any verdict, and that verdict."""
    effect, margin, least = claim
    if margin is None:
        above = effect.above(least) < effect.below(least)
        return effect.outside(least, least), "reproduced" if above else "contrary"
    alike, apart = effect.within(margin), effect.outside(-margin, margin)
    return (alike, "reproduced") if alike <= apart else (apart, "contrary")


def judge_rounds(each: Values, margin: float | None) -> Judged:
    """Judge a claim about time from the effects of its rounds, by their 95 % interval.

    A claim that one row is faster is reproduced if the whole interval is above APART, and contrary if it is below
    -APART. A claim that rows are alike is reproduced if the interval is within the margin, and contrary if it is
    outside.
    """
    effect = mean(each)
    low, high = effect.interval()
    bound = APART if margin is None else margin
    faster, slower, alike = low > bound, high < -bound, -bound < low and high < bound
    reproduced, contrary = (faster, slower) if margin is None else (alike, faster or slower)
    return Judged(effect.value, (low, high), "reproduced" if reproduced else "contrary" if contrary else "undecided")


def size(interval: tuple[float, float], published: float) -> Size:
    """How the effect in an interval compares with a published one: similar if the interval contains that one.

    Otherwise it is smaller or larger, or opposite: the whole interval has the other sign.
    """
    low, high = interval if published >= 0 else (-interval[1], -interval[0])
    published = abs(published)
    if low <= published <= high:
        return "similar"
    if published and high < 0:
        return "opposite"
    return "smaller" if published and high < published else "larger"


def pooled(effect: float, scores: Sequence[Sequence[float]], compared: int) -> Mean:
    """An effect of `compared` rows with an error from scores [rows, seeds] of these rows and others of the same kind.

    The error is pooled over all rows: what remains of a score without the means of its row and of its seed. It assumes
    that all rows have the same spread. With the two compared rows alone, it is their own error.
    """
    rows = np.asarray(scores, dtype=float)
    remains = rows - rows.mean(0) - rows.mean(1, keepdims=True) + rows.mean()
    freedom = (rows.shape[0] - 1) * (rows.shape[1] - 1)
    weights = effects(np.eye(compared))
    return Mean(effect, float(((remains**2).sum() / freedom * (weights @ weights) / rows.shape[1]) ** 0.5), freedom)


# Ideas.


def level(confirmation: int) -> float:
    """The level of the k-th confirmation of a ledger: LEVEL / (k (k + 1)). The levels of all add up to LEVEL.

    k counts the confirmation itself and those before it that did not win, so the chance that a ledger has any false
    win is at most LEVEL.
    """
    return LEVEL / (confirmation * (confirmation + 1))


def power(gain: float, spread: float, seeds: int, tail: float) -> float:
    """The chance that a one-sided t test of two rows, at the level `tail`, finds a true gain.

    Each row has `seeds` values, and `spread` is their standard deviation.
    """
    from scipy.special import nctdtr, stdtrit

    freedom = 2 * seeds - 2
    return float(1 - nctdtr(freedom, gain / (spread * (2 / seeds) ** 0.5), -stdtrit(freedom, tail))) if spread else 1.0


# Seeds and sentences.


def p_over_seeds_and_sentences(differences: Sequence[Sequence[float]]) -> float:
    """The two-sided p of the mean of differences [seeds, sentences], of which there are at least two each.

    Seeds and sentences are both samples. The mean has an error for each: that of the means of seeds, and that of the
    means of sentences. The mean is significant at a level if its square exceeds the sum of the squares of both errors,
    each times its quantile of Student's t (Banerjee 1960). If the differences are normally distributed, a false alarm
    is never more frequent than the level: what a sentence has in one seed only is in both errors.
    """
    from scipy.optimize import brentq

    values = np.asarray(differences, dtype=float)
    both = [mean(values.mean(axis)) for axis in (1, 0)]
    square = values.mean() ** 2

    def excess(level: float) -> float:
        return float(sum(each.half(level / 2) ** 2 for each in both) - square)

    if not square:
        return 1.0
    return LEAST if excess(LEAST) < 0 else float(brentq(excess, LEAST, 1.0))
