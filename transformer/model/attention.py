"""Multi-head attention (section 3.2) and attention over parameters (appendix).

Shapes: B sentences, W hypotheses of each, T queries, S keys, D d_model, H heads, K d_k, V d_v, E any width.
All projections have biases, as in the authors' code.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.ids import END, PADDING
from transformer.model.positions import turned
from transformer.model.restricted import block_size, in_blocks, shown_in_blocks

AT_ONCE = 1 << 19  # how many numbers additive attention computes at a time; more do not fit into a cache
HIDDEN = -1e9  # added to the score of a key that must not be read; the exponential of the sum is 0


class KeysValues(NamedTuple):
    """What attention reads: keys [B, H, S, K] and values [B, H, S, V]."""

    keys: Tensor
    values: Tensor


def split_heads(x_BTE: Tensor, h: int) -> Tensor:
    """[B, T, H * E] to [B, H, T, E]."""
    return x_BTE.unflatten(-1, (h, -1)).transpose(-2, -3)


def join_heads(x_BHTE: Tensor) -> Tensor:
    """[B, H, T, E] to [B, T, H * E]."""
    return x_BHTE.transpose(-2, -3).flatten(-2)


def attention_weights(q_BHTK: Tensor, k_BHSK: Tensor, bias: Tensor | None, scale: float) -> Tensor:
    """softmax(Q K^T scale + bias) of equation 1, [B, H, T, S], in float32.

    For fewer than 16 keys this function computes the softmax itself: PyTorch's takes four times as long on a CPU.
    """
    scores = ((q_BHTK * scale) @ k_BHSK.transpose(-1, -2)).float()
    if bias is not None:
        scores = scores + bias
    if scores.size(-1) >= 16:
        return scores.softmax(-1)
    exponentials = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    return exponentials / exponentials.sum(-1, keepdim=True)


def attention(
    q_BHTK: Tensor,
    k_BHSK: Tensor,
    v_BHSV: Tensor,
    bias: Tensor | None = None,
    scale: float | None = None,
    dropout: float = 0.0,
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)) V (equation 1), [B, H, T, V], with dropout of the weights.

    `bias` is added to the scores. It is HIDDEN where a query may not read a key; elsewhere it is 0 or what the
    positional encoding adds. On a GPU, PyTorch's fused attention computes the equation. On a CPU, this module
    computes it, because PyTorch's fused attention is slow there on short sentences.
    """
    scale = q_BHTK.size(-1) ** -0.5 if scale is None else scale
    if q_BHTK.is_cuda:
        bias = None if bias is None else bias.to(q_BHTK.dtype)
        return F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSV, attn_mask=bias, dropout_p=dropout, scale=scale)
    if bias is not None and q_BHTK.requires_grad and not dropout:
        return _CPUAttention.apply(q_BHTK, k_BHSK, v_BHSV, bias, scale)
    weights = F.dropout(attention_weights(q_BHTK, k_BHSK, bias, scale), dropout)
    return weights.to(v_BHSV.dtype) @ v_BHSV


class _CPUAttention(torch.autograd.Function):
    """`attention` and its gradient, with fewer passes over the attention weights than autograd makes."""

    @staticmethod
    def forward(ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, bias: Tensor, scale: float) -> Tensor:
        q, k, v = (q_BHTK * scale).flatten(0, 1), k_BHSK.flatten(0, 1), v_BHSV.flatten(0, 1)
        scores = torch.bmm(q, k.transpose(1, 2)).unflatten(0, q_BHTK.shape[:2]) + bias
        weights = torch.softmax(scores, -1, out=scores).flatten(0, 1).to(v.dtype)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale, ctx.heads, ctx.bias = scale, q_BHTK.shape[:2], bias.shape
        return torch.bmm(weights, v).unflatten(0, ctx.heads)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        of_y = grad[0].flatten(0, 1)
        of_weights = torch.bmm(of_y, v.transpose(1, 2))
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_q = torch.bmm(of_scores, k).mul_(ctx.scale)
        of_k, of_v = torch.bmm(of_scores.transpose(1, 2), q), torch.bmm(weights.transpose(1, 2), of_y)
        of_bias = of_scores.unflatten(0, ctx.heads).sum_to_size(ctx.bias) if ctx.needs_input_grad[3] else None
        return *(each.unflatten(0, ctx.heads) for each in (of_q, of_k, of_v)), of_bias, None


