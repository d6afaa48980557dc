"""Show what our choices for training on a CPU gain, in turns on one thread.

    python -m benchmarks.cpu_training

Prints three tables. All numbers are of CPU time, forward and backward together, and medians over the rounds.

1. The model's operations and PyTorch's own, with the sizes of the experiment `quick`: 9 rows of 59 subwords, d_model
   128, 8 heads, 3,000 subwords; bfloat16.
2. Attention of radius r on 512 subwords (8 heads, d_k 16, float32): how many times faster blocks are than a mask, in
   encoder and decoder.
3. A step of training: how many times faster it is in bfloat16 than in float32, with 3,000 and with 10,000 subwords.
"""

import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.gpu.made import drawn_lengths, drawn_pairs
from benchmarks.measuring import in_turns, print_head, print_row
from benchmarks.train import Ours, sized
from transformer.model.attention import HIDDEN, attention
from transformer.model.layers import Residual
from transformer.model.restricted import SMALLEST, in_blocks, shown_in_blocks
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


def medians(first: Callable[[], object], second: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The median CPU times of two works, which take turns. The first round does not count."""
    times = in_turns([lambda _: first(), lambda _: second()], rounds + 1, time.process_time)
    return np.median(times[1:], 0).tolist()


def operations() -> None:
    """Print the first table."""
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
    print_head("operation", "PyTorch, ms", "ours, ms", "x")
    for name, both in rows.items():
        theirs, ours = medians(*both)
        print_row(name, f"{1e3 * theirs:.2f}", f"{1e3 * ours:.2f}", f"{theirs / ours:.1f}")


def blocks() -> None:
    """Print the second table."""
    radii = (4, 16, 32)
    print_head("subwords of a row", *(f"r {radius}" for radius in radii))
    for length in (64, 128, 256, 512):
        cells = (", ".join(f"{_faster(length, radius, causal):.1f}" for causal in (False, True)) for radius in radii)
        print_row(f"{length}", *cells)


def _faster(length: int, radius: int, causal: bool) -> float:
    """How many times faster blocks are, on 512 subwords."""
    rows, size = 512 // length, max(radius, SMALLEST)
    q, k, v = (torch.randn(rows, HEADS, length, D_MODEL // HEADS, requires_grad=True) for _ in range(3))
    number, place = torch.zeros(rows, length, dtype=torch.long), torch.arange(length)
    behind = place[:, None] - place
    shown = (behind <= radius) & (behind >= (0 if causal else -radius))
    mask = torch.where(shown, 0.0, HIDDEN).expand(rows, 1, -1, -1)
    cut = torch.where(shown_in_blocks(number, size, radius, causal), 0.0, HIDDEN)
    whole, parts = medians(
        differentiated(lambda: attention(q, k, v, mask)), differentiated(lambda: in_blocks(attention, q, k, v, cut))
    )
    return whole / parts


def precisions() -> None:
    """Print the third table. The models have N 2, d_ff 4 d_model and h 8."""
    widths, vocabularies = (64, 128, 256, 512), (VOCABULARY, 10_000)
    print_head("subwords a step", *(f"d_model {width}" for width in widths))
    for tokens in (512, 2048):
        cells = (", ".join(f"{_bfloat16(width, tokens, each):.1f}" for each in vocabularies) for width in widths)
        print_row(f"{tokens}", *cells)


def _bfloat16(width: int, tokens: int, vocabulary: int) -> float:
    """How many times faster a step is in bfloat16 than in float32."""
    with TemporaryDirectory() as folder:
        pairs = drawn_pairs(Path(folder) / "pairs", drawn_lengths(tokens, 60), vocabulary)
        works = []
        for precision in ("float32", "bfloat16"):
            run = sized(2, width, 4 * width, HEADS, batch_tokens=tokens, precision=precision)
            ours = Ours(run, vocabulary, pairs, torch.device("cpu"))
            steps = cycle([step for *_, step in islice(ours.trainer.batches.from_position(0, 0), 5)])
            works.append(lambda ours=ours, steps=steps: ours.step(next(steps)))
        single, half = medians(works[0], works[1], 15)
    return single / half


def main() -> None:
    """Print the tables."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    keep_freed_memory()
    for table in (operations, blocks, precisions):
        print()
        table()


if __name__ == "__main__":
    main()
