"""The state of a run: how it is saved, written and restored."""

import contextlib
import hashlib
import math
import sys
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.support.arrays import DamagedFileError
from transformer.support.faults import shown
from transformer.support.strict import plain
from transformer.support.tensors import read_tensors, write_tensors
from transformer.text.tokens import Pairs
from transformer.training.config import RunConfig

VERSION = 6  # the version of the format of states and attempts


@dataclass
class TrainingState:
    """The progress of a run: its state without weights, optimiser and random numbers."""

    code: str = ""  # the digest of the code that makes the steps
    step: int = 0
    epoch: int = 0  # counted from 0
    index: int = 0  # the number of steps of this epoch that are done
    precision: str = ""
    seconds: float = 0.0  # of all steps
    target_tokens: int = 0  # of all steps
    flops: float = 0.0  # of all steps
    row_tokens: int = 0  # target tokens since the last row of the history
    row_seconds: float = 0.0
    history: list[list[float | None]] = field(default_factory=list)


def identity(config: RunConfig, train: Pairs, dev: Pairs) -> dict[str, Any]:
    """What identifies the run that a state or checkpoint belongs to."""
    made_of = {"version": VERSION, "config": plain(config), "vocabulary": train.vocabulary}
    return made_of | {"data": digest(train, dev)}


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What has changed in a run's `identity`, in words: `training.steps was 200 and is 300, data`. Empty: nothing."""
    old, new = _flat(before), _flat(now)
    changed = {key: f"{key} was {shown(old.get(key))} and is {shown(new.get(key))}" for key in {**new, **old}}
    told = "data", "code", "architecture.idea"  # SHA-256 tell a reader nothing, and an idea's code is long
    changed |= {key: key for key in told if key in changed}
    return ", ".join(text for key, text in changed.items() if old.get(key) != new.get(key))


def _flat(values: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Nested mappings as one, whose keys are joined by points. The config's keys have no name before them."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        inner = f"{before}{key}" if before or key != "config" else ""
        flat |= _flat(value, inner and f"{inner}.") if isinstance(value, Mapping) else {inner: value}
    return flat


@lru_cache(maxsize=1)  # each start needs it twice; WMT's ids are gigabytes
def digest(*parts: Pairs) -> str:
    """The SHA-256 of encoded pairs."""
    content = hashlib.sha256()
    for pairs in parts:
        content.update(pairs.offsets.data)
        content.update(pairs.ids.data)
    return content.hexdigest()


class StateWriter:
    """Writes states into a folder, in a thread of its own. The state before the newest stays as `previous`.

    The context ends when the last state is written. `write`, `wait` and the end of the context raise the InputError
    of `write_tensors` when the previous state could not be written.
    """

    def __init__(self, folder: Path):
        self.folder, self.thread = folder, ThreadPoolExecutor(1)
        self.under_way: Future[None] | None = None
        self.seconds = 0.0  # how long it took to write the last state

    @property
    def pause(self) -> float:
        """Seconds to wait between two states, so that writing takes at most a twentieth of the time."""
        busy = self.under_way is not None and not self.under_way.done()
        return math.inf if busy else 20 * self.seconds

    def write(self, tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> None:
        """Wait until the previous state is written, copy the tensors, and begin to write them."""
        self.wait()
        # The GPU copies while the CPU prepares the next steps: in the GPU's queue the copies come before them.
        copies = {name: tensor.detach().to("cpu", non_blocking=True, copy=True) for name, tensor in tensors.items()}
        on_gpu = any(tensor.is_cuda for tensor in tensors.values())
        copied = torch.cuda.current_stream().record_event() if on_gpu else None
        self.under_way = self.thread.submit(self._write, copies, texts, copied)

    def wait(self) -> None:
        """Wait until no state is being written."""
        if under_way := self.under_way:
            self.under_way = None
            under_way.result()

    def __enter__(self) -> "StateWriter":
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()

    def _write(self, tensors: Mapping[str, Tensor], texts: Mapping[str, str], copied: torch.cuda.Event | None) -> None:
        start = time.monotonic()
        if copied:
            copied.synchronize()
        current = self.folder / "state.safetensors"
        if current.exists():
            current.replace(self.folder / "previous.safetensors")
        write_tensors(current, tensors, texts)
        self.seconds = time.monotonic() - start


def newest_state(folder: Path) -> tuple[Path, dict[str, Tensor], dict[str, str]] | None:
    """The newest undamaged state in `folder`: its path, tensors and texts. Removes a damaged one, with a warning.

    Raises InputError when a state cannot be read.
    """
    for name in ("state", "previous"):
        path = folder / f"{name}.safetensors"
        if not path.exists():
            continue
        try:
            return path, *read_tensors(path)
        except DamagedFileError:
            earlier = name == "state" and (folder / "previous.safetensors").exists()
            before = "the previous state" if earlier else "the start"
            print(f"warning: {path}: damaged, so it is removed; resuming from {before}", file=sys.stderr)
            path.unlink()
    return None


def set_aside(folder: Path) -> Path:
    """Rename the folder of a state. Returns its new path, which is free: `state.1`, `state.2` and so on."""
    free = (path for number in count(1) if not (path := folder.with_name(f"{folder.name}.{number}")).exists())
    return folder.rename(next(free))


def remove_states(folder: Path) -> None:
    """Remove the states in `folder`, of a run that has ended: a failed clean-up must not fail it."""
    for name in ("previous", "state"):
        with contextlib.suppress(OSError):
            (folder / f"{name}.safetensors").unlink()
