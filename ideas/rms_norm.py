"""RMSNorm in place of LayerNorm: it subtracts no mean and has no bias.

Source: Zhang and Sennrich 2019, Root Mean Square Layer Normalization (arXiv 1910.07467).
"""

from torch import nn


def change(model):
    """Replace the LayerNorm of each residual connection."""
    for layer in [*model.encoder, *model.decoder]:
        for residual in layer.residuals:
            residual.norm = nn.RMSNorm(model.config.d_model, eps=1e-6)
