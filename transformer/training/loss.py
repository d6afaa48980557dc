"""Label smoothing (section 5.4): the true subword gets 1 - eps_ls, each other one eps_ls / (N - 1) (authors' code)."""

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from transformer.model.ids import PADDING
from transformer.model.transformer import Transformer
from transformer.support.device import can_compile
from transformer.text.batches import Batch

ROWS = {"cpu": 128, "cuda": 4096}  # tokens whose float32 probabilities are held at a time; on a CPU, in its caches
Part = Callable[[Tensor, Tensor, float, Tensor], Tensor]


def _part(logits: Tensor, target: Tensor, eps_ls: float, gradient: Tensor) -> Tensor:
    """Loss of some tokens; with p the softmax and q the smoothed target, d loss / d logits = p - q goes to `gradient`.

    Both are 0 at padding.
    """
    others = eps_ls / (logits.size(-1) - 1)
    true = 1 - eps_ls - others
    x, index, padding = logits.float(), target[:, None], target == PADDING
    p = x.softmax(1)
    loss = x.amax(1) - p.amax(1).log() - true * x.gather(1, index)[:, 0] - others * x.sum(1)
    p.sub_(others).scatter_add_(1, index, p.new_full(index.shape, -true))
    gradient.copy_(p.masked_fill_(padding[:, None], 0))
    return loss.masked_fill(padding, 0).sum()


def _fused_part(logits: Tensor, target: Tensor, eps_ls: float, gradient: Tensor) -> Tensor:
    """`_part` for a compiler: probabilities stay in the GPU's registers, where `scatter_add_` wants them in memory."""
    x, index, shown = logits.float(), target[:, None], target != PADDING
    column = torch.arange(logits.size(-1), device=logits.device)
    wanted = torch.where(column == index, 1 - eps_ls, eps_ls / (logits.size(-1) - 1))
    normalizer = x.logsumexp(1)
    gradient.copy_(torch.where(shown[:, None], (x - normalizer[:, None]).exp() - wanted, 0.0))
    return torch.where(shown, normalizer - (wanted * x).sum(1), 0.0).sum()


@cache
def _compiled_part() -> Part:
    return torch.compile(_fused_part) if can_compile() else _part


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Loss and gradient in one pass, in which no float32 copy of all logits is held."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, target: Tensor, eps_ls: float) -> Tensor:
        gradient = torch.empty_like(logits)
        loss = logits.new_zeros((), dtype=torch.float32)
        rows, of_part = ROWS[logits.device.type], _compiled_part() if logits.is_cuda else _part
        for start in range(0, len(logits), rows):
            part = slice(start, start + rows)
            loss += of_part(logits[part], target[part], eps_ls, gradient[part])
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad[0].to(gradient.dtype), None, None


def batch_loss(model: Transformer, pairs: Batch, eps_ls: float) -> Tensor:
    """Summed loss, in nats, of a batch over its target subwords; padding has no share in it."""
    source, target = (moved(ids, model.embedding.device) for ids in (pairs.source, pairs.target))
    return smoothed_cross_entropy(model.logits(model(source, target)).flatten(0, 1), target.flatten(), eps_ls)


def moved(ids: Tensor, device: torch.device) -> Tensor:
    """Ids on a device; the CPU does not wait until those for a GPU are there."""
    return ids.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else ids


def smoothed_cross_entropy(logits: Tensor, target: Tensor, eps_ls: float) -> Tensor:
    """Summed cross-entropy, in nats, of logits [tokens, N] against `target` [tokens], padding left out."""
    return _SmoothedCrossEntropy.apply(logits, target, eps_ls)
