"""Faster ways to compute the loss and Adam than their definitions, which call these by name (see model/kernels.py)."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam as pytorch_adam

from transformer.model.ids import PADDING
from transformer.training.passes import PROBABILITIES

Part = Callable[[Tensor, Tensor, float, Tensor], Tensor]


def smoothed_cross_entropy(
    logits: Tensor, target: Tensor, eps_ls: float, share: float | Tensor, compiled: bool
) -> Tensor:
    """The loss of logits [..., V], whose gradient overwrites them, so they must be contiguous.

    This saves a second copy of a large tensor: 25,000 subwords times a vocabulary of 37,000. `backward` has to be that
    of the result itself. `compiled`: PyTorch compiles the loss, as is faster on a GPU.
    """
    return _SmoothedCrossEntropy.apply(logits, target, eps_ls, share, compiled)


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


def _part_for_compiler(logits: Tensor, target: Tensor, eps_ls: float, share: Tensor) -> Tensor:
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
    return torch.compile(_part_for_compiler)


class _SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient takes the place of the logits, in parts that fit into the caches."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, target: Tensor, eps_ls: float, share: float | Tensor, compiled: bool
    ) -> Tensor:
        flat, expected = logits.detach().view(-1, logits.size(-1)), target.flatten()
        total = logits.new_zeros((), dtype=torch.float32)
        scale = share if isinstance(share, Tensor) else total.new_full((), share)
        part_loss = _compiled_part() if compiled else _part
        rows = len(flat) if compiled else max(1, PROBABILITIES[logits.device.type] // logits.size(-1))
        for start in range(0, len(flat), rows):
            part = slice(start, start + rows)
            total += part_loss(flat[part], expected[part], eps_ls, scale)
        ctx.gradient = logits.detach()
        return total

    @staticmethod
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor, None, None, None, None]:
        # Always that of `share` times the sum: to multiply it by the incoming gradient would need another pass.
        return ctx.gradient, None, None, None, None


def adam(
    updated: Sequence[tuple[Tensor, Tensor, dict[str, Tensor]]],
    rate: float | Tensor,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> None:
    """PyTorch's fused Adam, for parameters with their gradients and states.

    The class `torch.optim.Adam` would load PyTorch's compiler, which takes a second.
    """
    pytorch_adam(
        [parameter for parameter, *_ in updated],
        [gradient for _, gradient, _ in updated],
        [state["exp_avg"] for *_, state in updated],
        [state["exp_avg_sq"] for *_, state in updated],
        [],
        [state["step"] for *_, state in updated],
        fused=True,
        amsgrad=False,
        beta1=beta1,
        beta2=beta2,
        lr=rate,
        weight_decay=0.0,
        eps=epsilon,
        maximize=False,
    )