class _CPUHeads(torch.autograd.Function):
    """`heads`, with gradients that are copied directly to their place in the gradient of the joint projection."""

    @staticmethod
    def forward(ctx: Any, x_BTE: Tensor, h: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
        ctx.h, ctx.sizes = h, sizes
        return tuple(split_heads(part, h).contiguous() for part in x_BTE.split(sizes, -1))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        b, _, t, _ = grads[0].shape
        joined = grads[0].new_empty(b, t, sum(ctx.sizes))
        for part, gradient in zip(joined.split(ctx.sizes, -1), grads, strict=True):
            split_heads(part, ctx.h).copy_(gradient)
        return joined, None, None


def heads(x_BTE: Tensor, h: int, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    """Split joint projections [B, T, sum of sizes] into the heads [B, H, T, size / H] of each projection."""
    if x_BTE.requires_grad and not x_BTE.is_cuda:
        return _CPUHeads.apply(x_BTE, h, sizes)
    return tuple(split_heads(part, h) for part in x_BTE.split(sizes, -1))


class DotProductAttention(nn.Module):
    """`attention` whose scores are multiplied by `scale`, with dropout of its weights."""

    def __init__(self, scale: float, dropout: float = 0.0):
        super().__init__()
        self.scale, self.dropout = scale, dropout

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, bias: Tensor) -> Tensor:
        """[B, H, T, S]."""
        return attention_weights(q_BHTK, k_BHSK, bias, self.scale)

    def forward(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, bias: Tensor) -> Tensor:
        """[B, H, T, V]."""
        return attention(q_BHTK, k_BHSK, v_BHSV, bias, self.scale, self.dropout if self.training else 0.0)

    def step(self, q_BHWK: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        """`forward` of the W hypotheses of each sentence, [B, H, W, V]. It is fast for few hypotheses."""
        if q_BHWK.is_cuda:
            return self(q_BHWK, *memory, bias)
        scores = torch.add(bias, q_BHWK @ memory.keys.transpose(-1, -2), alpha=self.scale)
        return scores.softmax(-1) @ memory.values


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

    def weights(self, q_BHTK: Tensor, k_BHSK: Tensor, bias: Tensor) -> Tensor:
        """[B, H, T, S], in float32. The bias of all heads hides the same keys.

        Only the scores that the bias does not hide are computed: a packed row has many sentences, so these are few.
        """
        b, h, t, _ = q_BHTK.shape
        s = k_BHSK.size(2)
        shown = bias[:, 0] > HIDDEN / 2
        if shown.all():  # as in a sentence by itself; to pick scores would take three times as long
            keys_BH1SK, vector_H1K1 = k_BHSK.contiguous()[:, :, None], self.vector[:, None, :, None]
            queries = q_BHTK.contiguous()[:, :, :, None].split(max(1, AT_ONCE // k_BHSK.numel()), 2)
            scores = torch.cat([torch.tanh(some + keys_BH1SK) @ vector_H1K1 for some in queries], 2)
            return (scores.squeeze(-1).float() + bias).softmax(-1)
        row, query, key = shown.expand(b, t, s).nonzero(as_tuple=True)
        asked, read = row * t + query, row * s + key
        q, k = (x.transpose(1, 2).reshape(-1, h * x.size(-1)) for x in (q_BHTK, k_BHSK))
        both = q.index_select(0, asked).add_(k.index_select(0, read)).tanh_()
        scores_PH = (both.unflatten(1, (h, -1)).transpose(0, 1) @ self.vector[:, :, None]).squeeze(2).t().float()
        scores = scores_PH.new_zeros(b * t * s, h).index_copy(0, asked * s + key, scores_PH)
        return (scores.view(b, t, s, h).permute(0, 3, 1, 2) + bias).softmax(-1)

    def forward(self, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSV: Tensor, bias: Tensor) -> Tensor:
        """[B, H, T, V]."""
        weights = F.dropout(self.weights(q_BHTK, k_BHSK, bias), self.dropout, self.training)
        return weights.to(v_BHSV.dtype) @ v_BHSV

    def step(self, q_BHWK: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        """`forward` of the W hypotheses of each sentence, [B, H, W, V]."""
        return self(q_BHWK, *memory, bias)


# Each value takes h, d_k and the dropout of the weights, and makes the module.
ATTENTIONS: dict[str, Callable[[int, int, float], DotProductAttention | AdditiveAttention]] = {
    "scaled": lambda _, d_k, dropout: DotProductAttention(d_k**-0.5, dropout),
    "unscaled": lambda _, __, dropout: DotProductAttention(1.0, dropout),
    "additive": AdditiveAttention,
}


def padding_bias(ids_BS: Tensor) -> Tensor:
    """[B, 1, 1, S]: 0 at subwords, HIDDEN at padding."""
    return torch.where(ids_BS == PADDING, HIDDEN, 0.0)[:, None, None]


class Sentences(NamedTuple):
    """For each subword of rows [R, L]: the number of its sentence in the row, and its position in that sentence."""

    number: Tensor
    position: Tensor


def sentences(ids_RL: Tensor) -> Sentences:
    """Find the sentences of rows. Each ends with the id END. The padding after the last counts as one more."""
    ends = (ids_RL == END).long()
    number = ends.cumsum(1) - ends
    return Sentences(number, (number[:, :, None] == number[:, None, :]).tril(-1).sum(-1))


def sentence_bias(queries: Sentences, keys: Sentences, causal: bool = False, radius: int | None = None) -> Tensor:
    """[R, 1, T, S]: 0 where the key's sentence has the same number as the query's, else HIDDEN.

    `causal` also hides later subwords, and `radius` hides subwords that are farther away. HIDDEN is finite, because
    a padding position may have nothing to read, and the softmax of scores that are all -infinity is not a number.
    """
    shown = queries.number[:, :, None] == keys.number[:, None, :]
    if causal:
        shown = shown.tril()
    if radius is not None:
        shown = shown.triu(-radius).tril(radius)
    return torch.where(shown, 0.0, HIDDEN)[:, None]


def own_bias(rows: Sentences, causal: bool = False, radius: int | None = None) -> Tensor:
    """The `sentence_bias` for self-attention. Long rows with a `radius` get a bias for each block (`in_blocks`)."""
    size = block_size(rows.number.size(1), radius)
    if size is None or radius is None:
        return sentence_bias(rows, rows, causal, radius)
    return torch.where(shown_in_blocks(rows.number, size, radius, causal), 0.0, HIDDEN)


def xavier_linear(inputs: int, outputs: int) -> nn.Linear:
    """A linear map with Glorot-uniform weights and zero biases."""
    linear = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


class SelfAttention(nn.Module):
    """Multi-head attention of a sequence over itself.

    One matrix projects to Q, K and V. So its initial weights have the Glorot limit of a map from D to 3D, as in the
    authors' code.
    """

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int, kind: str = "scaled", dropout: float = 0.0):
        super().__init__()
        self.h, self.sizes, self.attend = h, (h * d_k, h * d_k, h * d_v), ATTENTIONS[kind](h, d_k, dropout)
        self.query_key_value = xavier_linear(d_model, sum(self.sizes))
        self.output = xavier_linear(h * d_v, d_model)

    def project(self, x_BTD: Tensor, turns: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries and keys [B, H, T, K], `turned` by `turns`, and values [B, H, T, V]."""
        q, k, v = heads(self.query_key_value(x_BTD), self.h, self.sizes)
        return turned(q, turns), turned(k, turns), v

    def forward(self, x_BTD: Tensor, bias: Tensor, turns: Tensor | None = None) -> Tensor:
        """Attend to the positions that `bias` allows: [B, T, D] to [B, T, D].

        `own_bias` makes `bias`, for whole rows or for blocks. The positional encoding makes `turns`.
        """
        q, k, v = self.project(x_BTD, turns)
        y = in_blocks(self.attend, q, k, v, bias) if bias.dim() == 5 else self.attend(q, k, v, bias)
        return self.output(join_heads(y))

    def step(self, x_BWD: Tensor, cache: KeysValues, place: int, bias: Tensor, turns: Tensor | None = None) -> Tensor:
        """Attend with one new token of each of W hypotheses: [B, W, D] to [B, W, D].

        The new keys and values are written to the cache from `place` on. The cache holds keys [B, H, places, K] and
        values [B, H, places, V] of all hypotheses. `bias` [B, 1 or H, W, places] lets each hypothesis read only its
        own places. `turns` belong to the position of the new tokens.
        """
        q, k, v = (split_heads(part, self.h) for part in self.query_key_value(x_BWD).split(self.sizes, -1))
        cache.keys.narrow(2, place, k.size(2)).copy_(turned(k, turns))
        cache.values.narrow(2, place, v.size(2)).copy_(v)
        return self.output(join_heads(self.attend.step(turned(q, turns), cache, bias)))


class EncoderDecoderAttention(nn.Module):
    """Multi-head attention of the decoder over the encoder's output."""

    def __init__(self, d_model: int, h: int, d_k: int, d_v: int, kind: str = "scaled", dropout: float = 0.0):
        super().__init__()
        self.h, self.sizes, self.attend = h, (h * d_k, h * d_v), ATTENTIONS[kind](h, d_k, dropout)
        self.query = xavier_linear(d_model, h * d_k)
        self.key_value = xavier_linear(d_model, sum(self.sizes))
        self.output = xavier_linear(h * d_v, d_model)

    def keys_values(self, memory_BSD: Tensor) -> KeysValues:
        """The keys and values of the encoder's output. They are computed once for each sentence."""
        return KeysValues(*heads(self.key_value(memory_BSD), self.h, self.sizes))

    def forward(self, x_BTD: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        """Attend to the source positions that `bias` [B, 1, 1, S] allows: [B, T, D] to [B, T, D]."""
        q = split_heads(self.query(x_BTD), self.h)
        return self.output(join_heads(self.attend(q, *memory, bias)))

    def step(self, x_BWD: Tensor, memory: KeysValues, bias: Tensor) -> Tensor:
        """`forward` for one target position of W hypotheses of each sentence: [B, W, D] to [B, W, D]."""
        return self.output(join_heads(self.attend.step(split_heads(self.query(x_BWD), self.h), memory, bias)))


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
        # Fused attention needs four dimensions; N counts the positions of all sentences.
        q_1HNK = split_heads(self.query(x_BTD.flatten(0, -2)), self.h_p).unsqueeze(0)
        values = (self.memory_values * self.scale).unsqueeze(0)
        y_1HNV = attention(q_1HNK, self.memory_keys.unsqueeze(0), values, scale=self.h_p**0.5)
        return self.output(join_heads(y_1HNV)).view_as(x_BTD)
