"""Count what a training step asks of a GPU, without a GPU (docs/notes/gpu.md).

    python -m benchmarks.lowering base big

PyTorch compiles the step of each model for an NVIDIA H100, as far as the code of its kernels. It needs g++. A batch has
202 rows of 120 source and 128 target subwords, like most batches of WMT. Prints a table: launches of compiled kernels
and what they read and write, matrix products, attentions, products in float32 (there should be none), and the other
operations of a step. The operations that read no tensor or only allocate one do not count.

Models that wait for the GPU in the middle of a step are not compiled as a whole, so they cannot be counted.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.changes import CHANGES
from benchmarks.gpu.training import configured
from benchmarks.lowering.counting import Counts, count
from benchmarks.lowering.pretended import pretend
from benchmarks.measuring import print_head, print_row
from transformer.support.files import write_json
from transformer.text.batches import Shape

SHAPE = Shape(202, 120, 128)


def counted(model: str, layers: int) -> Counts:
    """The counts of a row of the experiment `paper`. `layers` replaces its number of layers, unless it is 0."""
    run, vocabulary = configured(model, tiny=False)
    run = replace(run, architecture=replace(run.architecture, N=layers or run.architecture.N))
    return count(run, vocabulary, SHAPE)


def main() -> int:
    """Count the models that are named."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.lowering", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="+", help="rows of the experiment paper, such as base, big, aop1, parser")
    parser.add_argument(
        "--layers", type=int, default=0, help="replace N of each model, to count faster (default: its own)"
    )
    parser.add_argument("--change", choices=CHANGES, help="switch something off or on (benchmarks/changes.py)")
    parser.add_argument("--json", type=Path, help="also write everything that was counted to this file")
    arguments = parser.parse_args()
    pretend()
    if arguments.change:
        CHANGES[arguments.change]()
    found = {}
    print_head("model", "kernels", "GB", "products", "attentions", "TFLOP", "in float32", "other operations")
    for model in arguments.models:
        counts = counted(model, arguments.layers)
        attentions = sum(number for name, number in counts.libraries.items() if "attention" in name)
        graphs = [vars(graph) for graph in counts.graphs]
        sums = {"kernels": counts.kernels, "gigabytes": counts.gigabytes, "flops": counts.flops}
        found[model] = {**sums, "outside": counts.outside, "graphs": graphs}
        float32 = sum(len(graph.float32) for graph in counts.graphs)
        print_row(
            *(model, str(counts.kernels), f"{counts.gigabytes:.1f}", str(counts.products), str(attentions)),
            *(f"{counts.flops / 1e12:.2f}", str(float32), str(sum(counts.outside.values()))),
        )
    if arguments.json:
        write_json(arguments.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
