"""The standard error of a mean."""

import numpy as np


def standard_error(values: np.ndarray) -> float:
    """The standard error of the mean of at least two values: their standard deviation / sqrt(their number)."""
    return float(values.std(ddof=1) / len(values) ** 0.5)
