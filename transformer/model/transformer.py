"""The Transformer (figure 1): encoder and decoder stacks (section 3.1).

Shapes are named as in attention.py; N subwords of the vocabulary; R rows, which hold one sentence or several.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import (
    AdditiveAttention,
    KeysValues,
    Sentences,
    own_bias,
    sentence_bias,
    sentences,
)
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.network import Network
from transformer.model.positions import PositionalEncoding, plus, positions


class Transformer(Network):
    """Encoder and decoder, with embeddings and softmax."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        self.source_positions = positions(config, causal=False)
        self.target_positions = positions(config, causal=True)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.N))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.N))

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

    def encode(self, source_RS: Tensor) -> tuple[Tensor, Sentences]:
        """The encoder's output [R, S, D], and the sentences of the source."""
        source = sentences(source_RS)
        bias, turns = self._reading(self.source_positions, source)
        x = self.dropout(plus(self.embed(source_RS), self.source_positions.of_embeddings(source.position)))
        for layer in self.encoder:
            x = layer(x, bias, turns)
        return x, source

    def memory(self, encoded_BSD: Tensor) -> list[KeysValues]:
        """The keys and values that each decoder layer computes from the encoder's output."""
        return [layer.encoder_attention.keys_values(encoded_BSD) for layer in self._decoder_layers()]

    def _reading(
        self, encoding: PositionalEncoding, rows: Sentences, causal: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """What a stack's self-attention needs: the bias of its scores, and the turns of its queries and keys."""
        radius, more = self.config.attention_radius, encoding.of_scores(rows.position, rows.position)
        bias = own_bias(rows, causal, radius) if more is None else sentence_bias(rows, rows, causal, radius) + more
        return bias, encoding.turns(rows.position)

    def _decoder_layers(self) -> Iterable[DecoderLayer]:
        return cast(Iterable[DecoderLayer], self.decoder)

    def forward(self, source_RS: Tensor, target_RT: Tensor) -> Tensor:
        """The decoder's output [R, T, D]. At a target position it depends only on the positions before it.

        A row may hold several sentences, each closed by its end. The k-th sentence of a target row translates the k-th
        sentence of the source row and reads no other. The decoder's input is each target sentence, shifted right by a
        zero vector.
        """
        encoded, source = self.encode(source_RS)
        target = sentences(target_RT)
        causal, turns = self._reading(self.target_positions, target, causal=True)
        across = sentence_bias(target, source)
        y = F.pad(self.embed(target_RT[:, :-1]), (0, 0, 1, 0)) * (target.position > 0)[:, :, None]
        y = self.dropout(plus(y, self.target_positions.of_embeddings(target.position)))
        for layer, memory in zip(self.decoder, self.memory(encoded), strict=True):
            y = layer(y, causal, memory, across, turns)
        return y

    def step(
        self,
        ids_BW: Tensor | None,
        position: int,
        memories: Sequence[KeysValues],
        bias: Tensor,
        caches: Sequence[KeysValues],
        place: int,
        own: Tensor,
        key_positions: Tensor,
    ) -> Tensor:
        """Logits [B, W, N] of the token at `position`, given the token before it (None at position 0, where W is 1).

        `bias` [B, 1, 1, S] hides the padding of the source. Each layer writes keys and values to its cache from `place`
        on. `own` [B, 1, W, places] lets each hypothesis read only its own places in the caches (`SelfAttention.step`).
        `key_positions` [B, places] holds the position of the token at each place.
        """
        y = bias.new_zeros(len(bias), 1, self.config.d_model) if ids_BW is None else self.embed(ids_BW)
        y = self.dropout(plus(y, self.target_positions.of_embeddings(position)))
        own = plus(own, self.target_positions.of_scores(position, key_positions))
        turns = self.target_positions.turns(position)
        for layer, memory, cache in zip(self._decoder_layers(), memories, caches, strict=True):
            y = layer.step(y, memory, bias, cache, place, own, turns)
        return self.logits(y)
