"""ReLU(x)^2 in place of ReLU in the feed-forward layers.

Source: So et al. 2021, Primer: Searching for Efficient Transformers for Language Modeling (arXiv 2109.08668).
"""

import torch.nn.functional as F
from torch import nn


class SquaredReLU(nn.Module):
    """max(0, x W1 + b1)^2 W2 + b2, with the weights of the layer that it replaces."""

    def __init__(self, feed_forward):
        super().__init__()
        self.inner, self.outer = feed_forward.inner, feed_forward.outer

    def forward(self, x):
        """[B, T, D] to [B, T, D]."""
        return self.outer(F.relu(self.inner(x)).square())


def change(model):
    """Replace the feed-forward layers."""
    for layer in [*model.encoder, *model.decoder]:
        layer.position_wise = SquaredReLU(layer.position_wise)
