"""Label smoothing (section 5.4): the true subword gets 1 - eps_ls, each other one eps_ls / (N - 1) (authors' code)."""

from typing import Any

import torch
from torch import Tensor

from transformer.config import PADDING
from transformer.data.batches import Batch
from transformer.model.transformer import Transformer

ROWS = 4096  # tokens whose float32 probabilities are held at a time


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Loss and gradient in one pass: with p the softmax and q the smoothed target, d loss / d logits = p - q."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, eps_ls: float) -> Tensor:
        others = eps_ls / (logits.size(-1) - 1)
        true = 1 - eps_ls - others
        gradient = torch.empty_like(logits)
        loss = logits.new_zeros((), dtype=torch.float32)
        for start in range(0, len(logits), ROWS):
            part = slice(start, start + ROWS)
            x = logits[part].to(torch.float32, copy=True)
            index = target[part, None]
            loss -= true * x.gather(1, index).sum() + others * x.sum()
            largest = x.amax(1, keepdim=True)
            total = x.sub_(largest).exp_().sum(1, keepdim=True)
            loss += (largest + total.log()).sum()
            x.div_(total).sub_(others)
            x.scatter_add_(1, index, x.new_full(index.shape, -true))
            gradient[part] = x
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad[0].to(gradient.dtype), None, None


def batch_loss(model: Transformer, pairs: Batch, eps_ls: float) -> Tensor:
    """Summed loss, in nats, of a batch over its target subwords; padding has no share in it."""
    device = model.embedding.device
    source, target = pairs.source.to(device), pairs.target.to(device)
    kept = target != PADDING
    return smoothed_cross_entropy(model.logits(model(source, target)[kept]), target[kept], eps_ls)


def smoothed_cross_entropy(logits: Tensor, target: Tensor, eps_ls: float) -> Tensor:
    """Summed cross-entropy, in nats, of logits [tokens, N] against `target` [tokens]."""
    return _SmoothedCrossEntropy.apply(logits, target, eps_ls)
