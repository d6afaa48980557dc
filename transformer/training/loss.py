"""Label smoothing (section 5.4): the true subword gets 1 - eps_ls, each other one eps_ls / (N - 1) (authors' code)."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from transformer.model.ids import PADDING
from transformer.model.network import Network
from transformer.support.device import can_compile
from transformer.text.batches import Batch
from transformer.training.passes import ROWS

Part = Callable[[Tensor, Tensor, float, Tensor], Tensor]


class Loss(NamedTuple):
    """Summed loss of a batch, in nats, and its logits, which hold their own gradient by then.

    Loss and gradient come from one pass over the logits, in their memory: of the logits of 25,000 subwords against a
    vocabulary of 37,000 no second copy is held.
    """

    total: Tensor
    logits: Tensor

    def backward(self) -> None:
        """Add the gradients of the weights to what is there."""
        self.logits.backward(self.logits.detach())


def _part(logits: Tensor, target: Tensor, eps_ls: float, share: Tensor) -> Tensor:
    """Loss of some tokens; their logits become share * d loss / d logits. Both are 0 at padding.

    The gradient is p - q, where p is the softmax and q the smoothed target.
    """
    others = eps_ls / (logits.size(-1) - 1)
    true = 1 - eps_ls - others
    x, index, padding = logits.float(), target[:, None], target == PADDING
    p = x.softmax(1)
    loss = x.amax(1) - p.amax(1).log() - true * x.gather(1, index)[:, 0] - others * x.sum(1)
    p.sub_(others).scatter_add_(1, index, p.new_full(index.shape, -true))
    logits.copy_(p.mul_(share * ~padding[:, None]))
    return loss.masked_fill(padding, 0).sum()


def _fused_part(logits: Tensor, target: Tensor, eps_ls: float, share: Tensor) -> Tensor:
    """`_part` for a compiler: probabilities stay in the GPU's registers, where `scatter_add_` wants them in memory."""
    x, index, shown = logits.float(), target[:, None], target != PADDING
    column = torch.arange(logits.size(-1), device=logits.device)
    wanted = torch.where(column == index, 1 - eps_ls, eps_ls / (logits.size(-1) - 1))
    normalizer = x.logsumexp(1)
    loss = torch.where(shown, normalizer - (wanted * x).sum(1), 0.0).sum()
    logits.copy_(torch.where(shown[:, None], share * ((x - normalizer[:, None]).exp() - wanted), 0.0))
    return loss


@cache
def _compiled_part() -> Part:
    return torch.compile(_fused_part) if can_compile() else _part


def batch_loss(model: Network, pairs: Batch, eps_ls: float, share: float = 1.0) -> Loss:
    """Loss of a batch over its target subwords; padding has no part in it. `share` is by what its gradient counts."""
    source, target = (moved(ids, model.embedding.device) for ids in (pairs.source, pairs.target))
    logits = model.logits(model(source, target)).flatten(0, 1)
    return Loss(smoothed_cross_entropy(logits.detach(), target.flatten(), eps_ls, share), logits)


def moved(ids: Tensor, device: torch.device) -> Tensor:
    """Ids on a device; the CPU does not wait until those for a GPU are there."""
    return ids.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else ids


def smoothed_cross_entropy(logits: Tensor, target: Tensor, eps_ls: float, share: float = 1.0) -> Tensor:
    """Summed cross-entropy, in nats, of logits [tokens, N] against `target` [tokens], padding left out.

    The logits are overwritten with its gradient times `share`.
    """
    loss, by = (logits.new_full((), value, dtype=torch.float32) for value in (0.0, share))
    rows, of_part = ROWS[logits.device.type], _compiled_part() if logits.is_cuda else _part
    for start in range(0, len(logits), rows):
        part = slice(start, start + rows)
        loss += of_part(logits[part], target[part], eps_ls, by)
    return loss
