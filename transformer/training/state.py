"""Where a run is, as it is saved and restored."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import Tensor

from transformer.support.strict import plain
from transformer.support.tensors import DamagedFileError, read_tensors, write_tensors
from transformer.text.tokens import Pairs
from transformer.training.config import RunConfig

VERSION = 3  # of what a state and the attempts beside it hold


@dataclass
class State:
    """Where a run is, besides weights, optimiser and random numbers."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    precision: str = ""
    seconds: float = 0.0
    target_tokens: int = 0
    flops: float = 0.0
    row_tokens: int = 0  # since the last row of the history
    row_seconds: float = 0.0
    history: list[list[float | None]] = field(default_factory=list)


def identity(config: RunConfig, train: Pairs, dev: Pairs) -> dict[str, Any]:
    """What the state and the checkpoints of a run belong to."""
    made_of = {"version": VERSION, "config": plain(config), "vocabulary": train.vocabulary}
    return made_of | {"data": digest(train, dev)}


@lru_cache(maxsize=1)  # a start asks twice, and WMT's ids are gigabytes
def digest(*parts: Pairs) -> str:
    """The SHA-256 of encoded pairs."""
    content = hashlib.sha256()
    for pairs in parts:
        content.update(pairs.offsets)
        content.update(pairs.ids)
    return content.hexdigest()


def write_state(folder: Path, tensors: Mapping[str, Tensor], texts: Mapping[str, str]) -> None:
    """Write a state into `folder`; the one before it stays as `previous`. Raises InputError as `write_tensors` does."""
    current = folder / "state.safetensors"
    if current.exists():
        current.replace(folder / "previous.safetensors")
    write_tensors(current, tensors, texts)


def newest_state(folder: Path) -> tuple[Path, dict[str, Tensor], dict[str, str]] | None:
    """The newest undamaged state in `folder`: where it is, its tensors and its texts; a damaged one is removed."""
    for name in ("state", "previous"):
        path = folder / f"{name}.safetensors"
        if not path.exists():
            continue
        try:
            return path, *read_tensors(path)
        except DamagedFileError:
            earlier = name == "state" and (folder / "previous.safetensors").exists()
            before = "the state before it" if earlier else "the start"
            print(f"warning: {path}: damaged, removed; going on from {before}", file=sys.stderr)
            path.unlink()
    return None


def remove_states(folder: Path) -> None:
    """Remove the states in `folder`: to be called before its checkpoints are removed, because a state needs them."""
    for name in ("previous", "state"):
        (folder / f"{name}.safetensors").unlink(missing_ok=True)
