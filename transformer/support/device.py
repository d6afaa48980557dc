"""Choose the device of a run, measure its speed, choose its precision, and compile models for it."""

import ctypes
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from typing import IO

import torch
from torch import nn

from transformer.support.cpu import cpu_name, cpu_precision, peak_flops
from transformer.support.files import InputError, locked, one_line

SHAPES = 64  # PyTorch compiles a model for at most this many batch shapes; batches of other shapes run uncompiled
LONG = 1024  # on an H100, one kernel for LayerNorm's gradient is slow for rows of 512, and fast for rows of 1024
WHOLE = 2**62  # how many bytes of its lock file stand for a whole GPU; the file itself is empty
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # options of glibc's mallopt


def keep_freed_memory() -> None:
    """Make glibc keep the memory that a training step frees.

    Otherwise the next step on a CPU spends 5 % of its time on page faults.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


# PyTorch, CTranslate2, CUDA and its libraries say this when memory runs out.
_TOO_MUCH = (
    *("can't allocate memory", "Storage size calculation overflowed", "failed to allocate memory"),
    *("CUDA error: out of memory", "[CUDA]: out of memory", "STATUS_ALLOC_FAILED"),
)


@contextmanager
def within_memory(what: str, remedy: str) -> Iterator[None]:
    """Raises InputError with the remedy when the enclosed code runs out of memory, on a CPU or a GPU."""
    try:
        yield
    except InputError:
        raise  # it already says what to do
    except Exception as error:
        if not out_of_memory(error):
            raise
        raise InputError(f"{what}: out of memory; {remedy}") from error


def out_of_memory(error: BaseException | None) -> bool:
    """Whether memory has run out. PyTorch's compiler hides that behind its own errors."""
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or any(text in str(error) for text in _TOO_MUCH):
            return True
        error = error.__cause__ or error.__context__
    return False


def first_cause(error: BaseException) -> str:
    """The type and the first line of the error that led to this one."""
    while before := error.__cause__ or error.__context__:
        error = before
    return one_line(error)


def choose_device(local_rank: int = 0, local_size: int = 1, trainings_per_gpu: int = 1) -> torch.device:
    """Reserve a free GPU for this process until it ends, or return the CPU where there is no GPU.

    A GPU is free if no other process of this user has reserved it. This function prints a message and waits while no
    GPU is free. A process with `trainings_per_gpu` n reserves an n-th of a GPU, so up to n such processes share it;
    they spread over the GPUs. If `local_size` processes of this machine train together, each uses the GPU with the
    number `local_rank`, and the first process reserves all of these GPUs, always as a whole. Raises InputError when
    there are too few GPUs, when PyTorch has no code for a GPU, when it cannot use the GPU that Slurm has given to this
    job, and when the lock of a GPU cannot be written.
    """
    if not torch.cuda.is_available():
        if Path("/dev/nvidia0").exists() and os.environ.get("CUDA_VISIBLE_DEVICES") != "":
            problem = (
                "this machine has an NVIDIA GPU, but PyTorch cannot use it: the driver is too old for PyTorch "
                f"{torch.__version__}, or this PyTorch has no CUDA"
            )
            if "SLURM_GPUS_ON_NODE" in os.environ:
                raise InputError(f"{problem}; see docs/install.md, or set gpu: 0 in the profile to use CPUs")
            if local_rank == 0:
                print(f"warning: {problem}. The CPU computes", file=sys.stderr)
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if local_size > count:
        raise InputError(f"{local_size} processes need a GPU each, but PyTorch finds {count}; start fewer processes")
    number = local_rank
    if local_size == 1:
        number, _ = _taken(*range(count), parts=trainings_per_gpu)
    elif local_rank == 0:
        for each in range(local_size):  # every training takes GPUs in this order, so two never wait for each other
            _taken(each)
    _check_code(number)
    use_gpu(number)
    return torch.device("cuda", number)


def use_gpu(number: int) -> None:
    """Let this process use a GPU that it, or the process that started it, has reserved."""
    torch.cuda.set_device(number)
    torch.backends.cuda.enable_cudnn_sdp(False)  # cuDNN's attention spends up to half a second on each new shape


