"""What the benchmarks share: time works in turns, and print a table row by row."""

import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

Work = Callable[[int], object]  # takes the number of the round


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that some work takes, also on a GPU."""
    start = clock()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def in_turns(works: Sequence[Work], rounds: int, clock: Callable[[], float] = time.perf_counter) -> np.ndarray:
    """The seconds [rounds, works] of works that take turns, so that noise of the machine affects all alike.

    Every second round runs backwards.
    """
    times = np.empty((rounds, len(works)))
    for number in range(rounds):
        for which in range(len(works))[:: (-1) ** number]:
            times[number, which] = seconds(lambda number=number, which=which: works[which](number), clock)
    return times


def print_row(*cells: str) -> None:
    """Print a row of a Markdown table, at once."""
    print(f"| {' | '.join(cells)} |", flush=True)


def print_head(*columns: str) -> None:
    """Print the head of a Markdown table, at once."""
    print_row(*columns)
    print(f"|{'---|' * len(columns)}", flush=True)
