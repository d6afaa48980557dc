"""The record of translations: how they were made, and of which package."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.package.config import PackageConfig
from transformer.support.files import InputError, read_json, sha256
from transformer.support.strict import ConfigError, load


@dataclass(frozen=True)
class Record:
    """How a file of translations was made."""

    beam: int
    alpha: float
    extra: int
    sample: int | None  # the seed of those that are drawn
    precision: str
    batch_tokens: int
    weights: str  # SHA-256 of the package's model.safetensors
    lines: int
    translations: str  # SHA-256 of the file
    engine: str = "pytorch"


def read_record(path: Path, translations: Path, package: PackageConfig) -> Record:
    """The record of `translations` by `package`.

    Raises InputError when it is that of others, or none, and as `read_json` does.
    """
    try:
        record = load(Record, read_json(path), str(path))
    except ConfigError as error:
        raise InputError(
            f"{path}: no record that `translate --record` writes; give the one of {translations}"
        ) from error
    if (found := sha256(translations)) != record.translations:
        raise InputError(
            f"{path}: of translations with SHA-256 {record.translations}, and {translations} has {found}; "
            "give its own record, or translate again"
        )
    if (weights := package.sha256["model.safetensors"]) != record.weights:
        raise InputError(
            f"{path}: of a package whose weights have SHA-256 {record.weights}, not {weights}; "
            "give that package, or translate again"
        )
    return record


def in_words(decoding: Mapping[str, Any] | None) -> str:
    """A score file's `decoding`. Raises KeyError, TypeError or ValueError for what is none."""
    if decoding is None:
        return "decoding not recorded"
    how = "beam {beam}, length penalty {alpha:g}" if decoding["sample"] is None else "drawn with seed {sample}"
    others = {decoding["precision"]: "float32", decoding.get("engine", "pytorch"): "pytorch"}
    return ", ".join([how.format(**decoding), *(other for other, usual in others.items() if other != usual)])
