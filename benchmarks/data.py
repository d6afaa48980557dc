"""Measure the way from clean text to batches at the size of WMT 2014, beside SentencePiece alone.

    python -m benchmarks.data --source TRAIN.source --target TRAIN.target --model SUBWORDS.model

The pairs are made from real ones: one or two random sentences of the given text on each line, then a word of another
sentence and a number, so that few lines repeat. Prints a table. For each number of pairs it has the seconds that
SentencePiece alone takes to encode all lines with as many threads, the seconds and the most memory of `transformer
encode` and of one epoch of batches, and the ratio of speeds. The last row extrapolates these numbers linearly to 40
million pairs.
"""

import argparse
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import psutil
import sentencepiece

from benchmarks.measuring import print_head, print_row
from transformer.evaluation.turns import seconds
from transformer.support.files import read_parallel, stream_lines
from transformer.text.batches import Batches
from transformer.text.tokens import Pairs

EXTRAPOLATED = 40e6


def made_pairs(sources: list[str], targets: list[str], count: int, seed: int) -> Iterator[tuple[str, str]]:
    """`count` pairs made from real ones."""
    draw = random.Random(seed)
    for _ in range(count):
        which = draw.choices(range(len(sources)), k=draw.randint(1, 2))
        number, other = draw.randrange(10**6), draw.randrange(len(sources))
        yield tuple(  # type: ignore[misc]
            f"{' '.join(side[i] for i in which)} {side[other].partition(' ')[0]} {number}"
            for side in (sources, targets)
        )


class Memory:
    """Measures the most memory that all children of this process use together, without mapped files."""

    def __enter__(self) -> "Memory":
        self.most, self.over = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        """Look at all children five times a second."""
        while not self.over.wait(0.2):
            total = 0
            for process in psutil.Process().children(recursive=True):
                with suppress(OSError, IndexError):  # the child has ended
                    memory = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                    total += 1024 * int(memory.partition("Anonymous:")[2].split()[0])
            self.most = max(self.most, total)

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()


def alone(model: Path, paths: list[Path], threads: int) -> float:
    """The seconds in which SentencePiece encodes all lines of some files, without reading them."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    spent = 0.0
    for path in paths:
        lines = stream_lines(path)
        while some := list(islice(lines, 100_000)):
            spent += seconds(lambda some=some: processor.encode(some, num_threads=threads))
    return spent


def epoch(prefix: Path, tokens: int) -> None:
    """Make all batches of one epoch."""
    pairs = Pairs.read(prefix)
    for step in Batches(pairs, tokens, tokens, 256, 1).epoch(0):
        step.batch(pairs, np.arange(step.shape.rows))


def print_times(
    pairs: str, subwords: str, alone: float, encode: float, encoding: float, batches: float, batching: float
) -> None:
    """Print a row of the table."""
    times = (f"{alone:.1f}", f"{encode:.1f}", f"{encoding:.2f}", f"{batches:.1f}", f"{batching:.2f}")
    print_row(pairs, subwords, *times, f"{100 * alone / (encode + batches):.0f} %")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, required=True, help="text")
    parser.add_argument("--target", type=Path, required=True, help="its translation")
    parser.add_argument("--model", type=Path, required=True, help="a vocabulary learned from this text")
    sizes = [500_000, 1_000_000, 2_000_000, 4_500_000]
    parser.add_argument("--pairs", type=int, nargs="+", default=sizes, help="numbers of pairs (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads (default: %(default)s)")
    parser.add_argument(
        "--batch-tokens", type=int, default=25_000, help="subwords of a step on each side (default: %(default)s)"
    )
    parser.add_argument("--folder", type=Path, help="for the made text (default: a temporary folder)")
    arguments = parser.parse_args()
    real = read_parallel(arguments.source, arguments.target)
    spawn = get_context("spawn")
    columns = ("SentencePiece alone, s", "encode, s", "GB", "batches, s", "GB", "of SentencePiece's speed")
    print_head("pairs", "subwords", *columns)
    rows = []
    with TemporaryDirectory(dir=arguments.folder) as folder:
        texts = [Path(folder, f"train.{side}") for side in ("source", "target")]
        prefix = Path(folder, "train")
        for count in arguments.pairs:
            with texts[0].open("w") as sources, texts[1].open("w") as targets:
                for source, target in made_pairs(*real, count, seed=count):
                    sources.write(f"{source}\n")
                    targets.write(f"{target}\n")
            command = [sys.executable, "-m", "transformer", "encode", "--subwords", str(arguments.model)]
            command += ["--source", str(texts[0]), "--target", str(texts[1]), "--output", str(prefix)]
            command += ["--threads", str(arguments.threads)]
            peer = alone(arguments.model, texts, arguments.threads)
            with Memory() as encoding:
                encode = seconds(lambda command=command: subprocess.run(command, check=True))
            with Memory() as batching:
                process = spawn.Process(target=epoch, args=(prefix, arguments.batch_tokens))
                process.start()
                batches = seconds(process.join)
            if process.exitcode:
                raise SystemExit("making batches failed, for the reason above")
            rows.append((count, peer, encode, encoding.most / 1e9, batches, batching.most / 1e9))
            print_times(f"{count:,}", f"{len(Pairs.read(prefix).ids):,}", *rows[-1][1:])
    counts, *measured = np.array(rows).T
    extrapolated = (np.polyval(np.polyfit(counts, one, 1), EXTRAPOLATED) for one in measured)
    print_times("40,000,000, extrapolated", "", *extrapolated)


if __name__ == "__main__":
    main()
