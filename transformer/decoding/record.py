"""The record of a file of translations: which package made them, and how."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass

from transformer.package.config import PackageConfig
from transformer.support.fields import STRICT
from transformer.support.files import InputError, read_json, sha256
from transformer.support.strict import ConfigError, load


@dataclass(frozen=True, config=STRICT)
class Record:
    """How a file of translations was made."""

    beam: int
    alpha: float
    extra: int
    sample: int | None  # the seed if translations are sampled
    precision: str
    batch_tokens: int
    weights: str  # SHA-256 of the package's model.safetensors
    lines: int
    translations: str  # SHA-256 of the file
    engine: str = "pytorch"
    early_stop: bool = False


def read_record(path: Path, translations: Path, package: PackageConfig) -> Record:
    """The record of `translations`, which `package` made.

    Raises InputError when the file is not a record, and when it is the record of other translations or of another
    package. Raises the errors of `read_json`.
    """
    try:
        record = load(Record, read_json(path), str(path))
    except ConfigError as error:
        raise InputError(
            f"{path}: is not a record that this version's `translate --record` wrote; give the record of "
            f"{translations}, or translate again"
        ) from error
    if (digest := sha256(translations)) != record.translations:
        raise InputError(
            f"{path}: belongs to translations with SHA-256 {record.translations}, but {translations} has {digest}; "
            "give its own record, or translate again"
        )
    if (weights := package.sha256["model.safetensors"]) != record.weights:
        raise InputError(
            f"{path}: belongs to a package whose weights have SHA-256 {record.weights}, not {weights}; "
            "give that package, or translate again"
        )
    return record


def in_words(decoding: Mapping[str, Any]) -> str:
    """The `decoding` of a score file, in words. Raises KeyError, TypeError or ValueError when it is malformed."""
    how = "beam {beam}, length penalty {alpha:g}" if decoding["sample"] is None else "drawn with seed {sample}"
    others = [decoding["precision"], decoding.get("engine", "pytorch")]
    others += ["early stop"] * decoding.get("early_stop", False)
    return ", ".join([how.format(**decoding), *(each for each in others if each not in ("float32", "pytorch"))])
