"""GELU in place of ReLU in the feed-forward layers.

Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units (arXiv 1606.08415).
"""

import torch.nn.functional as F
from torch import nn


class GELU(nn.Module):
    """GELU(x W1 + b1) W2 + b2, with the weights of the layer that it replaces."""

    def __init__(self, feed_forward):
        super().__init__()
        self.inner, self.outer = feed_forward.inner, feed_forward.outer

    def forward(self, x):
        """[B, T, D] to [B, T, D]."""
        return self.outer(F.gelu(self.inner(x)))


def change(model):
    """Replace the feed-forward layers."""
    for layer in [*model.encoder, *model.decoder]:
        layer.position_wise = GELU(layer.position_wise)
