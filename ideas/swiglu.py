"""SwiGLU in place of the feed-forward layers. Its inner width is 2/3 d_ff, so base has about as many parameters.

Source: Shazeer 2020, GLU Variants Improve Transformer (arXiv 2002.05202).
"""

import torch.nn.functional as F
from torch import nn

from transformer.model.attention import xavier_linear


class SwiGLU(nn.Module):
    """(Swish(x W + b) * (x V + c)) W2 + b2."""

    def __init__(self, d_model, width):
        super().__init__()
        self.gate, self.inner = xavier_linear(d_model, width), xavier_linear(d_model, width)
        self.outer = xavier_linear(width, d_model)

    def forward(self, x):
        """[B, T, D] to [B, T, D]."""
        return self.outer(F.silu(self.gate(x)) * self.inner(x))


def change(model):
    """Replace the feed-forward layers."""
    width = 8 * round(model.config.d_ff * 2 / 3 / 8)
    for layer in [*model.encoder, *model.decoder]:
        layer.position_wise = SwiGLU(model.config.d_model, width)
