"""Encoder and decoder layers (sections 3.1 and 3.3): post-norm, LayerNorm(x + Dropout(Sublayer(x))).

Shapes as in attention.py. As in the authors' code, dropout acts on the sub-layers' outputs only, LayerNorm's epsilon
is 1e-6 and no LayerNorm follows the last layer.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.model.attention import (
    AttentionOverParameters,
    EncoderDecoderAttention,
    KeysValues,
    SelfAttention,
    xavier_linear,
)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 (equation 2)."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.inner = xavier_linear(d_model, d_ff)
        self.outer = xavier_linear(d_ff, d_model)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D], each position by itself."""
        return self.outer(F.relu(self.inner(x_BTD)))


def position_wise(config: ModelConfig) -> nn.Module:
    """The sub-layer that acts on each position by itself: feed-forward, or attention over parameters."""
    parameters = config.attention_over_parameters
    if parameters is None:
        return FeedForward(config.d_model, config.d_ff)
    return AttentionOverParameters(config.d_model, parameters.h_p, parameters.d_pk, parameters.d_pv, parameters.n_p)


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


class Residual(nn.Module):
    """LayerNorm(x + Dropout(y)), y a sub-layer's output."""

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Both [..., D]."""
        return self.norm(x + self.dropout(y))


class EncoderLayer(nn.Module):
    """Self-attention and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(config.d_model, config.h, config.d_k, config.d_v)
        self.position_wise = position_wise(config)
        self.residuals = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(2))

    def forward(self, x_BSD: Tensor, bias: Tensor) -> Tensor:
        """[B, S, D] to [B, S, D]; `bias` [B, 1, 1, S] hides padding."""
        x_BSD = self.residuals[0](x_BSD, self.self_attention(x_BSD, bias))
        return self.residuals[1](x_BSD, self.position_wise(x_BSD))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(config.d_model, config.h, config.d_k, config.d_v)
        self.encoder_attention = EncoderDecoderAttention(config.d_model, config.h, config.d_k, config.d_v)
        self.position_wise = position_wise(config)
        self.residuals = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(3))

    def forward(self, x_BTD: Tensor, causal: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        """All target positions, [B, T, D] to [B, T, D]; `causal` [T, T] hides later ones, `bias` the padding."""
        return self._after_self_attention(x_BTD, self.self_attention(x_BTD, causal), memory, bias)

    def step(self, x_BWD: Tensor, memory: KeysValues, bias: Tensor, cache: KeysValues, *own: Any) -> Tensor:
        """One target position for each of W hypotheses: [B, W, D] to [B, W, D]; writes to the cache.

        `own` is place and bias of `SelfAttention.step`. The hypotheses of a sentence are the queries of one attention
        over its source.
        """
        return self._after_self_attention(x_BWD, self.self_attention.step(x_BWD, cache, *own), memory, bias)

    def _after_self_attention(self, x: Tensor, y: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        x = self.residuals[0](x, y)
        x = self.residuals[1](x, self.encoder_attention(x, memory, bias))
        return self.residuals[2](x, self.position_wise(x))
