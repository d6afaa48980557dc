"""Checkpoint averaging (section 6.1)."""

from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from transformer.support.files import InputError
from transformer.support.tensors import read_tensors


def average(paths: Sequence[Path]) -> dict[str, Tensor]:
    """The mean of every tensor over the given checkpoints (section 6.1), accumulated in float64.

    Raises InputError when the checkpoints are of different models, and the errors of `read_tensors`.
    """
    total: dict[str, Tensor] = {}
    for path in paths:
        tensors, _ = read_tensors(path)
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        if total and shapes != {name: tensor.shape for name, tensor in total.items()}:
            raise InputError(f"{path}: its tensors differ from those of {paths[0]}; average checkpoints of one run")
        total = {name: tensor.double() + total.get(name, 0) for name, tensor in tensors.items()}
    return {name: (tensor / len(paths)).float() for name, tensor in total.items()}
