"""This machine's CPU. It is asked without PyTorch, which takes most of a second to load."""

import os
import platform
import time
from collections.abc import Callable
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

SIZE = 1024  # of the matrices with which its speed is measured


def cores() -> int:
    """How many CPU cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name() -> str:
    """The name of the CPU's model."""
    return _described().get("model name") or platform.processor() or platform.machine()


@cache
def cpu_precision() -> str:
    """bfloat16 where the CPU multiplies bfloat16 matrices, with AVX512-BF16 or AMX; else float32."""
    able = not {"avx512_bf16", "amx_tile"}.isdisjoint(_described().get("flags", "").split())
    return "bfloat16" if able else "float32"


def peak_flops(flops: float, product: Callable[[], object]) -> float:
    """Measure the FLOP/s of a matrix product that takes `flops`: in the fastest of five, after one to warm up."""
    product()
    times = [time.perf_counter()]
    for _ in range(5):
        product()
        times.append(time.perf_counter())
    return flops / min(after - before for before, after in pairwise(times))


def core_flops() -> float:
    """Measure the FLOP/s of a core in products of large float32 matrices, while all cores compute."""
    import numpy as np

    a = np.ones((SIZE, SIZE), np.float32)
    return peak_flops(2 * SIZE**3, partial(np.matmul, a, a, out=np.empty_like(a))) / cores()


def _described() -> dict[str, str]:
    """What Linux says of the first core. Empty on other systems."""
    information = Path("/proc/cpuinfo")
    lines = information.read_text().partition("\n\n")[0].splitlines() if information.exists() else []
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
