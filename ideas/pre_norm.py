"""Pre-norm: LayerNorm before each sub-layer, and after the last layer of each stack.

Source: Xiong et al. 2020, On Layer Normalization in the Transformer Architecture (arXiv 2002.04745).
"""

import torch.nn.functional as F
from torch import nn

from transformer.model.layers import Residual


class PreNorm(Residual):
    """x + Dropout(Sublayer(LayerNorm(x)))."""

    def around(self, x, sub_layer):
        """[..., D] to [..., D]."""
        return x + F.dropout(sub_layer(self.norm(x)), self.dropout, self.training).type_as(x)


def change(model):
    """Replace the residual connections, and end both stacks with a LayerNorm."""
    d_model, dropout = model.config.d_model, model.config.P_drop
    for layer in [*model.encoder, *model.decoder]:
        layer.residuals = nn.ModuleList(PreNorm(d_model, dropout) for _ in layer.residuals)
    model.encoder_end, model.decoder_end = nn.LayerNorm(d_model, eps=1e-6), nn.LayerNorm(d_model, eps=1e-6)
