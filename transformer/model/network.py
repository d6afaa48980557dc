"""What every network has: one matrix that embeds source and target and also computes the logits (section 3.4)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout


class Network(nn.Module):
    """A network with its embeddings.

    The forward pass of a translator takes rows of source ids [R, S] and target ids [R, T]. A row holds one sentence or
    several. The result is the decoder's output [R, T, D]. At a target position it depends only on the positions before
    this one.
    """

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__()
        self.config = config
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.d_model))
        nn.init.normal_(self.embedding, std=config.d_model**-0.5)
        self.dropout = Dropout(config.P_drop)

    def prepare(self, length: int) -> None:
        """Compute what rows of up to `length` subwords need. Does nothing unless a network overrides it."""

    def embed(self, ids: Tensor) -> Tensor:
        """Embeddings times sqrt(d_model), [..., D]."""
        return F.embedding(ids, self.embedding) * self.config.d_model**0.5

    def logits(self, y: Tensor) -> Tensor:
        """Decoder output [..., D] to one score for each subword of the vocabulary [..., N]. There is no bias."""
        return F.linear(y, self.embedding)
