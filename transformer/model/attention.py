"""Attention (section 3.2) and attention over parameters (appendix).

Shapes: B sentences, T queries, S keys, D d_model, H heads, K d_k, E d_v (of heads that are split or joined, any width).
A query is a subword or, in decoding, the newest subword of a hypothesis.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model import kernels
from transformer.model.cache import KeysValues, LayerCache
from transformer.model.config import ModelConfig
from transformer.model.masks import Mask
from transformer.model.positions import rotate


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """softmax(scale Q K^T + bias), the weights of equation 1: [B, H, T, S], in float32. `bias` is that of a Mask."""
    scores = ((q_BHTK * scale) @ k_BHSK.transpose(-1, -2)).float()
    return (scores if bias is None else scores + bias).softmax(-1)


def attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSE: Tensor, bias: Tensor | None, scale: float, dropout: float = 0.0
) -> Tensor:
    """softmax(scale Q K^T + bias) V: [B, H, T, E]. In equation 1, `scale` is 1 / sqrt(d_k); without scaling, 1."""
    if kernels.on_gpu(q_BHTK):
        return kernels.gpu_attention(q_BHTK, k_BHSK, v_BHSE, bias, scale, dropout)
    if kernels.on_cpu(q_BHTK) and bias is not None and not dropout:
        return kernels.cpu_attention(q_BHTK, k_BHSK, v_BHSE, bias, scale)
    weights = F.dropout(attention_weights(q_BHTK, k_BHSK, bias, scale), dropout)
    return weights.to(v_BHSE.dtype) @ v_BHSE


class DotProductAttention(nn.Module):
    """Dot-product attention (section 3.2.1); unscaled if `scale` is 1."""

    def __init__(self, scale: float, dropout: float = 0.0):
        super().__init__()
        self.scale, self.dropout = scale, dropout

    def weights(self, q_BHTK: Tensor, keys_values: KeysValues, mask: Mask) -> Tensor:
        """[B, H, T, S], without dropout."""
        return attention_weights(q_BHTK, keys_values.keys, mask.bias, self.scale)

    def forward(self, q_BHTK: Tensor, keys_values: KeysValues, mask: Mask) -> Tensor:
        """[B, H, T, E]."""
        return attention(q_BHTK, *keys_values, mask.bias, self.scale, self.dropout if self.training else 0.0)


def additive_scores(q_BHTK: Tensor, k_BHSK: Tensor, vector_HK: Tensor, shown_BTS: Tensor) -> Tensor:
    """v^T tanh(q + k): [B, H, T, S], in float32. Where `shown` is false, a score can have any value."""
    if kernels.ON:
        return kernels.additive_scores(q_BHTK, k_BHSK, vector_HK, shown_BTS)
    return (torch.tanh(q_BHTK[:, :, :, None] + k_BHSK[:, :, None]) @ vector_HK[:, None, :, None]).squeeze(-1).float()


class AdditiveAttention(nn.Module):
    """softmax(v^T tanh(q + k)) V, where each head has its own vector v (Bahdanau et al. 2015; section 3.2.1).

    The projections of queries and keys serve as the two matrices of Bahdanau's equation.
    """

    def __init__(self, h: int, d_k: int, dropout: float = 0.0):
        super().__init__()
        self.dropout = dropout
        self.vector = nn.Parameter(torch.empty(h, d_k))
        limit = (6 / (d_k + 1)) ** 0.5  # Glorot and Bengio's limit for a linear map from d_k to 1
        nn.init.uniform_(self.vector, -limit, limit)

    def weights(self, q_BHTK: Tensor, keys_values: KeysValues, mask: Mask) -> Tensor:
        """[B, H, T, S], in float32, without dropout."""
        return (additive_scores(q_BHTK, keys_values.keys, self.vector, mask.shown) + mask.bias).softmax(-1)

    def forward(self, q_BHTK: Tensor, keys_values: KeysValues, mask: Mask) -> Tensor:
        """[B, H, T, E]."""
        weights = F.dropout(self.weights(q_BHTK, keys_values, mask), self.dropout, self.training)
        return weights.to(keys_values.values.dtype) @ keys_values.values


def attention_function(config: ModelConfig) -> DotProductAttention | AdditiveAttention:
    """The attention function that a config names (section 3.2)."""
    match config.attention:
        case "scaled":
            return DotProductAttention(config.d_k**-0.5, config.attention_dropout)
        case "unscaled":
            return DotProductAttention(1.0, config.attention_dropout)
        case "additive":
            return AdditiveAttention(config.h, config.d_k, config.attention_dropout)


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear map with Glorot-uniform weights and zero biases. The authors' code has biases."""
    linear = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def split_heads(x_BTE: Tensor, h: int) -> Tensor:
    """[B, T, H * E] to [B, H, T, E]."""
    return x_BTE.unflatten(-1, (h, -1)).transpose(-2, -3)


