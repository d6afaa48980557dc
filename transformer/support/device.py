"""The device a run uses: which one, how fast, and whether it multiplies matrices of bfloat16."""

import ctypes
import os
import platform
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

import torch
from torch import nn

from transformer.support.files import InputError, locked

SHAPES = 64  # for which a model is compiled at most; batches of further ones would be computed uncompiled
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's mallopt


def keep_freed_memory() -> None:
    """Have glibc keep what a step frees: else the next one, on a CPU, spends 5 % on faulting pages in again."""
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


# What PyTorch says on a CPU, and CTranslate2.
_TOO_MUCH = ("can't allocate memory", "Storage size calculation overflowed", "failed to allocate memory")


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


def choose_device(local_rank: int = 0, local_size: int = 1) -> torch.device:
    """A GPU that no other process of this user has, which is this one's until it ends; the CPU where there are no GPUs.

    Of `local_size` processes of this machine that train together, each has the GPU of its number, and the first takes
    all of them. Waits, with a message, while GPUs are taken. Raises InputError when there are too few GPUs.
    """
    if not torch.cuda.is_available():
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if local_size > count:
        raise InputError(f"{local_size} processes want a GPU each, but PyTorch finds {count}; start fewer")
    number = local_rank
    if local_size == 1:
        number, _ = _taken(*range(count))
    elif local_rank == 0:
        for each in range(local_size):  # in this order, so that two such trainings never wait for each other
            _taken(each)
    torch.cuda.set_device(number)
    torch.backends.cuda.enable_cudnn_sdp(False)  # it plans anew, for up to half a second, for each new shape
    return torch.device("cuda", number)


@cache
def _taken(*numbers: int) -> tuple[int, IO[str]]:
    """The first of some GPUs to be free, and its lock, which the cache keeps until this process ends.

    The lock is named by the GPU's UUID, because other processes may see the same GPU under another number.
    """
    files = {}
    for number in numbers:
        uuid = torch.cuda.get_device_properties(number).uuid
        path = Path(tempfile.gettempdir(), f"transformer-{os.getuid()}-gpu-{uuid}.lock")
        try:
            files[number] = path.open("a")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); set TMPDIR to another folder") from error
    told = False
    while True:
        for number, file in files.items():
            if locked(file):
                return number, file
        if not told:
            which = "the GPU is" if len(files) == 1 else f"all {len(files)} GPUs are"
            print(f"{which} taken by other commands of yours; waiting until one ends", file=sys.stderr, flush=True)
            told = True
        time.sleep(1)


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


def sustained_flops(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of large matrix products in `dtype`, on the threads in use: the best of five times, after a first product.

    A GPU multiplies matrices of [8192, 8192], five in a row; smaller ones, or one by itself, would not fill it.
    """
    size, products = (8192, 5) if device.type == "cuda" else (1024, 1)
    a = torch.randn(size, size, device=device).to(dtype)
    product = a @ a

    def work() -> None:
        for _ in range(products):
            torch.mm(a, a, out=product)

    return products * 2 * size**3 / min(_seconds(work, device) for _ in range(5))


def auto_precision(device: torch.device) -> str:
    """bfloat16 where the hardware multiplies it, else float32.

    It does on a GPU of CUDA capability 8.0 or above, and on a CPU with AVX512-BF16 or AMX.
    """
    if device.type == "cuda":
        able = torch.cuda.get_device_capability(device) >= (8, 0)
    else:
        able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    return "bfloat16" if able else "float32"


@cache
def can_compile() -> bool:
    """Whether the C compiler and Python's headers are there with which PyTorch compiles for a GPU; if not, says so."""
    headers = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")  # where Triton looks for them
    missing = [] if any(map(shutil.which, (os.environ.get("CC", ""), "gcc", "clang"))) else ["no C compiler"]
    missing += [] if headers.exists() else [f"no {headers}"]
    if missing and os.environ.get("RANK", "0") == "0":
        print(
            f"{' and '.join(missing)} found, so PyTorch cannot compile for the GPU and is slower; install gcc and "
            "Python's headers (Debian: apt-get install gcc python3-dev)",
            file=sys.stderr,
        )
    return not missing


def compile_in_place(model: nn.Module) -> None:
    """Have PyTorch fuse a model's operations when it is first called with batches of a shape, of which there are few.

    From its third batch of a shape on, a GPU does them as one CUDA graph. What a graph returns is overwritten by the
    next one, so gradients have to be added to memory of their own. Where compiling fails, PyTorch says so and goes on
    without.
    """
    torch._dynamo.config.suppress_errors = True
    torch._dynamo.config.recompile_limit = SHAPES
    model.compile(dynamic=False, mode="reduce-overhead")
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)


def _seconds(work: Callable[[], object], device: torch.device) -> float:
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
