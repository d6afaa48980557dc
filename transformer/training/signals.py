"""SIGINT and SIGTERM while a run trains: training stops when the current step is done."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Interrupted(Exception):  # noqa: N818
    """The run received SIGINT or SIGTERM and has saved its state."""

    def __init__(self, number: int):
        super().__init__(
            f"interrupted by {signal.Signals(number).name}; the state is saved: start the command again to resume"
        )
        self.number = number


@contextlib.contextmanager
def postponed_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in the yielded list instead of stopping at once."""
    caught: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        caught.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
