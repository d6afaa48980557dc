"""Label smoothing (section 5.4), as the authors' code distributes it.

The true subword gets 1 - eps_ls. Each of the V - 1 others gets eps_ls / (V - 1).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from transformer.model import kernels
from transformer.model.ids import PADDING
from transformer.model.masks import Rows
from transformer.model.network import Network
from transformer.text.batches import Batch
from transformer.training import fused


def smoothed_cross_entropy(
    logits: Tensor, target: Tensor, eps_ls: float, share: float | Tensor = 1.0, compiled: bool = False
) -> Tensor:
    """The cross-entropy of logits [..., V] and `target` [...], in nats, summed over all but padding.

    The gradient is that of `share` times the sum, whatever is done with the result: scale by `share`, and call
    `backward` of the result itself. The gradient overwrites the logits, which must be contiguous. `compiled`: PyTorch
    compiles the loss, as is faster on a GPU.
    """
    if kernels.ON:
        return fused.smoothed_cross_entropy(logits, target, eps_ls, share, compiled)
    log_p = logits.float().log_softmax(-1)
    q = torch.full_like(log_p, eps_ls / (logits.size(-1) - 1)).scatter(-1, target[..., None], 1 - eps_ls)
    loss = -(q * log_p).sum(-1).masked_fill(target == PADDING, 0).sum()
    return loss + (share - 1) * (loss - loss.detach())  # adds 0, and makes the gradient that of share * loss


def batch_loss(
    model: Network,
    batch: Batch,
    eps_ls: float,
    share: float | Tensor = 1.0,
    compiled: bool = False,
    forward: Callable[[Rows, Rows], Tensor] | None = None,
) -> Tensor:
    """The `smoothed_cross_entropy` of a batch.

    With `compiled`, the model is used as `compile_in_place` prepared it. `forward` computes the model's output in its
    place (`Bfloat16Weights`).
    """
    batch = batch.on(model.embedding.device)
    forward = forward or (model if compiled else model._call_impl)  # which calls hooks, but no compiled code
    y = forward(batch.source, batch.target)
    return smoothed_cross_entropy(model.logits(y), batch.target.ids, eps_ls, share, compiled)


def per_subword(total: float, tokens: int) -> float:
    """The perplexity per subword of a summed loss. It is infinite if the loss is not a number or is too large."""
    mean = total / tokens
    return math.exp(mean) if mean < 700 else math.inf
