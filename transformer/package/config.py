"""A package's config.json. It holds its own SHA-256 and those of the package's other files."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.model.config import ModelConfig, Size
from transformer.package.defaults import ALPHA, BEAM, EXTRA, HASHED, TaskKind
from transformer.support.fields import STRICT, Alpha, Config
from transformer.support.files import InputError, read_bytes, sha256
from transformer.support.strict import ConfigError, load


@dataclass(frozen=True, config=STRICT)
class Decoding(Config):
    """Beam search (section 6.1)."""

    beam: Size = Field(description="beam size; 1 is greedy search")
    alpha: Alpha = Field(description="length penalty")
    extra: Size = Field(description="the most subwords that an output has beyond the number of its input")


IDEA = "idea.py"  # the code of the idea of a package that has one, for people; it equals that in config.json
SECTION_6_1 = Decoding(BEAM, ALPHA, EXTRA)


@dataclass(frozen=True, config=STRICT)
class PackageConfig:
    """config.json: the model, its decoding, its corpus and training, and the SHA-256 of each file (`signed`)."""

    task: str
    kind: TaskKind
    model: str
    seed: int
    source: str
    target: str
    architecture: ModelConfig
    vocabulary: Size
    decoding: Decoding
    averaged: tuple[int, ...]
    corpus: dict[str, Any]
    training: dict[str, Any]
    sha256: dict[str, str]


def signed(config: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a config.json, with the SHA-256 of all its other content added to `sha256`."""
    others = {name: digest for name, digest in config["sha256"].items() if name != "config.json"}
    unsigned = {**config, "sha256": others}
    digest = hashlib.sha256(json.dumps(unsigned, sort_keys=True).encode()).hexdigest()
    return {**unsigned, "sha256": {**others, "config.json": digest}}


def read_package_config(folder: Path) -> PackageConfig:
    """A package's config. Raises InputError that names a file that is missing, changed or of another package."""
    path = folder / "config.json"
    if not path.is_file():
        raise InputError(
            f"{folder}: is not a package (it has no config.json); name a folder that `package` made, such as "
            "results/quick/runs/ende/base/1/average-5/package"
        )
    try:
        values = json.loads(read_bytes(path))
        config = load(PackageConfig, values, str(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); copy or make it again") from error
    except ConfigError as error:
        raise InputError(f"{error}\n  (this package is of another version, or another program made it)") from error
    if signed(values) != values:
        raise InputError(f"{path}: changed or damaged (its SHA-256 differs); unpack or make the package again")
    for name in HASHED:
        if not (folder / name).exists():
            raise InputError(f"{folder / name}: no such file; copy or make it again")
        if (got := sha256(folder / name)) != (expected := config.sha256.get(name)):
            raise InputError(f"{folder / name}: SHA-256 {got}, expected {expected}; copy or make it again")
    if (idea := config.architecture.idea) is not None and read_bytes(folder / IDEA) != idea.encode():
        raise InputError(f"{folder / IDEA}: is not the code in config.json, which would run; copy or make it again")
    return config
