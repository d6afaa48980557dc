"""Decide claims about rows of the tables from their seeds, by paired t tests corrected for the number of claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import t

from transformer.support.files import InputError

LEVEL = 0.05  # the chance that any claim of a family gets a false verdict
SEEDS = 3  # the fewest that are judged: with two, an interval is 12.7 standard errors to either side
Verdict = Literal["reproduced", "contrary", "undecided"]
Size = Literal["similar", "smaller", "larger", "other side"]


class Effects(NamedTuple):
    """The effects of a claim's seeds. A positive one is in favour of it."""

    each: np.ndarray
    margin: float | None = None  # the claim says that the effect is within it, on either side of zero
    least: float = 0.0  # without a margin, the claim says that the effect is above this


@dataclass(frozen=True)
class Judged:
    """What the seeds say about a claim. A positive effect is in favour of it."""

    effect: float  # the mean over seeds
    interval: tuple[float, float]  # of the effect, for this claim alone: 95 %, or 90 % for rows claimed to be alike
    seeds: int
    p_alone: float
    p: float  # after Holm's correction
    verdict: Verdict
    smallest: float  # the least mean that would be decided; for rows claimed to be alike, the least margin


def effects(values: Sequence[Sequence[float]]) -> np.ndarray:
    """The effect of each seed, from values [rows, seeds]. The rows are in the order of the claim.

    With two rows the effect is the second minus the first. With more rows it is the linear trend from first to last.
    """
    rows = np.asarray(values, dtype=float)
    weights = np.arange(len(rows)) - (len(rows) - 1) / 2
    return (len(rows) - 1) * (weights @ rows) / (weights @ weights)


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
    tested = {name: _tested(claim) for name, claim in claims.items()}
    ascending = sorted(tested, key=lambda name: tested[name][0])
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(ascending):
        largest = adjusted[name] = max(largest, min(1.0, (len(tested) - rank) * tested[name][0]))
    undecided = sum(p >= LEVEL for p in adjusted.values())
    judged = {}
    for name, (each, margin, bound) in claims.items():
        p, verdict = adjusted[name], tested[name][1]
        error, freedom = _error(each), len(each) - 1
        tail = LEVEL / (2 if margin is None else 1)  # the 90 % interval belongs to two one-sided tests
        half = t.isf(tail, freedom) * error
        least = t.isf(tail / max(1, undecided), freedom) * error
        judged[name] = Judged(
            effect=float(each.mean()),
            interval=(float(each.mean() - half), float(each.mean() + half)),
            seeds=len(each),
            p_alone=tested[name][0],
            p=p,
            verdict=verdict if p < LEVEL else "undecided",
            smallest=float(bound + least if margin is None else abs(each.mean()) + least),
        )
    return judged


def size(interval: tuple[float, float], published: float) -> Size:
    """How the effect in an interval compares with a published one: similar if the interval contains that one.

    Otherwise it is smaller or larger, or the whole interval is on the other side of zero.
    """
    low, high = interval if published >= 0 else (-interval[1], -interval[0])
    published = abs(published)
    if low <= published <= high:
        return "similar"
    if published and high < 0:
        return "other side"
    return "smaller" if published and high < published else "larger"


def first_decided(claims: int, seeds: int) -> float:
    """How many standard deviations of its seeds a mean must have to be the first of a family to be decided."""
    return float(t.isf(LEVEL / 2 / claims, seeds - 1) / seeds**0.5)


def _error(each: np.ndarray) -> float:
    """The standard error of the mean."""
    return float(each.std(ddof=1) / len(each) ** 0.5)


def _beyond(each: np.ndarray, bound: float) -> float:
    """The one-sided p: the chance of a mean at least this far above `bound` if the true mean is at `bound`."""
    above, error = each.mean() - bound, _error(each)
    if error == 0:
        return 0.0 if above > 0 else 1.0
    return float(t.sf(above / error, len(each) - 1))


def _tested(claim: Effects) -> tuple[float, Verdict]:
    """The smallest p of any verdict, and that verdict."""
    each, margin = claim.each, claim.margin
    low, high = (claim.least, claim.least) if margin is None else (-margin, margin)
    apart = {"up": _beyond(each, high), "down": _beyond(-each, -low)}
    p_apart = min(1.0, 2 * min(apart.values()))
    if margin is None:
        return p_apart, "reproduced" if apart["up"] < apart["down"] else "contrary"
    p_alike = max(_beyond(each, -margin), _beyond(-each, -margin))
    return (p_alike, "reproduced") if p_alike <= p_apart else (p_apart, "contrary")
