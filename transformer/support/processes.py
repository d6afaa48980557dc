"""Work that several processes share. They end with this process, however it ends."""

import atexit
import os
import pickle
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from multiprocessing import get_context, parent_process, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from typing import Any, Generic, TypeVar

from transformer.support.files import InputError
from transformer.support.limits import explained

Item = TypeVar("Item")
Result = TypeVar("Result")
# What asks processes to end, often all of a job: Ctrl-C, a closed terminal, a batch system, a limit of CPU time.
ASK_TO_END = {signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU}
AHEAD = 64  # how many results for each process may wait for an earlier one
ENDING = 5.0  # seconds in which a process that has closed its pipe should end


@contextmanager
def shared(
    processes: int, option: str, make: Callable[..., Callable[[Item], Result]], *given: object
) -> Iterator[Callable[[Iterable[Item]], Iterator[Result]]]:
    """A function that maps `make(*given)` over items, and shares these among at most `processes` new processes.

    A process starts when there is an item for it, and calls `make` once. `option` is the name of the option that sets
    their number. Raises the errors of `make` and of the function that it makes, and InputError when a process cannot be
    started or dies.
    """
    pool = _Pool[Item, Result](processes, option, pickle.dumps((make, given)))
    try:
        yield pool.results
    finally:
        pool.end()


@contextmanager
def prefetch(what: str, make: Callable[..., Iterator[Item]], *given: object) -> Iterator[Iterator[Item]]:
    """`make(*given)`, computed in a new process, which goes on until some items wait in the pipe.

    `what` says what the process does. The process ignores the signals ASK_TO_END. It ends with the context or with this
    process. Raises the errors of `make` and of its iterator, and InputError when the
    process cannot be started or dies.
    """
    pipe, process = _started(_produce, pickle.dumps((make, given)), ASK_TO_END, f"{what}: cannot start a process")
    atexit.register(process.kill)  # or Python would wait for it at its end, if the context is never left

    def items() -> Iterator[Item]:
        while True:
            try:
                item, error = pipe.recv()
            except (EOFError, OSError) as died:
                how = f"{what}: {_how_it_died(process)}, perhaps because main memory ran out"
                raise InputError(f"{how}; the same command goes on from the last saved state") from died
            if isinstance(error, StopIteration):
                return
            if error:
                raise error
            yield item

    try:
        yield items()
    finally:
        process.kill()
        pipe.close()
        process.join()
        atexit.unregister(process.kill)


def _started(
    work: Callable[[Connection, list[bytes]], None],
    given: bytes,
    blocked: set[signal.Signals],
    failed: str,
    remedy: str = "",
) -> tuple[Connection, SpawnProcess]:
    """The pipe to a new process, which calls work(pipe, [given]), and the process. It never sees the `blocked` signals.

    The work takes `given` out of the list. Python keeps the list, but no longer its content, which may be large.

    Raises InputError, which begins with `failed` and ends with `remedy`, when the process cannot be started.
    """
    spawn = get_context("spawn")
    try:
        resource_tracker.ensure_running()  # or `start` would do it, and unblock the signals
        ours, its = spawn.Pipe()
        process = spawn.Process(target=work, args=(its, [given]), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)  # a new process inherits what is blocked
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            its.close()  # or reading from `ours` would never end if the process died
    except OSError as error:
        why = explained(error) or f"{error}; free resources"
        raise InputError(f"{failed}: {why}{remedy}") from error
    return ours, process


def _how_it_died(process: SpawnProcess) -> str:
    # One that has only closed its files may stay, and `join` would wait for it without limit; the caller ends it.
    end = time.monotonic() + ENDING
    while process.exitcode is None and time.monotonic() < end:
        time.sleep(0.01)
    code = process.exitcode or 0
    return f"a process {f'was ended by {signal.Signals(-code).name}' if code < 0 else 'has died'}"


class _Pool(Generic[Item, Result]):
    def __init__(self, processes: int, option: str, work: bytes):
        self.processes, self.option, self.work = processes, option, work
        self.workers: dict[Any, SpawnProcess] = {}  # by the pipe to each
        self.idle: list[Any] = []  # pipes

    def results(self, items: Iterable[Item]) -> Iterator[Result]:
        """The results of the items, in their order."""
        coming, first = enumerate(items), 0  # `first` is the number of the next result
        busy: dict[Any, int] = {}  # the number of the item that each process works on
        done: dict[int, Result] = {}  # results that wait for an earlier one
        while True:
            room = min(self.processes - len(busy), AHEAD * self.processes - len(done))
            todo = list(islice(coming, max(0, room)))
            pipes = [self.idle.pop() if self.idle else self.start() for _ in todo]
            for pipe, (number, item) in zip(pipes, todo, strict=True):
                busy[pipe] = number
                with suppress(OSError):  # the process has died, and `answer` will tell it
                    pipe.send(item)
            if not busy:
                return
            for pipe in wait(list(busy)):
                done[busy.pop(pipe)] = self.answer(pipe)
                self.idle.append(pipe)
            while first in done:
                yield done.pop(first)
                first += 1

    def start(self) -> Connection:
        """The pipe to a new process."""
        blocked = {signal.SIGINT}  # Ctrl-C reaches all processes, but this one ends the others
        failed, remedy = f"{self.option} {self.processes}: cannot start", f", or give {self.option} 1"
        pipe, process = _started(_work, self.work, blocked, failed, remedy)
        self.workers[pipe] = process
        return pipe

    def answer(self, pipe: Any) -> Result:
        """The result that a process sends. Raises the error that it sends, and InputError when it has died."""
        try:
            result, error = pipe.recv()
        except (EOFError, OSError) as died:
            what = f"{self.option} {self.processes}: {_how_it_died(self.workers[pipe])}"
            raise InputError(f"{what}, perhaps because memory ran out; use fewer") from died
        if error:
            raise error
        return result

    def end(self) -> None:
        """End all processes at once."""
        for process in self.workers.values():
            process.kill()
        for pipe, process in self.workers.items():
            pipe.close()
            process.join()


def _work(pipe: Connection, work: list[bytes]) -> None:
    """What a process does: it answers each item with a result and an error, one of which is None."""
    function, answer = None, (None, None)  # type: tuple[Any, Any]
    with suppress(EOFError, OSError):  # the parent has died
        while True:
            item = pipe.recv()
            try:
                if function is None:
                    Thread(target=_end_with_parent, daemon=True).start()
                    make, given = pickle.loads(work.pop())
                    function = make(*given)
                answer = (function(item), None)
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = (None, error)
            pipe.send(answer)


def _produce(pipe: Connection, work: list[bytes]) -> None:
    """What a process of `prefetch` does: it sends each item and an error, one of them None. StopIteration is last."""
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):  # the parent has died
        try:
            make, given = pickle.loads(work.pop())
            for item in make(*given):
                pipe.send((item, None))
            pipe.send((None, StopIteration()))
        except Exception as error:
            error.add_note(traceback.format_exc())
            pipe.send((None, error))


def _end_with_parent() -> None:
    """End this process when its parent has ended, also in the middle of an item."""
    if parent := parent_process():
        parent.join()
        os._exit(1)
