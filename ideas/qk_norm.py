"""QK-norm: queries and keys have unit length, and each head learns by what their products are multiplied.

Source: Henry et al. 2020, Query-Key Normalization for Transformers (arXiv 2010.04245).
"""

import torch
import torch.nn.functional as F
from torch import nn

from transformer.model.attention import DotProductAttention, MultiHeadAttention


class QKNorm(DotProductAttention):
    """softmax(g q k / (|q| |k|)) v, with a factor g for each head. It begins at log2(L^2 - L) for sentences of L."""

    def __init__(self, h, length, dropout):
        super().__init__(1.0, dropout)
        self.g = nn.Parameter(torch.full((h, 1, 1), length * (length - 1.0)).log2())

    def normal(self, q, keys_values):
        """Normalised queries and keys, with values."""
        k = keys_values.keys
        q, k = (self.g * F.normalize(q, dim=-1)).type_as(q), F.normalize(k, dim=-1).type_as(k)
        return q, keys_values._replace(keys=k)

    def weights(self, q, keys_values, mask):
        """[B, H, T, S]."""
        return super().weights(*self.normal(q, keys_values), mask)

    def forward(self, q, keys_values, mask):
        """[B, H, T, E]."""
        return super().forward(*self.normal(q, keys_values), mask)


def change(model):
    """Replace the attention function of all attentions. The paper takes L from the data; 28 subwords are typical."""
    for module in [*model.modules()]:
        if isinstance(module, MultiHeadAttention):
            module.attend = QKNorm(model.config.h, 28, model.config.attention_dropout)
