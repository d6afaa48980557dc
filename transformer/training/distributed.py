"""Data-parallel training: torchrun starts one process per GPU, and together they train one run."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transformer.support.files import InputError

T = TypeVar("T")
# How long a process waits for another that evaluates, writes or waits for GPUs. A dead process is noticed at once.
PATIENCE = timedelta(hours=6)
# How long a GPU waits for another's gradients. All processes meet before each step, but one may compile longer.
GRADIENTS_PATIENCE = timedelta(minutes=10)


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
def joined() -> Iterator[World]:
    """Join the processes that torchrun's environment variables describe; they communicate through Gloo.

    All of several processes end together, with the block: at once, because Gloo's threads sometimes abort an orderly
    exit. Their status is 0, or that of `sys.exit` in the block. The first process that fails raises its error; the
    others then exit silently. Raises InputError when a process has died.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    store, rank, size = next(dist.rendezvous("env://"))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=PATIENCE)
    world = World(rank, size, int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
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
                f"a process of this run has died (noticed by process {rank} of {size}), perhaps because memory ran "
                "out; start the command again to resume"
            ) from error
        raise
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def replicated(
    module: nn.Module, autocast: contextlib.AbstractContextManager[Any], *example: Any
) -> DistributedDataParallel:
    """Wrap a module so that its gradients are the mean over all processes. GPUs exchange them through NCCL.

    DistributedDataParallel fixes the order of its sums in the first pass. This function makes that pass, over
    `example`, so that a resumed run and an uninterrupted run sum in the same order. `example` has to be like the
    batches of training. It leaves gradients, but the random state stays as it was.
    """
    gpus = [parameter.device for parameter in module.parameters() if parameter.is_cuda][:1]
    group = dist.new_group(backend="nccl", timeout=GRADIENTS_PATIENCE) if gpus else None
    torch._dynamo.config.optimize_ddp = False  # it would split the compiled graph
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # 2.13 deprecates it, 2.11 has no other
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
