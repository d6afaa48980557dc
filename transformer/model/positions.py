"""Positional encodings: sinusoids (section 3.5), learned positions (Table 3, row E), and later ones.

Shapes are named as in attention.py; R rows, L subwords of a row.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model import kernels
from transformer.model.config import BUCKETS, ModelConfig

FARTHEST = 128  # `t5` treats this distance and all longer ones alike


def sinusoids(length: int, d_model: int) -> Tensor:
    """The table [length, d_model] of PE(pos, 2i) = sin(pos / 10000^(2i/d_model)) and PE(pos, 2i+1) = cos(the same).

    This is the paper's formula; the authors' code puts all sines before all cosines and divides by d_model/2 - 1.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    frequency = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    table = torch.zeros(length, d_model, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table.float()


class PositionalEncoding(nn.Module):
    """How positions enter a stack of layers.

    There are three ways, and each encoding overrides one of them: it adds to the embeddings, adds to the scores of
    self-attention, or rotates the queries and keys of self-attention.
    """

    def prepare(self, length: int) -> None:
        """Compute what positions below `length` need."""

    def encoding(self, position_RL: Tensor) -> Tensor | None:
        """What is added to the embeddings, [R, L, D]."""

    def position_bias(self, queries_RT: Tensor, keys_RS: Tensor) -> Tensor | None:
        """What is added to the scores, [R, H, T, S], given the positions of queries and keys."""

    def rotation(self, position_RL: Tensor) -> Tensor | None:
        """The angles by which queries and keys are rotated, [R, 1, L, K]: sines and cosines, interleaved."""


class NoPositions(PositionalEncoding):
    """No encoding: only the decoder's mask distinguishes positions (Haviv et al. 2022)."""


class SinusoidalPositions(PositionalEncoding):
    """Sinusoids in a table, which grows when a longer sentence comes."""

    def __init__(self, width: int, length: int):
        super().__init__()
        self.register_buffer("table", sinusoids(length, width), persistent=False)
        self.table: Tensor

    def prepare(self, length: int) -> None:
        """Let the table grow to `length`. PyTorch compiles a model again when its table grows."""
        if length > len(self.table):
            self.table = sinusoids(max(length, 2 * len(self.table)), self.table.size(1)).to(self.table)

    def encoding(self, position_RL: Tensor) -> Tensor:
        """Encodings [R, L, width]. For positions of L and above, call `prepare` first."""
        self.prepare(position_RL.size(1))
        return F.embedding(position_RL, self.table)


class LearnedPositions(PositionalEncoding):
    """One learned vector for each position (row E), initialised and scaled like the word embeddings."""

    def __init__(self, width: int, length: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(length, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def encoding(self, position_RL: Tensor) -> Tensor:
        """Encodings [R, L, width]. Padding beyond the last learned position is encoded like it."""
        vectors = kernels.embedding(position_RL.clamp(max=len(self.table) - 1), self.table)
        return vectors * self.table.size(1) ** 0.5


class T5Positions(PositionalEncoding):
    """A learned bias for each bucket of distances and each head, shared by all layers of a stack (Raffel et al. 2020).

    Half of the buckets hold one distance each; the others hold ranges that widen up to FARTHEST. In an encoder, half of
    all buckets are for keys before the query and half for keys after it. T5 leaves out 1/sqrt(d_k); we keep it.
    """

    def __init__(self, d_model: int, h: int, causal: bool):
        super().__init__()
        self.causal = causal
        single = (BUCKETS if causal else BUCKETS // 2) // 2
        wide = (math.ceil(single * (FARTHEST / single) ** (i / single)) for i in range(single))
        self.register_buffer("starts", torch.tensor([*range(1, single), *wide]), persistent=False)
        self.starts: Tensor  # the smallest distance of each bucket after the first
        self.table = nn.Parameter(torch.empty(BUCKETS, h))
        nn.init.normal_(self.table, std=d_model**-0.5)

    def bucket(self, behind: Tensor) -> Tensor:
        """The buckets of keys that are `behind` positions before their queries."""
        if self.causal:
            return torch.bucketize(behind.clamp(min=0), self.starts, right=True)
        return torch.bucketize(behind.abs(), self.starts, right=True) + (behind < 0) * (BUCKETS // 2)

    def position_bias(self, queries_RT: Tensor, keys_RS: Tensor) -> Tensor:
        """The biases, [R, H, T, S]."""
        buckets = self.bucket(distances(queries_RT, keys_RS))
        return kernels.embedding(buckets, self.table).permute(0, 3, 1, 2).contiguous()


class ALiBiPositions(PositionalEncoding):
    """Scores fall linearly with the distance; each head has its own slope (Press et al. 2022).

    The slopes are those of its authors' code, also if the number of heads is not a power of two.
    """

    def __init__(self, h: int):
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(h))[:, None, None], persistent=False)
        self.slopes: Tensor

    def position_bias(self, queries_RT: Tensor, keys_RS: Tensor) -> Tensor:
        """-slope times distance, [R, H, T, S]."""
        return -self.slopes * distances(queries_RT, keys_RS).abs()[:, None]


class RotaryPositions(PositionalEncoding):
    """Each pair of elements of queries and keys is rotated by its own angle (Su et al. 2021, RoFormer)."""

    def __init__(self, d_k: int, length: int):
        super().__init__()
        self.angles = SinusoidalPositions(d_k, length)

    def prepare(self, length: int) -> None:
        """Compute the angles of positions below `length`."""
        self.angles.prepare(length)

    def rotation(self, position_RL: Tensor) -> Tensor:
        """The angles, [R, 1, L, K]: sines and cosines, interleaved."""
        return self.angles.encoding(position_RL)[:, None]


def plus(x: Tensor, more: Tensor | None) -> Tensor:
    """Embeddings, plus what an encoding adds to them, if it adds anything."""
    return x if more is None else x + more


def rotate(x: Tensor, rotation: Tensor | None) -> Tensor:
    """Rotate each pair (x0, x1) of queries or keys [..., K] by its angle. Without `rotation`, return them unchanged."""
    if rotation is None:
        return x
    (first, second), (sine, cosine) = (each.unflatten(-1, (-1, 2)).unbind(-1) for each in (x, rotation))
    return torch.stack((first * cosine - second * sine, first * sine + second * cosine), -1).flatten(-2).type_as(x)


def distances(queries_RT: Tensor, keys_RS: Tensor) -> Tensor:
    """How many positions each key is before each query: [R, T, S]."""
    return queries_RT[:, :, None] - keys_RS[:, None, :]


def slopes(h: int) -> list[float]:
    """ALiBi's slopes: 2^(-8/h), 2^(-16/h), ... 2^-8 if h is a power of two.

    Otherwise they are the slopes of the next lower power of two, then every second slope of the next higher one.
    """
    below = 1 << h.bit_length() - 1
    every = [2 ** (-8 * i / below) for i in range(1, below + 1)]
    return every + [2 ** (-4 * i / below) for i in range(1, 2 * (h - below), 2)]


def positions(config: ModelConfig, causal: bool) -> PositionalEncoding:
    """The positional encoding that a model's config names, for one stack."""
    match config.positions:
        case "none":
            return NoPositions()
        case "sinusoidal":
            return SinusoidalPositions(config.d_model, config.max_length)
        case "learned":
            return LearnedPositions(config.d_model, config.max_length)
        case "t5":
            return T5Positions(config.d_model, config.h, causal)
        case "alibi":
            return ALiBiPositions(config.h)
        case "rotary":
            return RotaryPositions(config.d_k, config.max_length)
