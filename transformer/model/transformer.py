"""The Transformer (figure 1): encoder and decoder stacks (section 3.1).

A plain batch has one sentence in each row, and padding after it:

    >>> from transformer.model.config import ModelConfig
    >>> from transformer.model.ids import END, PADDING
    >>> sizes = {"N": 2, "d_model": 16, "d_ff": 32, "h": 2, "d_k": 8, "d_v": 8}
    >>> config = ModelConfig(**sizes, P_drop=0.0, positions="sinusoidal", max_length=20)
    >>> model = Transformer(config, vocabulary=10)
    >>> source = Rows.of(torch.tensor([[5, 6, 7, END], [8, END, PADDING, PADDING]]))
    >>> target = Rows.of(torch.tensor([[3, 4, END], [9, END, PADDING]]))
    >>> logits = model.logits(model(source, target))
    >>> logits.shape
    torch.Size([2, 3, 10])

Training packs several sentences into a row. `Rows.of` finds them, none reads another, and the output stays the same:

    >>> source, target = (Rows.of(torch.tensor([row])) for row in ([5, 6, 7, END, 8, END], [3, 4, END, 9, END]))
    >>> packed = model.logits(model(source, target))
    >>> torch.allclose(packed[0], torch.cat([logits[0], logits[1, :2]]), atol=1e-5)
    True

Shapes are named as in attention.py; V subwords of the vocabulary; R rows, which hold one sentence or several; W
hypotheses of a sentence in decoding.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import AdditiveAttention
from transformer.model.cache import ROW, Cache, KeysValues, LayerCache
from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.kernels import encoder_batches
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.masks import Mask, Rows
from transformer.model.network import Network
from transformer.model.positions import plus, positions


class Transformer(Network):
    """Encoder and decoder, with embeddings and softmax.

    An idea may replace any module in it. `encoder_end` and `decoder_end` change nothing: they stand after the last
    layer of a stack, where pre-norm has its last LayerNorm.
    """

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        self.host_syncs = config.attention == "additive"
        self.source_positions = positions(config, causal=False)
        self.target_positions = positions(config, causal=True)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.N))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.N))
        self.encoder_end, self.decoder_end = nn.Identity(), nn.Identity()

    def prepare(self, length: int) -> None:
        """Compute what positions need for rows of `length`, so that a compiled model need not be compiled again."""
        self.source_positions.prepare(length)
        self.target_positions.prepare(length)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile all but additive attention, whose number of scores differs from batch to batch."""
        for module in self.modules():
            if isinstance(module, AdditiveAttention):
                module.weights = torch.compiler.disable(module.weights)  # type: ignore[method-assign]
        super().compile(*args, **kwargs)

    def forward(self, source: Rows, target: Rows) -> Tensor:
        """The decoder's output [R, T, D]. Its input is each target sentence, shifted right by a zero vector."""
        memory = self.memory(self.encode(source))
        position_bias = self.target_positions.position_bias(target.position, target.position)
        causal = Mask.of(target, target, causal=True, position_bias=position_bias)
        return self.decode(self.shift_right(target), target.position, causal, memory, Mask.of(target, source))

    def encode(self, source: Rows) -> Tensor:
        """The encoder's output [R, S, D]."""
        positions, position = self.source_positions, source.position
        mask = Mask.of(source, source, position_bias=positions.position_bias(position, position))
        rotation = positions.rotation(position)
        x = self.dropout(plus(self.embed(source.ids), positions.encoding(position)))
        for layer in self.encoder:
            x = layer(x, mask, rotation)
        return self.encoder_end(x)

    def memory(self, encoded_RSD: Tensor) -> list[KeysValues]:
        """The keys and values that each decoder layer computes from the encoder's output."""
        layers = cast(Iterable[DecoderLayer], self.decoder)
        return [layer.encoder_attention.keys_values(encoded_RSD) for layer in layers]

    def decode(
        self,
        y_RTD: Tensor,
        position_RT: Tensor,
        causal: Mask,
        memory: Sequence[KeysValues],
        source_mask: Mask,
        caches: Sequence[LayerCache | None] | None = None,
    ) -> Tensor:
        """The decoder's output [R, T, D] for its embedded input. The other arguments are those of DecoderLayer.

        With the `caches` of the layers, T counts hypotheses, y holds the newest subword of each, and the position is
        [1, 1].
        """
        y = self.dropout(plus(y_RTD, self.target_positions.encoding(position_RT)))
        rotation = self.target_positions.rotation(position_RT)
        for layer, keys_values, cache in zip(self.decoder, memory, caches or [None] * len(memory), strict=True):
            y = layer(y, causal, keys_values, source_mask, rotation, cache)
        return self.decoder_end(y)

    def begin(self, source_BS: Tensor) -> "TransformerHypotheses":
        """See Network."""
        return TransformerHypotheses(self, source_BS)


class TransformerHypotheses:
    """The hypotheses of a search: keys and values of the source, and a cache of those of the target."""

    def __init__(self, model: Transformer, source_BS: Tensor):
        self.model, self.cache = model, Cache(len(model.decoder), len(source_BS), source_BS.device)
        shown_BS = F.pad(source_BS != PADDING, (0, -source_BS.size(1) % ROW))
        self.source_mask = Mask(shown_BS[:, None])
        parts = [model.memory(model.encode(Rows.of(part))) for part in encoder_batches(source_BS)]
        self.memory = [
            KeysValues(*(_concatenate(each, shown_BS.size(1)) for each in zip(*layer, strict=True)))
            for layer in zip(*parts, strict=True)
        ]

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """See Hypotheses."""
        model, cache = self.model, self.cache
        if token_BW is None:
            y = model.embedding.new_zeros(len(cache.readable), 1, model.config.d_model)
        else:
            y = model.embed(token_BW)
        position = torch.full((1, 1), cache.length, device=y.device)
        model.target_positions.prepare(cache.length + 1)
        caches = cache.grow(y.size(1))
        causal = Mask(cache.readable, model.target_positions.position_bias(position, cache.position))
        return model.logits(model.decode(y, position, causal, self.memory, self.source_mask, caches))

    def follow(self, origin_BW: Tensor) -> None:
        """See Hypotheses."""
        self.cache.follow(origin_BW)

    def select(self, sentences: Tensor) -> None:
        """See Hypotheses."""
        self.source_mask = Mask(self.source_mask.shown[sentences])
        self.memory = [layer.select(sentences) for layer in self.memory]
        self.cache.select(sentences)


def _concatenate(parts: Sequence[Tensor], length: int) -> Tensor:
    """The keys or values [B, H, length, E] of parts of a batch, filled up with zeros."""
    return torch.cat([F.pad(part, (0, 0, 0, length - part.size(2))) for part in parts])
