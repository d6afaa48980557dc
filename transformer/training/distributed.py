"""Several processes that train one run together, one for each GPU, as torchrun starts them."""

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
# How long a process waits for another that evaluates, writes or waits for GPUs. One that has died is noticed at once.
PATIENCE = timedelta(hours=6)
# How long a GPU waits for the gradients of another: all processes meet before each step, but one may compile longer.
GRADIENTS_PATIENCE = timedelta(minutes=10)


@dataclass(frozen=True)
class World:
    """All processes of a run, as one of them sees them. Without torchrun there is one."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0  # among the processes of this machine
    local_size: int = 1  # how many these are

    @property
    def first(self) -> bool:
        """Whether this is process 0."""
        return self.rank == 0

    @property
    def share(self) -> slice:
        """This process's share of what is dealt to all."""
        return slice(self.rank, None, self.size)

    def gather(self, mine: Tensor) -> Tensor:
        """Everyone's tensor, [size, ...], on the CPU. All wait for the last."""
        mine = mine.detach().cpu()
        if self.size == 1:
            return mine[None]
        all_of_them = [torch.empty_like(mine) for _ in range(self.size)]
        dist.all_gather(all_of_them, mine)
        return torch.stack(all_of_them)

    def of_first(self, value: T) -> T:
        """The value that process 0 gives."""
        if self.size == 1:
            return value
        values = [value]
        dist.broadcast_object_list(values, device=torch.device("cpu"))
        return values[0]

    def wait(self) -> None:
        """Go on when all are here."""
        self.gather(torch.zeros(()))

    def leave(self, status: int) -> None:
        """End this process if it is one of several: at once, as Gloo's threads now and then abort an orderly end."""
        if self.size > 1:
            self.wait()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


ALONE = World()


@contextlib.contextmanager
def joined() -> Iterator[World]:
    """The world that torchrun's environment tells of, joined by Gloo.

    An error is raised by the first process to fail and ends the others without a word. Raises InputError when a process
    is gone.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    store, rank, size = next(dist.rendezvous("env://"))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size, timeout=PATIENCE)
    world = World(rank, size, int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
    try:
        yield world
        world.wait()
    except Exception as error:  # the group is left as it is: to end it, too, the others would have to be there
        if not _first_to_fail(store):
            raise SystemExit(1) from error
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise InputError(
                f"a process of this run has gone (seen by process {rank} of {size}), killed perhaps because memory ran "
                "out; start again to go on"
            ) from error
        raise
    except SystemExit:
        dist.destroy_process_group()
        raise
    dist.destroy_process_group()


def replicated(
    module: nn.Module, autocast: contextlib.AbstractContextManager[Any], *example: Any
) -> DistributedDataParallel:
    """A module whose gradients are the mean over all processes, which NCCL exchanges between GPUs.

    The order in which gradients are exchanged, and with it that of the sums, settles after a first pass. One over an
    `example`, like those to come, has a resumed run sum as one that was never interrupted. It draws no random numbers.
    """
    gpus = [parameter.device for parameter in module.parameters() if parameter.is_cuda][:1]
    group = dist.new_group(backend="nccl", timeout=GRADIENTS_PATIENCE) if gpus else None
    torch._dynamo.config.optimize_ddp = False  # it cuts the compiled graph into pieces
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # 2.13 has a new name that 2.11 lacks
        replica = DistributedDataParallel(
            module, process_group=group, broadcast_buffers=False, gradient_as_bucket_view=True
        )
    with torch.random.fork_rng(gpus):
        with autocast:
            loss = replica(*example)
        loss.backward()
    replica.zero_grad()
    return replica


def _first_to_fail(store: dist.Store) -> bool:
    try:
        return store.add("failed", 1) == 1
    except RuntimeError:  # the store has gone with its process
        return True
