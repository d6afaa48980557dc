"""A decoder-only Transformer: a language model of the paper's layers, without an encoder and attention over it."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.attention import Sentences, sentence_bias
from transformer.model.config import ModelConfig
from transformer.model.dropout import Dropout
from transformer.model.layers import EncoderLayer
from transformer.model.positions import plus, positions


class DecoderOnly(nn.Module):
    """Layers of masked self-attention around one matrix that embeds and, transposed, gives the logits."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__()
        self.scale = config.d_model**0.5
        self.embedding = nn.Parameter(torch.empty(vocabulary, config.d_model))
        nn.init.normal_(self.embedding, std=config.d_model**-0.5)
        self.positions = positions(config, causal=True)
        self.dropout = Dropout(config.P_drop)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.N))

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Logits [B, L, N] of what follows each id, from it and those before it."""
        position = torch.arange(ids_BL.size(1), device=ids_BL.device)[None]
        row = Sentences(torch.zeros_like(position), position)
        bias = plus(sentence_bias(row, row, causal=True), self.positions.of_scores(position, position))
        turns = self.positions.turns(position)
        x = F.embedding(ids_BL, self.embedding) * self.scale
        x = self.dropout(plus(x, self.positions.of_embeddings(position)))
        for layer in self.layers:
            x = layer(x, bias, turns)
        return F.linear(x, self.embedding)
