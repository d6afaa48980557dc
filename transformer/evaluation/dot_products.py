"""Why attention divides scores by sqrt(d_k) (section 3.2.1, footnote 4): the softmax of random queries and keys."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Statistics:
    """The variance of scores, the entropy of their softmax in nats, and the Frobenius norm of its Jacobian."""

    variance: float
    entropy: float
    gradient: float


def dot_products(d_k: int, keys: int, queries: int, seed: int) -> np.ndarray:
    """Scores [queries, keys] without scaling. Each query has its own keys; all elements are standard normal."""
    drawn = np.random.default_rng(seed)
    return np.stack([drawn.standard_normal((keys, d_k)) @ drawn.standard_normal(d_k) for _ in range(queries)])


def statistics(scores: np.ndarray) -> Statistics:
    """The statistics of scores [queries, keys]. Entropy and gradient are means over the queries."""
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    logarithms = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    squares = (weights**2).sum(1)
    gradient = np.sqrt(np.maximum(squares - 2 * (weights**3).sum(1) + squares**2, 0))  # the norm of diag(p) - p p^T
    return Statistics(float(scores.var()), float(-(weights * logarithms).sum(1).mean()), float(gradient.mean()))


def against_d_k(d_k: Sequence[int], keys: int, queries: int) -> dict[str, list[Statistics]]:
    """The statistics for each d_k, of scores without scaling and of the same scores divided by sqrt(d_k)."""
    unscaled = [dot_products(each, keys, queries, seed=1) for each in d_k]
    return {
        "unscaled": [statistics(scores) for scores in unscaled],
        "scaled": [statistics(scores * each**-0.5) for each, scores in zip(d_k, unscaled, strict=True)],
    }
