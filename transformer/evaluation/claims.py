"""Decide claims about rows of the tables from their seeds, by paired t tests corrected for the number of claims.

Claims about time are decided by measurements in rounds, which say nothing of other trainings.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import t

from transformer.evaluation.standard_error import standard_error
from transformer.support.files import InputError

LEVEL = 0.05  # the chance that any claim of a family gets a false verdict
APART = math.log1p(0.1)  # claims about time: times are apart if one is more than 10 % above the other
SEEDS = 3  # the fewest that are judged: with two, an interval is 12.7 standard errors to either side
Verdict = Literal["reproduced", "contrary", "undecided"]
Size = Literal["similar", "smaller", "larger", "opposite"]


class Effects(NamedTuple):
    """The effects of a claim's seeds. A positive one is in favour of it."""

    each: np.ndarray
    margin: float | None = None  # the claim says that the effect is within it, on either side of zero
    least: float = 0.0  # without a margin, the claim says that the effect is above this


class Error(NamedTuple):
    """The error of a mean effect."""

    standard: float
    freedom: float  # degrees of freedom of its estimate

    def beyond(self, above: float) -> float:
        """The one-sided p: the chance of a mean at least this far above a bound if the true mean is at the bound."""
        if self.standard == 0:
            return 0.0 if above > 0 else 1.0
        return float(t.sf(above / self.standard, self.freedom))


@dataclass(frozen=True)
class Judged:
    """What the seeds, or the rounds, say about a claim. A positive effect is in favour of it."""

    effect: float  # the mean over seeds
    interval: tuple[float, float]  # of the effect, for this claim alone: 95 %, or 90 % for rows claimed to be alike
    seeds: int
    p_alone: float | None  # None, like the next and the last, for rounds
    p: float | None  # after Holm's correction
    verdict: Verdict
    smallest: float | None  # the least mean that would be decided; for rows claimed to be alike, the least margin


def effects(values: Sequence[Sequence[float]]) -> np.ndarray:
    """The effect of each seed, from values [rows, seeds]. The rows are in the order of the claim.

    With two rows the effect is the second minus the first. With more rows it is the linear trend from first to last.
    The first row is subtracted before, so that equal rows have an effect of exactly zero.
    """
    rows = np.asarray(values, dtype=float)
    weights = np.arange(len(rows)) - (len(rows) - 1) / 2
    return (len(rows) - 1) * (weights @ (rows - rows[0])) / (weights @ weights)


def judge(claims: Mapping[str, Effects]) -> dict[str, Judged]:
    """Judge a family of claims.

    A paired two-sided t test decides about an effect: whether it is above or below `least`. Rows are alike if two
    one-sided tests show that the effect is within the margin. They differ if one test shows that it is outside the
    margin. Holm's correction keeps the chance of any false verdict in the family at LEVEL. Raises InputError for fewer
    than SEEDS seeds.
    """
    for name, (each, *_) in claims.items():
        if len(each) < SEEDS:
            raise InputError(f"claims.{name}: must have at least {SEEDS} seeds, not {len(each)}; add some to `seeds`")
    tested = {name: _tested(claim, own_error(claim.each)) for name, claim in claims.items()}
    adjusted = _corrected({name: p for name, (p, _) in tested.items()})
    undecided = sum(p >= LEVEL for p in adjusted.values())
    judged = {}
    for name, (each, margin, bound) in claims.items():
        p, verdict = adjusted[name], tested[name][1]
        error, freedom = own_error(each)
        tail = LEVEL / (2 if margin is None else 1)  # the 90 % interval belongs to two one-sided tests
        least = t.isf(tail / max(1, undecided), freedom) * error
        judged[name] = Judged(
            effect=float(each.mean()),
            interval=interval(each, tail),
            seeds=len(each),
            p_alone=tested[name][0],
            p=p,
            verdict=verdict if p < LEVEL else "undecided",
            smallest=float(bound + least if margin is None else abs(each.mean()) + least),
        )
    return judged


def judge_rounds(each: np.ndarray, margin: float | None) -> Judged:
    """Judge a claim about time from the effects of its rounds, by their 95 % interval.

    A claim that one row is faster is reproduced if the whole interval is above APART, and contrary if it is below
    -APART. A claim that rows are alike is reproduced if the interval is within the margin, and contrary if it is
    outside.
    """
    low, high = interval(each)
    bound = APART if margin is None else margin
    faster, slower, alike = low > bound, high < -bound, -bound < low and high < bound
    reproduced, contrary = (faster, slower) if margin is None else (alike, faster or slower)
    verdict: Verdict = "reproduced" if reproduced else "contrary" if contrary else "undecided"
    return Judged(float(each.mean()), (low, high), len(each), None, None, verdict, None)


def interval(each: np.ndarray, tail: float = LEVEL / 2) -> tuple[float, float]:
    """The confidence interval of a mean (Student's t), with a chance of `tail` on either side; by default of 95 %."""
    error = own_error(each)
    half = t.isf(tail, error.freedom) * error.standard
    return float(each.mean() - half), float(each.mean() + half)


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


def first_decided(claims: int, seeds: int) -> float:
    """How many standard deviations of its seeds a mean must have to be the first of a family to be decided."""
    return float(t.isf(LEVEL / 2 / claims, seeds - 1) / seeds**0.5)


def second_opinion(claims: Mapping[str, Effects], errors: Mapping[str, Error]) -> dict[str, float]:
    """The p of each claim of a family after Holm's correction, if some claims had other errors than their own."""
    tested = {name: _tested(claim, errors.get(name) or own_error(claim.each)) for name, claim in claims.items()}
    return _corrected({name: p for name, (p, _) in tested.items()})


def own_error(each: np.ndarray) -> Error:
    """The error of the mean of a claim's effects, from their spread."""
    return Error(standard_error(each), len(each) - 1)


def pooled_error(scores: Sequence[Sequence[float]], compared: int) -> Error:
    """The error of the effect of `compared` rows, from scores [rows, seeds] of these rows and others of the same kind.

    It is pooled over all rows: what remains of a score without the means of its row and of its seed. It assumes that
    all rows have the same spread. With the two compared rows alone, it is their own error.
    """
    rows = np.asarray(scores, dtype=float)
    remains = rows - rows.mean(0) - rows.mean(1, keepdims=True) + rows.mean()
    freedom = (rows.shape[0] - 1) * (rows.shape[1] - 1)
    weights = effects(np.eye(compared).tolist())
    return Error(float(((remains**2).sum() / freedom * (weights @ weights) / rows.shape[1]) ** 0.5), freedom)


def _corrected(alone: Mapping[str, float]) -> dict[str, float]:
    """The p of each claim after Holm's correction."""
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(sorted(alone, key=lambda name: alone[name])):
        largest = adjusted[name] = max(largest, min(1.0, (len(alone) - rank) * alone[name]))
    return adjusted


def _tested(claim: Effects, error: Error) -> tuple[float, Verdict]:
    """The smallest p of any verdict, and that verdict."""
    mean, margin = claim.each.mean(), claim.margin
    low, high = (claim.least, claim.least) if margin is None else (-margin, margin)
    apart = {"up": error.beyond(mean - high), "down": error.beyond(low - mean)}
    p_apart = min(1.0, 2 * min(apart.values()))
    if margin is None:
        return p_apart, "reproduced" if apart["up"] < apart["down"] else "contrary"
    p_alike = max(error.beyond(mean + margin), error.beyond(margin - mean))
    return (p_alike, "reproduced") if p_alike <= p_apart else (p_apart, "contrary")
