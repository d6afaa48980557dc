"""PyTorch's tensors on disk, in the files of `transformer.support.arrays`."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from transformer.support.arrays import read_arrays, write_arrays


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write tensors and texts. Raises the errors of `write_arrays`."""
    write_arrays(path, {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}, metadata)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read what `write_tensors` wrote. Raises the errors of `read_arrays`."""
    arrays, metadata = read_arrays(path)
    return {name: torch.from_numpy(array) for name, array in arrays.items()}, metadata
