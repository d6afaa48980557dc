"""Show how the steps of an epoch fill their rows.

    python -m benchmarks.shapes --tokens results/EXPERIMENT/tokens/TASK/train --batch-tokens 25000

Prints the number of steps, their shapes (rows x source subwords, target subwords), the share of padding on each side,
and the median number of subwords without padding in a step, on each side.
"""

import argparse
import time
from pathlib import Path

import numpy as np

from transformer.text.batches import Batches
from transformer.text.tokens import Pairs


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=Path, required=True, help="the pairs, without .ids.npy and .offsets.npy")
    parser.add_argument(
        "--batch-tokens", type=int, default=25_000, help="subwords of a step on each side (default: %(default)s)"
    )
    parser.add_argument(
        "--longest-pair", type=int, default=256, help="the most subwords of a sentence (default: %(default)s)"
    )
    arguments = parser.parse_args()
    pairs = Pairs.read(arguments.tokens)
    tokens = arguments.batch_tokens
    start = time.perf_counter()
    steps = list(Batches(pairs, tokens, tokens, arguments.longest_pair, seed=1).epoch(0))
    seconds = time.perf_counter() - start
    held = np.array([pairs.lengths[step.pairs].sum(0) for step in steps])
    places = np.array([step.shape.rows * np.array(step.shape[1:]) for step in steps])
    padding, median = 100 * (1 - held.sum(0) / places.sum(0)), np.median(held, 0)
    kinds = sorted({step.shape for step in steps})
    shapes = [f"{shape.rows} x {shape.source}, {shape.target}" for shape in kinds]
    print(f"{len(steps)} steps of {'; '.join(shapes)}; {1000 * seconds / len(steps):.1f} ms to pack one")
    print(f"padding: source {padding[0]:.1f} %, target {padding[1]:.1f} %")
    print(f"subwords a step: source {median[0]:,.0f}, target {median[1]:,.0f}")


if __name__ == "__main__":
    main()
