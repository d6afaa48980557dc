"""A run's attempts: each process that trained it in turn, its hardware and software, its first and its last step."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from transformer.support.files import InputError

DECIDE_BITS = {  # the means that may change bits of the result, and how messages name them
    "device": "{}",
    "threads": "{} thread(s)",
    "micro_batch_tokens": "{} subwords a pass",
    "compiled": "compiled: {}",
    "torch": "torch {}",
}


@contextmanager
def attempt(path: Path, start: int, means: Mapping[str, Any]) -> Iterator[Callable[[int], None]]:
    """Append a line of JSON to `path`: the means of this process (hardware, software), its FLOP/s and its first step.

    Call the yielded function after each step: it writes the step into the line, with the seconds since the start. It
    raises InputError when the disk is full.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    known = json.dumps({**means, "sustained_flops": _sustained_flops(), "from": start})[:-1]
    began = time.monotonic()
    with path.open("r+b", buffering=0) as file:
        end = file.read()[-1:]
        line = b"" if end in (b"", b"\n") else b"\n"  # a power failure may have cut the previous line short
        place = file.tell()

        def reached(step: int) -> None:
            file.seek(place)
            try:
                file.write(line + f'{known}, "to": {step:15}, "seconds": {time.monotonic() - began:15.3f}}}\n'.encode())
            except OSError as error:
                raise InputError(f"{path}: cannot be written ({error.strerror}); free space") from error

        reached(start)
        yield reached


def _sustained_flops() -> float:
    """The FLOP/s of this process's device, a GPU if it uses one. Random numbers stay those that a training draws."""
    import torch  # not at the top: the workflow reads attempts without PyTorch

    from transformer.support.device import sustained_flops

    on_gpu = torch.cuda.is_initialized()  # the training has chosen its device before
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if on_gpu else []):
        return sustained_flops(torch.device("cuda" if on_gpu else "cpu"), torch.float32)


def read_attempts(path: Path) -> list[dict[str, Any]]:
    """The attempts in `path`, each with `steps_redone`: how many of its steps the next attempt had to repeat.

    Damaged lines are skipped.
    """
    attempts: list[dict[str, Any]] = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            each = json.loads(line)
            if isinstance(each, dict) and {"from", "to"} <= each.keys():
                attempts.append(each | {"steps_redone": 0})
    for one, following in pairwise(attempts):
        one["steps_redone"] = max(0, one["to"] - following["from"])  # "to" may be old after a power failure
    return attempts


def kept_attempts(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The attempts of a finished run whose steps it kept, each as the run's record (training.json) with its own means.

    A record without attempts is one attempt.
    """
    attempts = [one for one in record.get("attempts", ()) if one["to"] - one["steps_redone"] > one["from"]]
    return [{**record, **one} for one in attempts or [record]]


def devices(record: Mapping[str, Any]) -> str:
    """The number and the name of the devices of a finished run, in the order in which its attempts used them."""
    return ", then ".join(dict.fromkeys(f"{one['devices']} x {one['device']}" for one in kept_attempts(record)))


def unlike(path: Path, start: int, means: Mapping[str, Any]) -> str:
    """Name the means that may change bits and differ from those of the attempt that reached step `start`."""
    before = [each for each in read_attempts(path) if each["from"] < start][-1:]
    now, *then = ({**each, "torch": each["software"]["torch"]} for each in (means, *before))
    return " and ".join(
        f"{words.format(now[key])}, not {each[key]},"
        for each in then
        for key, words in DECIDE_BITS.items()
        if key in each and now[key] != each[key]  # attempts of earlier versions lack some
    )
