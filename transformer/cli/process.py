"""The process of a command: its interrupts, its standard streams and its environment."""

import contextlib
import io
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from transformer.support.files import InputError

INTERRUPTED = 128 + signal.SIGINT  # the exit status


def prepare() -> None:
    """Make this process independent of what its caller has closed or set. An interrupt then ends it with one line."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # and not ignored, as in a background process
        signal.signal(signal.SIGINT, _end)
    _open_streams()
    if not re.fullmatch(r"0*[1-9]\d{,8}(,0*[1-9]\d{,8})*", os.environ.get("OMP_NUM_THREADS", "1")):
        del os.environ["OMP_NUM_THREADS"]  # --threads decides, but OpenMP would complain
    os.environ["PYTHONSAFEPATH"] = "1"  # for workers: transformer/__main__.py says why


def check_folder() -> None:
    """Raises InputError if the working folder was removed. Later errors would name no file, and Intel's MKL aborts."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise InputError("the working folder was removed; go to another one (cd)") from error


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let an interrupt of a prepared process raise KeyboardInterrupt, so that the enclosed code can clean up."""
    if prepared := signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    after: Any = _end
    try:
        yield
    except KeyboardInterrupt:
        after = signal.SIG_IGN  # the process is ending
        raise
    finally:
        if prepared:
            signal.signal(signal.SIGINT, after)


def _end(*_: Any) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)


class _Messages(io.FileIO):
    """Standard error. It drops what it cannot write: the work matters more than its messages."""

    def write(self, content: Any) -> int:
        with contextlib.suppress(OSError):
            super().write(content)
        return len(content)


def _open_streams() -> None:
    """Open /dev/null for closed standard streams. Otherwise the next file would get such a number, and the messages.

    `sys.stdin` and `sys.stdout` stay None, so that commands that need them can refuse.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # it gets the lowest free number, which is this
    encoding = sys.stderr.encoding if sys.stderr else "utf-8"
    stream = io.BufferedWriter(_Messages(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(stream, encoding, errors="backslashreplace", line_buffering=True)
