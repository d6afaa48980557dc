"""SIGINT and SIGTERM while a run trains: the step under way ends first."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType


class Interrupted(Exception):  # noqa: N818
    """SIGINT or SIGTERM came; the state is saved."""

    def __init__(self, number: int):
        super().__init__(f"interrupted by {signal.Signals(number).name}; the state is saved, start again to go on")
        self.number = number


@contextlib.contextmanager
def postponed_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that the step under way ends first."""
    caught: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        caught.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
