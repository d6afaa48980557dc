"""Test a difference of two systems over seeds and sentences together: would other seeds and sentences show it, too?"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from transformer.evaluation.standard_error import standard_error

LEAST = 1e-9  # the smallest p that is returned


def p_over_seeds_and_sentences(differences: Sequence[Sequence[float]]) -> float:
    """The two-sided p of the mean of differences [seeds, sentences], of which there are at least two each.

    Seeds and sentences are both samples. The mean has an error for each: that of the means of seeds, and that of the
    means of sentences. The mean is significant at a level if its square exceeds the sum of the squares of both errors,
    each times its quantile of Student's t (Banerjee 1960). If the differences are normally distributed, a false alarm
    is never more frequent than the level: what a sentence has in one seed only is in both errors.
    """
    values = np.asarray(differences, dtype=float)
    errors = [standard_error(values.mean(axis)) for axis in (1, 0)]
    square = values.mean() ** 2

    def excess(level: float) -> float:
        quantiles = [stdtrit(size - 1, level / 2) for size in values.shape]
        return float(sum((each * error) ** 2 for each, error in zip(quantiles, errors, strict=True)))

    if not square:
        return 1.0
    return LEAST if excess(LEAST) < square else float(brentq(lambda level: excess(level) - square, LEAST, 1.0))
