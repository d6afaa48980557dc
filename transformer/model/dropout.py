"""Dropout (section 5.4): PyTorch's on a GPU, a faster one on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def kept(x: Tensor, p: float) -> Tensor:
    """1 where dropout keeps an element of `x` (on a CPU) and 0 where it drops it, in the type of `x`.

    Each element takes 16 random bits, and one draw serves four elements. This avoids PyTorch's slow booleans.
    """
    draws = torch.randint(-(1 << 63), (1 << 63) - 1, (x.numel() // 4 + 1,))
    bits = draws.view(torch.int16)[: x.numel()].view_as(x)
    return torch.ge(bits, round(p * 65536) - 32768, out=torch.empty_like(x))


class _CPUDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        mask = kept(x, p)
        ctx.save_for_backward(mask)
        ctx.scale = 1 / (1 - p)
        return (x * mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (grad[0] * mask).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Dropout (section 5.4) on the embeddings. On a GPU it also acts on the output of a sub-layer."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """[...] to [...]. Outside training it returns the input."""
        if not self.training or self.p == 0:
            return x
        return F.dropout(x, self.p) if x.is_cuda else _CPUDropout.apply(x, self.p)
