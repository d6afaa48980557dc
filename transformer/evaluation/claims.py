"""Is a claim about some rows borne out by their seeds? By paired t tests, corrected for the number of claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.stats import t

from transformer.support.files import InputError

LEVEL = 0.05  # of all claims together: how often one of them may get a verdict that is false
Verdict = Literal["reproduced", "contrary", "undecided"]


@dataclass(frozen=True)
class Judged:
    """What the seeds say of a claim; effects are in favour of it where they are positive."""

    effect: float  # the mean over seeds
    interval: tuple[float, float]  # 95 % of it, of this claim by itself
    seeds: int
    p: float  # after Holm's correction
    verdict: Verdict
    smallest: float  # the effect, or of a claim that rows are alike the margin, from which on it would be decided


def effects(values: Sequence[Sequence[float]]) -> np.ndarray:
    """The effect of each seed, from values [rows, seeds], the rows in the order that the claim gives them.

    Of two rows it is the second minus the first; of more it is the linear trend, from the first row to the last.
    """
    rows = np.asarray(values, dtype=float)
    weights = np.arange(len(rows)) - (len(rows) - 1) / 2
    return (len(rows) - 1) * (weights @ rows) / (weights @ weights)


def judge(claims: Mapping[str, tuple[np.ndarray, float | None]]) -> dict[str, Judged]:
    """A verdict on each of a family of claims: the effects of its seeds, and the margin of one that rows are alike.

    An effect is tested by a paired t test, two-sided. Rows are alike when two one-sided tests show the effect to be
    within the margin, and differ when one shows it to be beyond. Holm's correction keeps the chance of any false
    verdict in the family at LEVEL. Raises InputError for a claim of fewer than two seeds, which have no interval.
    """
    for name, (each, _) in claims.items():
        if len(each) < 2:
            raise InputError(f"claims.{name}: {len(each)} seed has no interval; train at least two (`seeds`)")
    tested = {name: _tested(each, margin) for name, (each, margin) in claims.items()}
    ascending = sorted(tested, key=lambda name: tested[name][0])
    adjusted, largest = {}, 0.0
    for rank, name in enumerate(ascending):
        largest = adjusted[name] = max(largest, min(1.0, (len(tested) - rank) * tested[name][0]))
    undecided = sum(p >= LEVEL for p in adjusted.values())
    judged = {}
    for name, (each, margin) in claims.items():
        p, found = adjusted[name], tested[name][1]
        error, freedom = _error(each), len(each) - 1
        half = t.isf(0.025, freedom) * error
        sides = 2 if margin is None else 1
        judged[name] = Judged(
            effect=float(each.mean()),
            interval=(float(each.mean() - half), float(each.mean() + half)),
            seeds=len(each),
            p=p,
            verdict=found if p < LEVEL else "undecided",
            smallest=float(t.isf(LEVEL / sides / max(1, undecided), freedom) * error),
        )
    return judged


def _error(each: np.ndarray) -> float:
    """The standard error of the mean."""
    return float(each.std(ddof=1) / len(each) ** 0.5)


def _beyond(each: np.ndarray, bound: float) -> float:
    """How likely a mean so far above `bound` is where the true one is not above it."""
    above, error = each.mean() - bound, _error(each)
    if error == 0:
        return 0.0 if above > 0 else 1.0
    return float(t.sf(above / error, len(each) - 1))


def _tested(each: np.ndarray, margin: float | None) -> tuple[float, Verdict]:
    """The p of the verdict that is the likelier one, and this verdict."""
    bound = margin or 0.0
    apart = {"up": _beyond(each, bound), "down": _beyond(-each, bound)}
    p_apart = min(1.0, 2 * min(apart.values()))
    if margin is None:
        return p_apart, "reproduced" if apart["up"] < apart["down"] else "contrary"
    p_alike = max(_beyond(each, -margin), _beyond(-each, -margin))
    return (p_alike, "reproduced") if p_alike <= p_apart else (p_apart, "contrary")
