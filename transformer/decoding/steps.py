"""One interface for both networks: a search asks for the logits of every hypothesis's next subword, step by step.

Shapes: B sentences, S source subwords, W hypotheses of each sentence, V vocabulary.
"""

from typing import Protocol, cast

import torch.nn.functional as F
from torch import Tensor

from transformer.decoding.cache import ROW, Cache
from transformer.model.attention import HIDDEN, KeysValues, padding_bias
from transformer.model.network import Network
from transformer.model.recurrent import Memory, Recurrent
from transformer.model.transformer import Transformer


class Steps(Protocol):
    """The hypotheses of some sentences. They grow by one subword per step."""

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """Logits [B, W, V] of the next token of each hypothesis, given its last token (None at the first step)."""

    def follow(self, origin_BW: Tensor) -> None:
        """Continue with hypotheses that extend those given."""

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""


class TransformerSteps:
    """`Steps` of a Transformer: holds keys and values of the source, and a cache of those of the target."""

    def __init__(self, model: Transformer, source_BS: Tensor):
        (encoded, _), bias = model.encode(source_BS), padding_bias(source_BS)
        more = -source_BS.size(1) % ROW
        encoded, self.bias = F.pad(encoded, (0, 0, 0, more)), F.pad(bias, (0, more), value=HIDDEN)
        self.memories = [KeysValues(*(tensor.contiguous() for tensor in memory)) for memory in model.memory(encoded)]
        self.model, self.cache = model, Cache(model.config, len(source_BS), source_BS.device)

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """See `Steps`."""
        position = self.cache.length
        grown = self.cache.grow(1 if token_BW is None else token_BW.size(1))
        return self.model.step(token_BW, position, self.memories, self.bias, *grown)

    def follow(self, origin_BW: Tensor) -> None:
        """See `Steps`."""
        self.cache.follow(origin_BW)

    def select(self, sentences: Tensor) -> None:
        """See `Steps`."""
        self.bias = self.bias[sentences]
        self.memories = [KeysValues(*(each.index_select(0, sentences) for each in memory)) for memory in self.memories]
        self.cache.select(sentences)


class RecurrentSteps:
    """`Steps` of a recurrent network: holds the encoded source and the states of the decoder's LSTMs."""

    def __init__(self, model: Recurrent, source_BS: Tensor):
        self.model, self.memory, self.states = model, model.memory(source_BS), model.states(len(source_BS))

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """See `Steps`."""
        return self.model.step(token_BW, self.memory, self.states)

    def follow(self, origin_BW: Tensor) -> None:
        """See `Steps`."""
        index = origin_BW[:, :, None].expand(-1, -1, self.model.config.d_model)
        self.states = [type(state)(*(each.gather(1, index) for each in state)) for state in self.states]

    def select(self, sentences: Tensor) -> None:
        """See `Steps`."""
        self.memory = Memory(*(each.index_select(0, sentences) for each in self.memory))
        self.states = [type(state)(*(each.index_select(0, sentences) for each in state)) for state in self.states]


def steps(model: Network, source_BS: Tensor) -> Steps:
    """The hypotheses of some sentences before the first step: one empty hypothesis each."""
    if isinstance(model, Recurrent):
        return RecurrentSteps(model, source_BS)
    return TransformerSteps(cast(Transformer, model), source_BS)
