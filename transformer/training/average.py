"""Checkpoint averaging (section 6.1)."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transformer.support.arrays import read_arrays
from transformer.support.files import InputError


def average(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """The mean of every array over the given checkpoints (section 6.1), accumulated in float64.

    Raises InputError when the checkpoints are of different models, and the errors of `read_arrays`.
    """
    total: dict[str, np.ndarray] = {}
    for path in paths:
        arrays, _ = read_arrays(path)
        shapes = {name: array.shape for name, array in arrays.items()}
        if total and shapes != {name: array.shape for name, array in total.items()}:
            raise InputError(f"{path}: its tensors differ from those of {paths[0]}; average checkpoints of one run")
        total = {name: array.astype(np.float64) + total.get(name, 0) for name, array in arrays.items()}
    return {name: (array / len(paths)).astype(np.float32) for name, array in total.items()}
