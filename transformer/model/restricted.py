"""Restricted self-attention (section 4): a position reads only positions of its sentence that are at most r away.

The r of section 4 is the size of the whole neighbourhood, 2r + 1 here.

Shapes are named as in attention.py; R rows of L subwords, cut into N blocks of C. A block reads itself, the block
before it and, in an encoder, the block after it.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

SMALLEST = 16  # the smallest size of a block, in subwords
LONG = 8  # a row of at least this many blocks is cut; for a shorter row one mask is faster (docs/speed.md)


def block_size(length: int, radius: int | None) -> int | None:
    """How many subwords each block of a row of `length` has; None if such rows are not cut."""
    if radius is None or length < LONG * max(radius, SMALLEST):
        return None
    return max(radius, SMALLEST)


def shown_in_blocks(number_RL: Tensor, size: int, radius: int, causal: bool) -> Tensor:
    """Whether a subword reads each subword that its block reads: [R, N, 1, C, 2 C], or 3 C without `causal`.

    `number` is the number of each subword's sentence.
    """
    number = number_RL[:, None, :, None] + 1  # sentences begin at 1, because blocks are filled up with 0
    place = torch.arange(number_RL.size(1), device=number.device)[None, None, :, None]
    same = _blocks(number, size) == _read(number, size, causal).transpose(-1, -2)
    behind = _blocks(place, size) - _read(place, size, causal).transpose(-1, -2)
    return same & (behind <= radius) & (behind >= (0 if causal else -radius))


def in_blocks(
    attend: Callable[..., Tensor], q_BHTK: Tensor, k_BHTK: Tensor, v_BHTV: Tensor, bias_BN1CS: Tensor
) -> Tensor:
    """Apply `attend` to each block: [B, H, T, V]. The cost grows with T, not with its square."""
    size = bias_BN1CS.size(-2)
    causal = bias_BN1CS.size(-1) == 2 * size
    parts = (_blocks(q_BHTK, size), _read(k_BHTK, size, causal), _read(v_BHTV, size, causal), bias_BN1CS)
    y = attend(*(part.flatten(0, 1) for part in parts))
    return y.unflatten(0, bias_BN1CS.shape[:2]).transpose(1, 2).flatten(2, 3)[:, :, : q_BHTK.size(2)]


def _blocks(x_BHTE: Tensor, size: int) -> Tensor:
    """[B, N, H, C, E]; the last block is filled up with zeros."""
    return F.pad(x_BHTE, (0, 0, 0, -x_BHTE.size(2) % size)).unflatten(2, (-1, size)).transpose(1, 2)


def _read(x_BHTE: Tensor, size: int, causal: bool) -> Tensor:
    """What each block reads, [B, N, H, 2 C or 3 C, E]."""
    blocks = _blocks(x_BHTE, size)
    around = F.pad(blocks, (0, 0, 0, 0, 0, 0, 1, 0 if causal else 1))
    return torch.cat([around.narrow(1, first, blocks.size(1)) for first in range(2 if causal else 3)], 3)