def _check_code(number: int) -> None:
    """Raises InputError when this PyTorch is built for newer GPUs only."""
    numbers = [int(each.removeprefix("sm_").rstrip("af")) for each in torch.cuda.get_arch_list() if each[:3] == "sm_"]
    built = [divmod(number, 10) for number in numbers]  # none for an AMD GPU
    if built and (capability := torch.cuda.get_device_capability(number)) < min(built):
        has, needs = ("{}.{}".format(*each) for each in (capability, min(built)))
        raise InputError(
            f"{torch.cuda.get_device_name(number)} has CUDA capability {has}, but PyTorch {torch.__version__} needs "
            f"{needs} or above; install a PyTorch for an older CUDA, or set CUDA_VISIBLE_DEVICES= to use the CPU"
        )


@cache
def _taken(*numbers: int, parts: int = 1) -> tuple[int, IO[str]]:
    """Wait until one of the `parts` of one of these GPUs is free, and lock it; returns its number and the lock's file.

    The cache keeps the file open, and so locked, until this process ends. The GPU's UUID names the file, because other
    processes may see the same GPU under another number. Each part locks its share of the bytes, so parts of different
    sizes never overlap.
    """
    files = {}
    for number in numbers:
        uuid = torch.cuda.get_device_properties(number).uuid
        path = Path(tempfile.gettempdir(), f"transformer-{os.getuid()}-gpu-{uuid}.lock")
        try:
            files[number] = path.open("a")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror}); set TMPDIR to another folder") from error
    waiting = False
    while True:
        for part, (number, file) in product(range(parts), files.items()):
            if locked(file, part=range(part * WHOLE // parts, (part + 1) * WHOLE // parts)):
                return number, file
        if not waiting:
            which, it = ("the GPU is", "it") if len(files) == 1 else (f"all {len(files)} GPUs are", "one")
            text = f"{which} taken by other commands of yours; waiting until {it} is free"
            print(text, file=sys.stderr, flush=True)
            waiting = True
        time.sleep(1)


def device_name(device: torch.device) -> str:
    """The name of the GPU's or the CPU's model."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return cpu_name()


def sustained_flops(device: torch.device, dtype: torch.dtype) -> float:
    """Measure the FLOP/s of large matrix products in `dtype`, with as many threads as PyTorch uses now.

    See `peak_flops`. On a GPU a timing covers five products of [8192, 8192] matrices, because smaller matrices or a
    single product would not use all of the GPU.
    """
    size, products = (8192, 5) if device.type == "cuda" else (1024, 1)
    a = torch.randn(size, size, device=device).to(dtype)
    product = torch.empty_like(a)

    def work() -> None:
        for _ in range(products):
            torch.mm(a, a, out=product)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    return peak_flops(products * 2 * size**3, work)


def auto_precision(device: torch.device) -> str:
    """bfloat16 where the hardware multiplies bfloat16 matrices, as GPUs of CUDA capability 8.0 do; else float32."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.get_device_capability(device) >= (8, 0) else "float32"
    return cpu_precision()


@cache
def can_compile() -> bool:
    """Whether PyTorch finds the C compiler and the Python headers with which it compiles for a GPU.

    If something is missing, prints one line that says what.
    """
    headers = Path(sysconfig.get_path("include", "posix_prefix"), "Python.h")  # where Triton looks for them
    missing = [] if any(map(shutil.which, (os.environ.get("CC", ""), "gcc", "clang"))) else ["no C compiler"]
    missing += [] if headers.exists() else [f"no {headers}"]
    if missing and os.environ.get("RANK", "0") == "0":
        print(
            f"{' and '.join(missing)} found, so PyTorch cannot compile for the GPU and runs slower; install gcc and "
            "Python's headers (Debian: apt-get install gcc python3-dev; on a cluster: module load gcc)",
            file=sys.stderr,
        )
    return not missing


def compile_in_place(model: nn.Module, width: int) -> None:
    """Make PyTorch compile a model when it first sees a batch of a new shape; there must be few shapes.

    `width` is the length of the rows that LayerNorm normalises.
    """
    torch._dynamo.config.recompile_limit = SHAPES
    # One kernel would sum a LayerNorm's gradients over rows and over columns. For short rows, two are faster.
    mixed = "triton.mix_order_reduction"
    apart = width < LONG and mixed in torch._inductor.list_options()  # a later PyTorch may lack this option
    model.compile(dynamic=False, options={mixed: False} if apart else None)
