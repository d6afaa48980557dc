"""Show what our choices for a CPU gain, in turns on one thread.

    python -m benchmarks.cpu_training

Prints two tables, from medians of CPU time over the rounds.

1. The kernels, and the loss, beside their definitions. Those for training take forward and backward
   together, with the sizes of `quick`: 9 rows of 59 subwords in five sentences, d_model 128, 8 heads, 3,000 subwords.
   The last two are of decoding: attention of 64 sentences with a beam of 4 and 48 positions, and encoding 400
   sentences.
2. A step of training: how many times faster it is in bfloat16 than in float32, with 3,000 and with 10,000 subwords.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from benchmarks.gpu.made import drawn_lengths, drawn_pairs
from benchmarks.measuring import print_head, print_row
from benchmarks.train import Ours, sized
from transformer.evaluation.turns import in_turns
from transformer.model import kernels
from transformer.model.attention import additive_scores, attention
from transformer.model.ids import UNKNOWN
from transformer.model.kernels import encoder_batches
from transformer.model.layers import Dropout, Residual
from transformer.model.masks import Mask, Rows
from transformer.model.transformer import Transformer
from transformer.support.device import auto_precision, keep_freed_memory
from transformer.training.loss import smoothed_cross_entropy

ROWS, LENGTH, D_MODEL, HEADS, VOCABULARY = 9, 59, 128, 8, 3000
ROUNDS = 50
CPU = torch.device("cpu")


def differentiated(form: Callable[..., Any], *given: Any) -> Callable[[], None]:
    """The forward pass of `form` and its backward pass."""

    learnt = [each for each in given if isinstance(each, Tensor) and each.requires_grad]

    def both() -> None:
        y = form(*given)
        torch.autograd.grad(y, learnt, y.detach())

    return both


def without_kernels(work: Callable[[], object]) -> Callable[[], None]:
    """The work, done by the definitions."""

    def defined() -> None:
        kernels.ON = False
        work()
        kernels.ON = True

    return defined


def medians(first: Callable[[], object], second: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """The median CPU times of two works, which take turns. The first round does not count."""
    times = in_turns([lambda _: first(), lambda _: second()], rounds + 1, time.process_time)
    return np.median(times[1:], 0).tolist()


def drawn(*shape: int) -> Tensor:
    """A random tensor whose gradient is wanted, of the type in which this CPU trains."""
    return torch.randn(*shape, dtype=getattr(torch, auto_precision(CPU)), requires_grad=True)


def operations() -> None:
    """Print the first table."""
    q, k, v = (drawn(ROWS, HEADS, LENGTH, D_MODEL // HEADS) for _ in range(3))
    sentence = torch.arange(LENGTH) * 5 // LENGTH
    mask = Mask((sentence[:, None] == sentence)[None])
    x, y = drawn(ROWS, LENGTH, D_MODEL), drawn(ROWS, LENGTH, D_MODEL)
    residual = Residual(D_MODEL, 0.1).to(x.dtype)
    vector, target = drawn(HEADS, D_MODEL // HEADS), torch.randint(1, VOCABULARY, (ROWS * LENGTH,))
    learnt = drawn(ROWS * LENGTH, VOCABULARY)
    overwritten = learnt.detach().clone()

    def plain_loss() -> None:
        torch.autograd.grad(F.cross_entropy(learnt.float(), target, reduction="sum", label_smoothing=0.1), learnt)

    def both(form: Callable[..., Any], *given: Any) -> tuple[Callable[[], None], ...]:
        work = differentiated(form, *given)
        return without_kernels(work), work

    rows: dict[str, tuple[Callable[[], object], ...]] = {
        "attention, equation 1": both(attention, q, k, v, mask.bias, 0.25),
        "attention, PyTorch's fused": (
            differentiated(fused, q, k, v, mask.bias, 0.25),
            differentiated(attention, q, k, v, mask.bias, 0.25),
        ),
        "scores of additive attention": both(additive_scores, q, k, vector, mask.shown),
        "dropout": both(Dropout(0.1), x),
        "dropout, residual, LayerNorm": both(residual, x, y),
        "smoothed cross-entropy": (plain_loss, lambda: smoothed_cross_entropy(overwritten.clone(), target, 0.1)),
    }
    rows |= {"attention of a decoding step": decoding_step(), "encoding in parts": encoding()}
    print_head("operation", "definition, ms", "kernel, ms", "x")
    for name, works in rows.items():
        theirs, ours = medians(*works)
        print_row(name, f"{1e3 * theirs:.2f}", f"{1e3 * ours:.2f}", f"{theirs / ours:.1f}")


def decoding_step() -> tuple[Callable[[], object], Callable[[], object]]:
    """Equation 1 for the newest subword of each hypothesis."""
    q, k, v = (torch.randn(64, HEADS, size, D_MODEL // HEADS) for size in (4, 48, 48))
    bias = torch.zeros(64, 1, 4, 48)
    work = partial(attention, q, k, v, bias, 0.25)
    return without_kernels(work), work


def encoding() -> tuple[Callable[[], object], Callable[[], object]]:
    """The encoder's pass over sentences sorted by length: all at once, and in parts."""
    model = Transformer(sized(2, D_MODEL, 4 * D_MODEL, HEADS).architecture, VOCABULARY).eval()
    lengths = sorted(drawn_lengths(400, 100)[:, 0].tolist(), reverse=True)
    source = pad_sequence([torch.full((length,), UNKNOWN) for length in lengths], batch_first=True)

    def encode(parts: list[Tensor]) -> None:
        with torch.inference_mode():
            for part in parts:
                model.encode(Rows.of(part))

    return lambda: encode([source]), lambda: encode(encoder_batches(source))


def fused(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, scale: float) -> Tensor:
    """PyTorch's own attention."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=bias.to(q.dtype), scale=scale)


def precisions() -> None:
    """Print the second table. The models have N 2, d_ff 4 d_model and h 8."""
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
            ours = Ours(run, vocabulary, pairs, CPU)
            steps = cycle([step for *_, step in islice(ours.trainer.batches.from_position(0, 0), 5)])
            works.append(lambda ours=ours, steps=steps: ours.step(next(steps)))
        single, half = medians(works[0], works[1], 15)
    return single / half


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    keep_freed_memory()
    for table in (operations, precisions):
        print()
        table()


if __name__ == "__main__":
    main()
