"""One interface for both networks: a search asks for the logits of every hypothesis's next subword, step by step.

Shapes: B sentences, S source subwords, W hypotheses of each sentence, V vocabulary.
"""

from typing import Protocol, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.decoding.cache import ROW, Cache
from transformer.model.attention import HIDDEN, KeysValues, padding_bias
from transformer.model.ids import PADDING
from transformer.model.network import Network
from transformer.model.recurrent import Memory, Recurrent
from transformer.model.transformer import Transformer

AT_ONCE = 32  # how many sentences are encoded at a time on a CPU; fewer are slower, more have more padding


class Steps(Protocol):
    """The hypotheses of some sentences. They grow by one subword per step."""

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """Logits [B, W, V] of the next token of each hypothesis, given its last token (None at the first step)."""

    def follow(self, origin_BW: Tensor) -> None:
        """Continue with hypotheses that extend those given."""

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""


def memories(model: Transformer, source_BS: Tensor, length: int) -> list[KeysValues]:
    """The keys and values of each decoder layer, [B, H, length, K or V].

    On a CPU, AT_ONCE sentences are encoded at a time, padded only to the longest of these.
    """
    parts = [source_BS]
    if not source_BS.is_cuda:
        parts = [part[:, : int((part != PADDING).sum(1).max())] for part in source_BS.split(AT_ONCE)]
    found = [model.memory(model.encode(part)[0]) for part in parts]

    def joined(each: tuple[Tensor, ...]) -> Tensor:
        return torch.cat([F.pad(one, (0, 0, 0, length - one.size(2))) for one in each])

    return [KeysValues(*map(joined, zip(*layer, strict=True))) for layer in zip(*found, strict=True)]


class TransformerSteps:
    """`Steps` of a Transformer: holds keys and values of the source, and a cache of those of the target."""

    def __init__(self, model: Transformer, source_BS: Tensor):
        self.bias = F.pad(padding_bias(source_BS), (0, -source_BS.size(1) % ROW), value=HIDDEN)
        self.memories = memories(model, source_BS, self.bias.size(-1))
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