def join_heads(x_BHTE: Tensor) -> Tensor:
    """[B, H, T, E] to [B, T, H * E]."""
    return x_BHTE.transpose(-2, -3).flatten(-2)


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_h) W^O (section 3.2.2). Subclasses project to queries, keys and values of the heads.

    Any module may replace `attend`: it maps queries, keys and values, and a mask to what the heads read. Its method
    `weights` takes the same and returns what figures 3 to 5 show.
    """

    output: nn.Linear  # W^O

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.h, self.keys_width, self.values_width = config.h, config.h * config.d_k, config.h * config.d_v
        self.attend = attention_function(config)

    def multi_head(self, q_BHTK: Tensor, keys_values: KeysValues, mask: Mask) -> Tensor:
        """[B, H, T, K] to [B, T, D]."""
        return self.output(join_heads(self.attend(q_BHTK, keys_values, mask)))


class SelfAttention(MultiHeadAttention):
    """Multi-head attention of a sequence over itself.

    One matrix projects to Q, K and V. So its initial weights have the Glorot limit of a map from D to 3D, as in the
    authors' code.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.sizes = self.keys_width, self.keys_width, self.values_width
        self.query_key_value = xavier_linear(config.d_model, sum(self.sizes))
        self.output = xavier_linear(self.values_width, config.d_model)

    def heads(self, x_BTD: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The queries [B, H, T, K], keys and values of all heads, before positions rotate queries and keys.

        A subclass may return fewer heads of keys and values, which the cache then holds, and expand them in
        `multi_head`.
        """
        q, k, v = (split_heads(part, self.h) for part in self.query_key_value(x_BTD).split(self.sizes, -1))
        return q, k, v

    def forward(
        self, x_BTD: Tensor, mask: Mask, rotation: Tensor | None = None, cache: LayerCache | None = None
    ) -> Tensor:
        """[B, T, D] to [B, T, D]. `rotation` has the angles of queries and keys, from the positional encoding.

        With a `cache`, x holds the newest subword of each hypothesis, which also reads the subwords before it.
        """
        q, k, v = self.heads(x_BTD)
        q, k = rotate(q, rotation), rotate(k, rotation)
        return self.multi_head(q, KeysValues(k, v) if cache is None else cache.add(k, v), mask)


class EncoderDecoderAttention(MultiHeadAttention):
    """Multi-head attention of the decoder over the encoder's output (section 3.2.3)."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.sizes = self.keys_width, self.values_width
        self.query = xavier_linear(config.d_model, self.keys_width)
        self.key_value = xavier_linear(config.d_model, sum(self.sizes))
        self.output = xavier_linear(self.values_width, config.d_model)

    def queries(self, x_BTD: Tensor) -> Tensor:
        """The queries of all heads, [B, H, T, K]."""
        return split_heads(self.query(x_BTD), self.h)

    def keys_values(self, encoded_BSD: Tensor) -> KeysValues:
        """The keys and values of the encoder's output. They are computed once for each sentence."""
        return KeysValues(*(split_heads(part, self.h) for part in self.key_value(encoded_BSD).split(self.sizes, -1)))

    def forward(self, x_BTD: Tensor, memory: KeysValues, mask: Mask) -> Tensor:
        """[B, T, D] to [B, T, D]."""
        return self.multi_head(self.queries(x_BTD), memory, mask)


class AttentionOverParameters(nn.Module):
    """Attention whose keys and values are parameters; it replaces the feed-forward layer (appendix).

    The paper multiplies keys and values by sqrt(d_model), and divides the scores by sqrt(d_pk) as in all its attention.
    The authors' code multiplies the keys by sqrt(h_p) instead and divides no scores. Both give the same scores if
    h_p d_pk = d_model, as in AOP1. We follow the code.
    """

    def __init__(self, d_model: int, h_p: int, d_pk: int, d_pv: int, n_p: int):
        super().__init__()
        self.h_p, self.scale = h_p, d_model**0.5
        self.query = xavier_linear(d_model, h_p * d_pk)
        self.memory_keys = nn.Parameter(torch.empty(h_p, n_p, d_pk))
        self.memory_values = nn.Parameter(torch.empty(h_p, n_p, d_pv))
        self.output = xavier_linear(h_p * d_pv, d_model)
        nn.init.normal_(self.memory_keys, std=d_model**-0.5)
        nn.init.normal_(self.memory_values, std=d_model**-0.5)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """[B, T, D] to [B, T, D], each position by itself."""
        # Fused attention needs four dimensions: G groups of M positions.
        groups = kernels.groups(x_BTD)
        q_GHMK = split_heads(self.query(x_BTD.reshape(groups, -1, x_BTD.size(-1))), self.h_p)
        keys, values = (each.expand(groups, -1, -1, -1) for each in (self.memory_keys, self.memory_values * self.scale))
        y_GHME = attention(q_GHMK, keys, values, None, self.h_p**0.5)
        return self.output(join_heads(y_GHME)).view_as(x_BTD)
