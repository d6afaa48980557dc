"""Dropout (section 5.4): PyTorch's on a GPU, a faster one on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class _CPUDropout(torch.autograd.Function):
    """Dropout by 16 random bits an element, four elements a draw, without PyTorch's slow booleans."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        draws = torch.randint(-(1 << 63), (1 << 63) - 1, (x.numel() // 4 + 1,))
        bits = draws.view(torch.int16)[: x.numel()].view_as(x)
        kept = torch.ge(bits, round(p * 65536) - 32768, out=torch.empty_like(x))
        ctx.save_for_backward(kept)
        ctx.scale = 1 / (1 - p)
        return (x * kept).float().mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (grad[0] * ctx.scale).to(kept.dtype).mul_(kept), None


class Dropout(nn.Module):
    """Dropout (section 5.4) of a sub-layer's output or of the embeddings. On a CPU the result is float32."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """[...] to [...]; the identity outside training."""
        if not self.training or self.p == 0:
            return x
        return F.dropout(x, self.p) if x.is_cuda else _CPUDropout.apply(x, self.p)
