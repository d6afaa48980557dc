"""Signals that ask a run to end while it trains: training stops when the current step is done."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

from transformer.support.processes import ASK_TO_END


class Interrupted(Exception):  # noqa: N818
    """The run received one of ASK_TO_END and has saved its state."""

    def __init__(self, number: int):
        super().__init__(
            f"interrupted by {signal.Signals(number).name}; the state is saved: start the command again to resume"
        )
        self.number = number


@contextlib.contextmanager
def postponed_signals() -> Iterator[list[int]]:
    """Collect the signals ASK_TO_END in the yielded list instead of stopping at once.

    Those that this process ignores stay ignored: SIGINT in the background of a shell, SIGHUP under nohup.
    """
    caught: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        caught.append(number)

    heard = [number for number in ASK_TO_END if signal.getsignal(number) is not signal.SIG_IGN]
    previous = {number: signal.signal(number, note) for number in heard}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
