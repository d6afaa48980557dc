"""Time works in turns, and see how much other programs compute meanwhile."""

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

Work = Callable[[int], object]  # takes the number of the round
STATISTICS = Path("/proc/stat")
# Its columns user, nice, system, irq, softirq and steal. The others are idle time, or are part of these.
BUSY = (0, 1, 2, 5, 6, 7)


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
            times[number, which] = seconds(partial(works[which], number), clock)
    return times


def busy() -> float:
    """The seconds that the CPU cores of this process have computed for any program. NaN where Linux does not tell."""
    try:
        lines = STATISTICS.read_text().splitlines()
    except OSError:
        return np.nan
    cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    counts = (line.split()[1:] for line in lines if line.partition(" ")[0] in cores)
    return sum(int(each[column]) for each in counts for column in BUSY) / os.sysconf("SC_CLK_TCK")


def used_by_others(work: Callable[[], float]) -> float:
    """How many of this process's CPU cores other programs use, on average over some work. NaN where unknown.

    `work` returns the CPU seconds that other processes take for it.
    """
    start, before = time.monotonic(), busy() - time.process_time()
    own = work()
    others = busy() - time.process_time() - before - own
    return float(np.maximum(0.0, others / (time.monotonic() - start)))  # NaN stays NaN
