"""The device a run uses: which one, how fast, and whether bfloat16 is the faster precision on it."""

import ctypes
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import nn

from transformer.support.files import InputError

# Padded subwords of a side in one forward pass of training, by the type of the device.
MICRO_BATCH_TOKENS = {"cpu": 4096, "cuda": 25_000}
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt


def keep_freed_memory() -> None:
    """Have glibc keep what a step frees: else the next one, on a CPU, spends 5 % on faulting pages in again."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


_TOO_MUCH = ("can't allocate memory", "Storage size calculation overflowed")  # what PyTorch says on a CPU


@contextmanager
def within_memory(what: str, remedy: str) -> Iterator[None]:
    """Raises InputError with the remedy when memory runs out, on a CPU or a GPU."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        by_type = isinstance(error, torch.OutOfMemoryError | MemoryError)
        if not by_type and not any(text in str(error) for text in _TOO_MUCH):
            raise
        raise InputError(f"{what}: out of memory; {remedy}") from error


def choose_device(local_rank: int = 0) -> torch.device:
    """The GPU of that number where there are GPUs, else the CPU. Raises InputError when there are fewer GPUs."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank >= (count := torch.cuda.device_count()):
        raise InputError(f"{local_rank + 1} processes or more want a GPU each, but PyTorch finds {count}; start fewer")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def device_name(device: torch.device) -> str:
    """The device's model."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def sustained_flops(device: torch.device, dtype: torch.dtype, size: int = 1024) -> float:
    """FLOP/s of a [size, size] matrix product in `dtype` on the threads in use: the best of five."""
    a = torch.randn(size, size, device=device).to(dtype)
    seconds = min(_seconds(lambda: a @ a, device) for _ in range(5))
    return 2 * size**3 / seconds


def faster_precision(device: torch.device) -> str:
    """bfloat16 where its matrix products are at least 1.3 times as fast as those of float32, else float32."""
    gain = sustained_flops(device, torch.bfloat16, 512) / sustained_flops(device, torch.float32, 512)
    return "bfloat16" if gain >= 1.3 else "float32"


def compile_in_place(model: nn.Module) -> None:
    """Have PyTorch fuse a model's operations when it is first called, one graph for batches of all sizes.

    Where that fails, PyTorch says so and goes on without.
    """
    torch._dynamo.config.suppress_errors = True
    model.compile(dynamic=True)


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
