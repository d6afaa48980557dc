"""Work that several processes share. They end with this process, however it ends."""

import os
import pickle
import signal
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
AHEAD = 64  # how many results for each process may wait for an earlier one


@contextmanager
def shared(
    processes: int, option: str, make: Callable[..., Callable[[Item], Result]], *given: object
) -> Iterator[Callable[[Iterable[Item]], Iterator[Result]]]:
    """A function like `map(make(*given), items)` that shares the items among at most so many new processes.

    A process starts when there is an item for it, and calls `make` once. `option` is the name of the option that sets
    their number. Raises the errors of `make` and of the function that it makes, and InputError when a process cannot be
    started or dies.
    """
    pool = _Pool[Item, Result](processes, option, pickle.dumps((make, given)))
    try:
        yield pool.results
    finally:
        pool.end()


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
        spawn = get_context("spawn")
        try:
            resource_tracker.ensure_running()  # or `start` would do it, and unblock the signal
            ours, its = spawn.Pipe()
            process = spawn.Process(target=_work, args=(its, self.work), daemon=True)
            # A new process inherits what is blocked. Ctrl-C reaches all processes, but this one ends the others.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                its.close()  # or reading from `ours` would never end if the process died
        except OSError as error:
            why = explained(error) or f"{error}; free resources"
            raise InputError(f"{self.option} {self.processes}: cannot start: {why}, or give {self.option} 1") from error
        self.workers[ours] = process
        return ours

    def answer(self, pipe: Any) -> Result:
        """The result that a process sends. Raises the error that it sends, and InputError when it has died."""
        try:
            result, error = pipe.recv()
        except (EOFError, OSError) as died:
            self.workers[pipe].join()
            code = self.workers[pipe].exitcode or 0
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else "has died"
            what = f"{self.option} {self.processes}: a process {how}"
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


def _work(pipe: Connection, work: bytes) -> None:
    """What a process does: it answers each item with a result and an error, one of which is None."""
    function, answer = None, (None, None)  # type: tuple[Any, Any]
    with suppress(EOFError, OSError):  # the parent has died
        while True:
            item = pipe.recv()
            try:
                if function is None:
                    Thread(target=_end_with_parent, daemon=True).start()
                    make, given = pickle.loads(work)
                    function = make(*given)
                answer = (function(item), None)
            except Exception as error:
                error.add_note(traceback.format_exc())
                answer = (None, error)
            pipe.send(answer)


def _end_with_parent() -> None:
    """End this process when its parent has ended, also in the middle of an item."""
    if parent := parent_process():
        parent.join()
        os._exit(1)
