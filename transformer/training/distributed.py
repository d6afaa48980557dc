"""Data-parallel training: torchrun starts one process per GPU, and together they train one run."""

import contextlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.constants import default_pg_timeout
from torch.nn.parallel import DistributedDataParallel

from transformer.support.files import InputError

T = TypeVar("T")
MEETING = timedelta(minutes=2)  # how long processes wait for each other at the start
# How long a process waits for another that evaluates, writes or waits for GPUs. A dead process is noticed at once.
PATIENCE = timedelta(hours=6)
# How long a GPU waits for another's gradients. All processes meet before each step, but one may compile longer.
GRADIENTS_PATIENCE = timedelta(minutes=10)
PLACE = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
TORCHRUN = "start the command with torchrun, which sets these variables, or unset WORLD_SIZE to train in one process"


@dataclass(frozen=True)
class World:
    """The processes that train a run, and this process's place among them. Without torchrun there is one process."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes on this machine
    local_size: int = 1  # number of processes on this machine

    @property
    def first(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """Which elements of a sequence belong to this process: every `size`-th."""
        return slice(self.rank, None, self.size)

    def gather(self, mine: Tensor) -> Tensor:
        """The tensors of all processes, [size, ...], on the CPU. Every process waits until all have called."""
        mine = mine.detach().cpu()
        if self.size == 1:
            return mine[None]
        all_of_them = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(all_of_them, mine)
        return torch.stack(all_of_them)

    def of_first(self, value: T) -> T:
        """The value that process 0 passes, in every process."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        return values[0]

    def wait(self) -> None:
        """Wait until every process has called this."""
        self.gather(torch.zeros(()))


ALONE = World()


@contextlib.contextmanager
def process_group() -> Iterator[World]:
    """Join the processes that torchrun's environment variables describe; they communicate through Gloo.

    If there are several processes, they all end when the block ends. They end at once, because Gloo's threads sometimes
    abort an orderly exit. Their status is 0, or that of `sys.exit` in the block. The first process that fails raises
    its error; the others then exit silently. Raises InputError when a variable is wrong or missing, when the processes
    do not meet, and when one has died.
    """
    world = _place()
    if world.size == 1:
        yield ALONE
        return
    store = _rendezvous(world)
    dist.init_process_group("gloo", store=store, rank=world.rank, world_size=world.size, timeout=PATIENCE)
    status: Any = 0
    try:
        try:
            yield world
        except SystemExit as ended:
            status = ended.code
        world.wait()
    except Exception as error:
        if not _first_to_fail(store):
            raise SystemExit(1) from error
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise InputError(
                f"a process of this run has died (noticed by process {world.rank} of {world.size}), perhaps because "
                "memory ran out; start the command again to resume"
            ) from error
        raise
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _place() -> World:
    """This process's place, from torchrun's variables. Raises InputError when one is wrong or missing."""
    given = {name: os.environ.get(name, "") for name in PLACE}
    if given["WORLD_SIZE"] in ("", "1"):
        return ALONE
    world = World(*(int(value) if value.isdecimal() else -1 for value in given.values()))
    if 0 <= world.rank < world.size and 0 <= world.local_rank < world.local_size <= world.size:
        return world
    values = " ".join(f"{name}={value}" for name, value in given.items())
    raise InputError(f"{values} is no place among several processes; {TORCHRUN}")


def _rendezvous(world: World) -> dist.Store:
    """The store through which the processes meet. Raises InputError when they do not meet within MEETING.

    A process that torchrun started ends like after SIGTERM when torchrun dies: torchrun can no longer end it.
    """
    place = " ".join(f"{name}={os.environ.get(name, '')}" for name in ("MASTER_ADDR", "MASTER_PORT"))
    who = f"process {world.rank} of {world.size}"
    if "TORCHELASTIC_USE_AGENT_STORE" in os.environ:
        Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    else:
        print(f"{who} waits for the others at {place}, at most {MEETING.seconds} seconds", file=sys.stderr)
    try:
        with _in_native_code():
            store, _, _ = next(dist.rendezvous("env://", timeout=MEETING))
    except (RuntimeError, ValueError) as error:
        raise InputError(f"{place}: {who} met no others ({str(error).splitlines()[0]}); {TORCHRUN}") from error
    store.set_timeout(default_pg_timeout)
    return store


@contextlib.contextmanager
def _in_native_code() -> Iterator[None]:
    """Let an interrupt end the process at once, and silence what C++ writes to standard error, such as stack traces."""
    kept, handler = os.dup(2), signal.signal(signal.SIGINT, signal.SIG_DFL)
    with Path(os.devnull).open("wb") as null:
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        os.dup2(kept, 2)
        os.close(kept)


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def replicate(
    module: nn.Module, autocast: contextlib.AbstractContextManager[Any], *example: Any
) -> DistributedDataParallel:
    """Wrap a module so that its gradients are the mean over all processes. GPUs exchange them through NCCL.

    DistributedDataParallel fixes the order of its sums in the first pass. This function makes that pass, over
    `example`, so that a resumed run and an uninterrupted run sum in the same order. `example` has to be like the
    batches of training. The pass leaves gradients, but the random state stays as it was.
    """
    gpus = [parameter.device for parameter in module.parameters() if parameter.is_cuda][:1]
    group = dist.new_group(backend="nccl", timeout=GRADIENTS_PATIENCE) if gpus else None
    torch._dynamo.config.optimize_ddp = False  # it would split the compiled graph
    # PyTorch 2.13 deprecates `broadcast_buffers`; 2.11 has nothing in its place
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        replica = DistributedDataParallel(
            module, process_group=group, broadcast_buffers=False, gradient_as_bucket_view=True
        )
    with torch.random.fork_rng(gpus):
        with autocast:
            loss = replica(*example)
        loss.backward()
    return replica


def _first_to_fail(store: dist.Store) -> bool:
    try:
        return store.add("failed", 1) == 1
    except RuntimeError:  # the process that held the store has died
        return True
