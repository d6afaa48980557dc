"""Encoder and decoder layers (sections 3.1 and 3.3): post-norm, LayerNorm(x + Dropout(Sublayer(x))).

Shapes are named as in attention.py. Two things follow the authors' code: LayerNorm's epsilon is 1e-6, and there is no
further LayerNorm after the last layer.
"""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model import kernels
from transformer.model.attention import AttentionOverParameters, EncoderDecoderAttention, SelfAttention, xavier_linear
from transformer.model.cache import KeysValues, LayerCache
from transformer.model.config import ModelConfig
from transformer.model.masks import Mask


class Dropout(nn.Dropout):
    """Dropout (section 5.4)."""

    def forward(self, x: Tensor) -> Tensor:
        """[...] to [...]. Outside training it returns the input."""
        if kernels.on_cpu(x) and self.training and self.p:
            return kernels.dropout(x, self.p)
        return super().forward(x)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2 (equation 2)."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.inner = xavier_linear(d_model, d_ff)
        self.outer = xavier_linear(d_ff, d_model)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D], each position by itself."""
        if kernels.on_gpu(x_BTD) and kernels.has(self.inner, nn.Linear):  # decoding may have replaced it
            return self.outer(kernels.linear_relu(self.inner, x_BTD))
        return self.outer(F.relu(self.inner(x_BTD)))


def position_wise(config: ModelConfig) -> nn.Module:
    """The sub-layer that acts on each position by itself: feed-forward, or attention over parameters."""
    parameters = config.attention_over_parameters
    if parameters is None:
        return FeedForward(config.d_model, config.d_ff)
    return AttentionOverParameters(config.d_model, parameters.h_p, parameters.d_pk, parameters.d_pv, parameters.n_p)


class Residual(nn.Module):
    """LayerNorm(x + Dropout(y)) (sections 3.1 and 5.4), where y is the output of a sub-layer.

    The result has the type of y. In bfloat16 it takes half the memory, and the next layer need not convert it. A layer
    calls `around`. A subclass overrides it to choose what the sub-layer reads; `norm` may be any module.
    """

    def __init__(self, d_model: int, dropout: float):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, eps=1e-6)
        self.dropout = dropout

    def around(self, x: Tensor, sub_layer: Callable[[Tensor], Tensor]) -> Tensor:
        """[..., D] to [..., D], where a sub-layer maps [..., D] to [..., D]."""
        return self(x, sub_layer(x))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """[..., D] and [..., D] to [..., D]."""
        x, dropout = x.type_as(y), self.dropout if self.training else 0.0
        if kernels.on_cpu(x) and kernels.has(self.norm, nn.LayerNorm):
            return kernels.residual(self.norm, x, y, dropout)
        return self.norm(x + F.dropout(y, dropout)).type_as(x)


class EncoderLayer(nn.Module):
    """Self-attention and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.position_wise = position_wise(config)
        self.residuals: Any = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(2))

    def forward(self, x_BSD: Tensor, mask: Mask, rotation: Tensor | None = None) -> Tensor:
        """[B, S, D] to [B, S, D]. `rotation` is that of SelfAttention."""
        x_BSD = self.residuals[0].around(x_BSD, lambda x: self.self_attention(x, mask, rotation))
        return self.residuals[1].around(x_BSD, self.position_wise)


class DecoderLayer(nn.Module):
    """Masked self-attention, attention over the encoder's output, and a position-wise sub-layer."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.encoder_attention = EncoderDecoderAttention(config)
        self.position_wise = position_wise(config)
        self.residuals: Any = nn.ModuleList(Residual(config.d_model, config.P_drop) for _ in range(3))

    def forward(
        self,
        x_BTD: Tensor,
        causal: Mask,
        memory: KeysValues,
        source_mask: Mask,
        rotation: Tensor | None = None,
        cache: LayerCache | None = None,
    ) -> Tensor:
        """[B, T, D] to [B, T, D].

        `causal` lets each position read itself and the positions before it in its sentence; `source_mask` lets it read
        the source, whose keys and values are `memory`. `rotation` and `cache` are those of SelfAttention.
        """
        x_BTD = self.residuals[0].around(x_BTD, lambda x: self.self_attention(x, causal, rotation, cache))
        x_BTD = self.residuals[1].around(x_BTD, lambda x: self.encoder_attention(x, memory, source_mask))
        return self.residuals[2].around(x_BTD, self.position_wise)
