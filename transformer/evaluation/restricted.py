"""Restricted self-attention (section 4, Table 1): a position reads only positions that are at most r away.

The r of section 4 is the size of the whole neighbourhood, 2r + 1 here. The paper proposes it as future work. No model
has it; only the complexity of such a layer is measured.

Shapes are named as in attention.py; T positions are cut into J blocks of C. A block reads itself and both neighbours.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.cache import KeysValues
from transformer.model.masks import Mask

SMALLEST = 16  # the smallest size of a block
LONG = 8  # with fewer blocks than these, one mask is faster


class Restricted:
    """How n positions attend within `radius`: by one mask, or in blocks, whose cost grows with n and not its square."""

    def __init__(self, n: int, radius: int):
        size = max(radius, SMALLEST)
        self.size = size if n >= LONG * size else n
        place = torch.arange(n)[None, None, :, None]
        if self.size == n:
            self.mask = Mask(((place - place.transpose(-1, -2)).abs() <= radius)[0])
        else:
            there = _blocks(torch.ones_like(place), self.size), _read(torch.ones_like(place), self.size)
            behind = _blocks(place, self.size) - _read(place, self.size).transpose(-1, -2)
            shown = (behind.abs() <= radius) & (there[0] == there[1].transpose(-1, -2))
            self.mask = Mask(shown.flatten(0, 2))

    def __call__(self, attend: Callable[..., Tensor], x_1HTE: Tensor) -> Tensor:
        """Apply `attend` to x as queries, keys and values: [1, H, T, E]."""
        n = x_1HTE.size(2)
        if self.size == n:
            return attend(x_1HTE, KeysValues(x_1HTE, x_1HTE), self.mask)
        q, read = _blocks(x_1HTE, self.size), _read(x_1HTE, self.size)
        y = attend(q.flatten(0, 1), KeysValues(read.flatten(0, 1), read.flatten(0, 1)), self.mask)
        return y.unflatten(0, q.shape[:2]).transpose(1, 2).flatten(2, 3)[:, :, :n]


def _blocks(x_1HTE: Tensor, size: int) -> Tensor:
    """[1, J, H, C, E]; the last block is filled up with zeros."""
    return F.pad(x_1HTE, (0, 0, 0, -x_1HTE.size(2) % size)).unflatten(2, (-1, size)).transpose(1, 2)


def _read(x_1HTE: Tensor, size: int) -> Tensor:
    """What each block reads, [1, J, H, 3 C, E]."""
    around = F.pad(_blocks(x_1HTE, size), (0, 0, 0, 0, 0, 0, 1, 1))
    return torch.cat([around.narrow(1, first, around.size(1) - 2) for first in range(3)], 3)
