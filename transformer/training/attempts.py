"""The processes that trained a run, one after the other: from which step each went on, and how far it came."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path


@contextmanager
def attempt(path: Path, start: int) -> Iterator[Callable[[int], None]]:
    """Write, as a line of `path`, this process's first step and, at every call, the step it has reached."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with path.open("r+b", buffering=0) as file:
        place = file.seek(0, 2)

        def reached(step: int) -> None:
            file.seek(place)
            file.write(b"%15d %15d\n" % (start, step))

        reached(start)
        yield reached


def interruptions(path: Path) -> tuple[int, int]:
    """How many attempts of `path` went on where another was interrupted; how many steps these had to do again."""
    lines = re.findall(rb"(\d+) +(\d+)\n", path.read_bytes())
    attempts = [(int(start), int(reached)) for start, reached in lines]
    return len(attempts) - 1, sum(reached - start for (_, reached), (start, _) in pairwise(attempts))
