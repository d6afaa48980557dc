"""Work that several processes share. They end with this process, however it ends."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any, TypeVar

from transformer.support.files import InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
# What asks processes to end, often all of a job: Ctrl-C, a closed terminal, a batch system, a limit of CPU time.
ASK_TO_END = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU}
AHEAD = 4  # how many items for each process are handed out before the result of the first is taken


@contextmanager
def shared(
    processes: int, what: str, remedy: str, make: Callable[..., Callable[[Item], Result]], *given: object
) -> Iterator[Callable[[Iterable[Item]], Iterator[Result]]]:
    """A function that maps `make(*given)` over items, in order, and shares these among new processes.

    Each process calls `make` once. It does not hear the signals ASK_TO_END: this process ends it, at the latest when it
    ends itself. Raises the errors of `make` and of the function that it makes, and InputError with `what` and `remedy`
    when a process dies.
    """
    pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (make, given))

    def results(items: Iterable[Item]) -> Iterator[Result]:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(_submit(pool, item))
                if len(waiting) == AHEAD * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool as error:
            raise InputError(_died(what, remedy)) from error

    try:
        yield results
    finally:
        for process in list(pool._processes.values()):
            process.kill()  # `shutdown` would wait until it has worked off its items
        pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, item: object) -> Future[Any]:
    with _deaf():  # the first items start the processes
        return pool.submit(_call, item)


@contextmanager
def _deaf() -> Iterator[None]:
    """Let a process that is started here never hear the signals ASK_TO_END: it inherits what is blocked."""
    resource_tracker.ensure_running()  # or the start would do it, and unblock the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ASK_TO_END)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_function: Callable[[], Callable[[Any], Any]]  # of this worker


def _begin(make: Callable[..., Callable[[Any], Any]], given: tuple[object, ...]) -> None:
    """Prepare a worker. It makes its function at the first item: the pool would hide an error of its preparation."""
    global _function
    _function = cache(partial(make, *given))
    Thread(target=_end_with_parent, daemon=True).start()


def _call(item: object) -> Any:
    return _function()(item)


def _end_with_parent() -> None:
    """End this process when its parent has ended, also in the middle of an item."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


@contextmanager
def prefetch(what: str, remedy: str, make: Callable[..., Iterator[Item]], *given: object) -> Iterator[Iterator[Item]]:
    """The items without end of `make(*given)`, made in a new process until some wait in the pipe to this one.

    It does not hear the signals ASK_TO_END, and ends with the context or with this process. Raises the errors of `make`
    and its iterator, and InputError with `what` and `remedy` when the process dies.
    """
    # A socket, not a one-way pipe or a pool: on a busy machine an item takes 2 ms, through these 8 to 13 ms.
    ours, its = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_produce, args=(its, make, given))
    with _deaf():
        process.start()
    its.close()  # or reading from `ours` would never end if the process died

    def items() -> Iterator[Item]:
        while True:
            try:
                item, error = ours.recv()
            except EOFError as died:
                raise InputError(_died(what, remedy)) from died
            if error:
                raise error
            yield item

    try:
        yield items()
    finally:
        process.kill()
        process.join()
        ours.close()


def _produce(pipe: Connection, make: Callable[..., Iterator[Any]], given: tuple[object, ...]) -> None:
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):  # the parent has died
        try:
            for item in make(*given):
                pipe.send((item, None))
        except Exception as error:
            pipe.send((None, error))


def _died(what: str, remedy: str) -> str:
    return f"{what}: a process has died, perhaps because memory ran out; {remedy}"
