"""What the CPU paths of the model gain over PyTorch's own, side by side on one thread.

    PYTHONPATH=. python benchmarks/cpu_training.py

Sizes are those of the experiment `quick`: 42 sentences of 12 subwords, d_model 128, 8 heads, 2,000 subwords.
"""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

from transformer.model.attention import attention
from transformer.model.dropout import Dropout
from transformer.training.loss import smoothed_cross_entropy

SENTENCES, LENGTH, D_MODEL, HEADS, VOCABULARY = 42, 12, 128, 8, 2000


def seconds(work: Callable[[], torch.Tensor], rounds: int = 30) -> float:
    """The median time of forward and backward."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work().float().sum().backward()
        times.append(time.perf_counter() - start)
    return sorted(times)[rounds // 2]


def main() -> None:
    """Print a row for each operation."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    shape = (SENTENCES, HEADS, LENGTH, D_MODEL // HEADS)
    q, k, v = (torch.randn(shape, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    mask = torch.ones(SENTENCES, 1, 1, LENGTH, dtype=torch.bool)
    bias = torch.zeros(SENTENCES, 1, 1, LENGTH)
    x = torch.randn(SENTENCES, LENGTH, D_MODEL, dtype=torch.bfloat16, requires_grad=True)
    dropout = Dropout(0.1)
    logits = torch.randn(SENTENCES * LENGTH, VOCABULARY, dtype=torch.bfloat16, requires_grad=True)
    target = torch.randint(0, VOCABULARY, (SENTENCES * LENGTH,))
    rows = {
        "attention": (
            lambda: F.scaled_dot_product_attention(q, k, v, attn_mask=mask),
            lambda: attention(q, k, v, bias),
        ),
        "dropout": (lambda: F.dropout(x, 0.1), lambda: dropout(x)),
        "smoothed cross-entropy": (
            lambda: F.cross_entropy(logits.float(), target, reduction="sum", label_smoothing=0.1),
            lambda: smoothed_cross_entropy(logits, target, 0.1),
        ),
    }
    print(f"{'forward and backward':24}{'PyTorch':>12}{'ours':>12}{'ratio':>8}")
    for name, (theirs, ours) in rows.items():
        a, b = seconds(theirs), seconds(ours)
        print(f"{name:24}{1e3 * a:9.2f} ms{1e3 * b:9.2f} ms{a / b:8.1f}")


if __name__ == "__main__":
    main()
