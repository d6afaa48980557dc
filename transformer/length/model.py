"""A decoder-only Transformer: a language model made of the paper's layers, without an encoder."""

import torch
from torch import Tensor, nn

from transformer.model.config import ModelConfig
from transformer.model.layers import EncoderLayer
from transformer.model.masks import Mask, Rows
from transformer.model.network import Network
from transformer.model.positions import plus, positions


class DecoderOnly(Network):
    """Layers of masked self-attention between the Transformer's embeddings and its softmax."""

    def __init__(self, config: ModelConfig, vocabulary: int):
        super().__init__(config, vocabulary)
        self.positions = positions(config, causal=True)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.N))

    def forward(self, ids_BL: Tensor) -> Tensor:
        """Logits [B, L, V] of the id after each position, given the ids up to this position."""
        position = torch.arange(ids_BL.size(1), device=ids_BL.device)[None]
        row = Rows(ids_BL, torch.zeros_like(position), position)
        mask = Mask.of(row, row, causal=True, position_bias=self.positions.position_bias(position, position))
        rotation = self.positions.rotation(position)
        x = self.dropout(plus(self.embed(ids_BL), self.positions.encoding(position)))
        for layer in self.layers:
            x = layer(x, mask, rotation)
        return self.logits(x)
