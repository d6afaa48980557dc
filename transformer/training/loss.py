"""Label smoothing (section 5.4), as the authors' code distributes it.

The true subword gets 1 - eps_ls. Each of the V - 1 others gets eps_ls / (V - 1).
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from transformer.model.ids import PADDING
from transformer.model.masks import Rows
from transformer.model.network import Network
from transformer.text.batches import Batch
from transformer.training.passes import PROBABILITIES

Part = Callable[[Tensor, Tensor, float, Tensor], Tensor]


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
    """`_part` written for a compiler: it reads the logits twice, and probabilities stay in the GPU's registers.

    `scatter_add_` would force the probabilities to memory, and `logsumexp` would read the logits once more.
    """
    x, index, shown = logits.float(), target[:, None], target != PADDING
    column = torch.arange(logits.size(-1), device=logits.device)
    wanted = torch.where(column == index, 1 - eps_ls, eps_ls / (logits.size(-1) - 1))
    most = x.amax(1, keepdim=True)
    normalizer = most + (x - most).exp().sum(1, keepdim=True).log()
    loss = torch.where(shown, normalizer[:, 0] - (wanted * x).sum(1), 0.0).sum()
    logits.copy_(torch.where(shown[:, None], share * ((x - normalizer).exp() - wanted), 0.0))
    return loss


@cache
def _compiled_part() -> Part:
    return torch.compile(_fused_part)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """`smoothed_cross_entropy`. The gradient takes the place of the logits, in parts that fit into the caches."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, eps_ls: float, share: float | Tensor, compiled: bool
    ) -> Tensor:
        flat, expected = logits.detach().view(-1, logits.size(-1)), target.flatten()
        total = logits.new_zeros((), dtype=torch.float32)
        scale = share if isinstance(share, Tensor) else total.new_full((), share)
        of_part = _compiled_part() if compiled else _part
        rows = len(flat) if compiled else max(1, PROBABILITIES[logits.device.type] // logits.size(-1))
        for start in range(0, len(flat), rows):
            part = slice(start, start + rows)
            total += of_part(flat[part], expected[part], eps_ls, scale)
        ctx.gradient = logits.detach()
        return total

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None, None, None, None]:
        # Always that of `share` times the sum: to multiply it by the incoming gradient would need another pass.
        return ctx.gradient, None, None, None, None


def smoothed_cross_entropy(
    logits: Tensor, target: Tensor, eps_ls: float, share: float | Tensor = 1.0, compiled: bool = False
) -> Tensor:
    """The cross-entropy of logits [..., V] and `target` [...], in nats, summed over all but padding.

    The gradient is that of `share` times the sum, whatever is done with the result: scale by `share`, and call
    `backward` of the result itself. The gradient overwrites the logits, which must be contiguous. This saves a second
    copy of a large tensor: 25,000 subwords times a vocabulary of 37,000. `compiled`: PyTorch compiles the loss, as is
    faster on a GPU.
    """
    return _SmoothedCrossEntropy.apply(logits, target, eps_ls, share, compiled)


def batch_loss(
    model: Network,
    batch: Batch,
    eps_ls: float,
    share: float | Tensor = 1.0,
    compiled: bool = False,
    copies: Callable[[Rows, Rows], Tensor] | None = None,
) -> Tensor:
    """The `smoothed_cross_entropy` of a batch.

    With `compiled`, the model is used as `compile_in_place` prepared it. `copies` computes the model's output in its
    place (`Copies`).
    """
    batch = batch.on(model.embedding.device)
    forward = copies or (model if compiled else model._call_impl)  # which calls hooks, but no compiled code
    y = forward(batch.source, batch.target)
    return smoothed_cross_entropy(model.logits(y), batch.target.ids, eps_ls, share, compiled)


def per_subword(total: float, tokens: int) -> float:
    """The perplexity per subword of a summed loss. It is infinite if the loss is not a number or is too large."""
    mean = total / tokens
    return math.exp(mean) if mean < 700 else math.inf
