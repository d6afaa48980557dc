"""Compare the model's operations for CPUs with PyTorch's own, in turns on one thread.

    PYTHONPATH=. python benchmarks/cpu_training.py

The sizes are those of the experiment `quick`: 9 rows of 59 subwords, d_model 128, 8 heads, 3,000 subwords; bfloat16.
Prints milliseconds of CPU time, forward and backward together.
"""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.model.attention import attention
from transformer.model.layers import Residual
from transformer.support.device import keep_freed_memory
from transformer.training.loss import smoothed_cross_entropy

ROWS, LENGTH, D_MODEL, HEADS, VOCABULARY = 9, 59, 128, 8, 3000
ROUNDS = 50


def differentiated(work: Callable[[], Tensor]) -> Callable[[], None]:
    """The forward pass `work` and its backward pass."""

    def both() -> None:
        y = work()
        y.backward(y.detach())

    return both


def seconds(work: Callable[[], object]) -> float:
    """The CPU time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Print a row for each operation."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    keep_freed_memory()
    heads = (ROWS, HEADS, LENGTH, D_MODEL // HEADS)
    q, k, v = (torch.randn(heads, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    bias = torch.zeros(ROWS, 1, LENGTH, LENGTH)
    x, y = (torch.randn(ROWS, LENGTH, D_MODEL, dtype=torch.bfloat16, requires_grad=True) for _ in range(2))
    residual = Residual(D_MODEL, 0.1)
    weight, shift = (parameter.detach().bfloat16().requires_grad_() for parameter in residual.norm.parameters())
    logits = torch.randn(ROWS * LENGTH, VOCABULARY, dtype=torch.bfloat16)
    target = torch.randint(1, VOCABULARY, (ROWS * LENGTH,))
    learnt = logits.clone().requires_grad_()

    def cross_entropy() -> None:
        F.cross_entropy(learnt.float(), target, reduction="sum", label_smoothing=0.1).backward()

    rows: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "attention": (
            differentiated(lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=bias.bfloat16())),
            differentiated(lambda: attention(q, k, v, bias)),
        ),
        "dropout, residual, LayerNorm": (
            differentiated(lambda: F.layer_norm(x + F.dropout(y, 0.1), (D_MODEL,), weight, shift)),
            differentiated(lambda: residual(x, y)),
        ),
        "smoothed cross-entropy": (cross_entropy, lambda: smoothed_cross_entropy(logits.clone(), target, 0.1)),
    }
    print(f"{'':32}{'PyTorch':>12}{'ours':>12}{'ratio':>8}")
    for name, both in rows.items():
        times = [[seconds(work) for work in both] for _ in range(ROUNDS)]
        theirs, ours = (sorted(each)[ROUNDS // 2] for each in zip(*times, strict=True))
        print(f"{name:32}{1e3 * theirs:9.2f} ms{1e3 * ours:9.2f} ms{theirs / ours:8.1f}")


if __name__ == "__main__":
    main()
