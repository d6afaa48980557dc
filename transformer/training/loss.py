"""Label smoothing (section 5.4), as the authors' code distributes it.

The true subword gets 1 - eps_ls. Each of the N - 1 others gets eps_ls / (N - 1).
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from transformer.model.ids import PADDING
from transformer.model.network import Network
from transformer.support.device import can_compile
from transformer.text.batches import Batch
from transformer.training.passes import PROBABILITIES

Part = Callable[[Tensor, Tensor, float, Tensor], Tensor]


class Loss(NamedTuple):
    """The summed loss of a batch, in nats, and the tensor of its logits, which now holds the gradient of the loss.

    One pass over the logits computes both and overwrites the logits. This saves a second copy of a large tensor:
    25,000 subwords times a vocabulary of 37,000. The logits must not be a view: autograd would copy the gradient of a
    view whose base has been overwritten.
    """

    total: Tensor
    logits: Tensor

    def backward(self) -> None:
        """Backpropagate; PyTorch adds the gradients to those that the weights already have."""
        _WithGradient.apply(self.logits, self.logits.detach()).backward()


class _WithGradient(torch.autograd.Function):
    """0, with a given gradient by x. `x.backward(gradient)` would do the same, but first loads SymPy, for 0.4 s."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, gradient: Tensor) -> Tensor:
        ctx.gradient = gradient
        return x.new_zeros(())

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None]:
        return ctx.gradient, None


def _part(logits: Tensor, target: Tensor, eps_ls: float, share: Tensor) -> Tensor:
    """The summed loss of some tokens. Overwrites their logits with share * d loss / d logits; both are 0 at padding.

    The gradient is p - q, where p is the softmax and q the smoothed target.
    """
    others = eps_ls / (logits.size(-1) - 1)
    true = 1 - eps_ls - others
    x, index, padding = logits.float(), target[:, None], target == PADDING
    most, wanted, total = x.amax(1), x.gather(1, index)[:, 0], x.sum(1)
    p = torch.softmax(x, 1, out=x)  # in place, so that twice as many rows fit into the caches
    loss = most - p.amax(1).log() - true * wanted - others * total
    p.sub_(others).scatter_add_(1, index, p.new_full(index.shape, -true))
    logits.copy_(p.mul_(share * ~padding[:, None]))
    return loss.masked_fill(padding, 0).sum()


def _fused_part(logits: Tensor, target: Tensor, eps_ls: float, share: Tensor) -> Tensor:
    """`_part` written for a compiler: without `scatter_add_`, probabilities stay in the GPU's registers."""
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


def batch_loss(model: Network, batch: Batch, eps_ls: float, share: float = 1.0) -> Loss:
    """The loss of a batch, summed over its target subwords without padding. The gradient is scaled by `share`."""
    source, target = (moved(ids, model.embedding.device) for ids in (batch.source, batch.target))
    logits = model.logits(model(source, target))
    flat = logits.detach().flatten(0, 1)
    return Loss(smoothed_cross_entropy(flat, target.flatten(), eps_ls, share), logits)


def per_subword(total: float, tokens: int) -> float:
    """The perplexity per subword of a summed loss. It is infinite if the loss is not a number or is too large."""
    mean = total / tokens
    return math.exp(mean) if mean < 700 else math.inf


def moved(ids: Tensor, device: torch.device) -> Tensor:
    """Ids on a device. The copy to a GPU is asynchronous."""
    return ids.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else ids


def smoothed_cross_entropy(logits: Tensor, target: Tensor, eps_ls: float, share: float = 1.0) -> Tensor:
    """The summed cross-entropy, in nats, of logits [tokens, N] and `target` [tokens], without padding.

    Overwrites the logits with the gradient times `share`.
    """
    loss, by = (logits.new_full((), value, dtype=torch.float32) for value in (0.0, share))
    rows = max(1, PROBABILITIES[logits.device.type] // logits.size(1))
    of_part = _compiled_part() if logits.is_cuda else _part
    for start in range(0, len(logits), rows):
        part = slice(start, start + rows)
        loss += of_part(logits[part], target[part], eps_ls, by)
    return loss
