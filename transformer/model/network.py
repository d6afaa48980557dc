"""What every network offers: one matrix for embeddings and logits (section 3.4), and hypotheses of a search."""

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model import kernels
from transformer.model.config import ModelConfig
from transformer.model.layers import Dropout
from transformer.model.masks import Rows


class Hypotheses(Protocol):
    """The hypotheses of some sentences in a search. They grow by one subword per step.

    B sentences, W hypotheses of each.
    """

    def logits(self, token_BW: Tensor | None) -> Tensor:
        """Logits [B, W, V] of the next token of each hypothesis, given its last token.

        At the first step, before any token (None), each sentence has one hypothesis.
        """

    def follow(self, origin_BW: Tensor) -> None:
        """Continue with hypotheses that extend those given."""

    def select(self, sentences: Tensor) -> None:
        """Keep only the given sentences, numbered from 0."""


class Network(nn.Module):
    """A network with its embeddings.

    The forward pass of a translator takes rows of source ids [R, S] and of target ids [R, T]. The k-th sentence of a
    target row translates the k-th sentence of the source row and reads no other. The result is the decoder's output
    [R, T, D]. At a target position it depends only on the positions before this one.
    """

    host_syncs = False  # whether a forward pass reads from the GPU, so that no CUDA graph can hold it

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.d_model))
        nn.init.normal_(self.embedding, std=config.d_model**-0.5)
        self.dropout = Dropout(config.P_drop)
        self.projection: nn.Module | None = None  # computes the logits if they have another precision (in_precision)

    def prepare(self, length: int) -> None:
        """Compute what rows of up to `length` subwords need. Does nothing unless a network overrides it."""

    def embed(self, ids: Tensor) -> Tensor:
        """Embeddings times sqrt(d_model), [..., D]."""
        return kernels.embedding(ids, self.embedding) * self.config.d_model**0.5

    def shift_right(self, target: Rows) -> Tensor:
        """The embeddings [R, T, D] of each target sentence, shift_right right by a zero vector."""
        return F.pad(self.embed(target.ids[:, :-1]), (0, 0, 1, 0)) * (target.position > 0)[:, :, None]

    def logits(self, y: Tensor) -> Tensor:
        """Decoder output [..., D] to one score for each subword of the vocabulary [..., V]. There is no bias."""
        return F.linear(y, self.embedding) if self.projection is None else self.projection(y)

    def begin(self, source_BS: Tensor) -> Hypotheses:
        """Encode sentences, one a row; returns one empty hypothesis of each, with which a search begins."""
        raise NotImplementedError
