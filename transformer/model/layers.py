"""Encoder and decoder layers (sections 3.1 and 3.3): post-norm, LayerNorm(x + Dropout(Sublayer(x))).

Shapes are named as in attention.py. Two things follow the authors' code: LayerNorm's epsilon is 1e-6, and there is no
further LayerNorm after the last layer.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import (
    AttentionOverParameters,
    EncoderDecoderAttention,
    KeysValues,
    SelfAttention,
    xavier_linear,
)
from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout, kept


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


def attention_settings(config: ModelConfig) -> tuple[int, int, int, int, str, float]:
    """The arguments of SelfAttention and EncoderDecoderAttention."""
    return config.d_model, config.h, config.d_k, config.d_v, config.attention, config.attention_dropout


class _CPUResidual(torch.autograd.Function):
    """`Residual` as one operation, which keeps only what its gradient needs."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float) -> Tensor:
        ctx.scale = 1 / (1 - p)
        mask = kept(y, p) if p else None
        total = x + y if mask is None else torch.addcmul(x, mask, y, value=ctx.scale)
        output, mean, rstd = torch.native_layer_norm(total, weight.shape, weight, bias, eps)
        ctx.save_for_backward(total, mask, mean, rstd, weight, bias)
        return output

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        total, mask, mean, rstd, weight, bias = ctx.saved_tensors
        of_x, of_weight, of_bias = torch.ops.aten.native_layer_norm_backward(
            grad[0], total, weight.shape, mean, rstd, weight, bias, [True, True, True]
        )
        of_y = of_x if mask is None else (of_x * mask).mul_(ctx.scale)
        return of_x, of_y, of_weight, of_bias, None, None


class Residual(nn.Module):
    """LayerNorm(x + Dropout(y)), where y is the output of a sub-layer.

    The result has the type of y. In bfloat16 it takes half the memory, and the next layer need not convert it.
    """

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """[..., D] and [..., D] to [..., D]."""
        x = x.type_as(y)
        if x.is_cuda:
            return self.norm(x + self.dropout(y)).type_as(y)
        p = self.dropout.p if self.training else 0.0
        return _CPUResidual.apply(x, y, self.norm.weight, self.norm.bias, self.norm.eps, p)


class EncoderLayer(nn.Module):
    """Self-attention and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(*attention_settings(config))
        self.position_wise = position_wise(config)
        self.residuals = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(2))

    def forward(self, x_BSD: Tensor, bias: Tensor, turns: Tensor | None = None) -> Tensor:
        """[B, S, D] to [B, S, D]. `bias` and `turns` are those of SelfAttention."""
        x_BSD = self.residuals[0](x_BSD, self.self_attention(x_BSD, bias, turns))
        return self.residuals[1](x_BSD, self.position_wise(x_BSD))


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(*attention_settings(config))
        self.encoder_attention = EncoderDecoderAttention(*attention_settings(config))
        self.position_wise = position_wise(config)
        self.residuals = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(3))

    def forward(
        self, x_BTD: Tensor, causal: Tensor, memory: KeysValues, bias: Tensor, turns: Tensor | None = None
    ) -> Tensor:
        """All target positions: [B, T, D] to [B, T, D].

        `causal` lets each position read itself and the positions before it in its sentence. `bias` lets it read the
        source.
        """
        x_BTD = self.residuals[0](x_BTD, self.self_attention(x_BTD, causal, turns))
        x_BTD = self.residuals[1](x_BTD, self.encoder_attention(x_BTD, memory, bias))
        return self.residuals[2](x_BTD, self.position_wise(x_BTD))

    def step(
        self,
        x_BWD: Tensor,
        memory: KeysValues,
        bias: Tensor,
        cache: KeysValues,
        place: int,
        own: Tensor,
        turns: Tensor | None = None,
    ) -> Tensor:
        """One target position for each of W hypotheses: [B, W, D] to [B, W, D].

        Keys and values are written to the cache from `place` on. `own` [B, 1 or H, W, places] lets each hypothesis read
        only its own places in the cache. `bias` hides the padding of the source.
        """
        x_BWD = self.residuals[0](x_BWD, self.self_attention.step(x_BWD, cache, place, own, turns))
        x_BWD = self.residuals[1](x_BWD, self.encoder_attention.step(x_BWD, memory, bias))
        return self.residuals[2](x_BWD, self.position_wise(x_BWD))
