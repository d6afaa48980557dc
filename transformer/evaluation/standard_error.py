"""The standard error of a mean."""

import numpy as np


def standard_error(values: np.ndarray) -> float:
    """How far the mean of some values, at least two, is from the true one, as their spread tells."""
    return float(values.std(ddof=1) / len(values) ** 0.5)
