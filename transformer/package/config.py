"""A package's config.json."""

from dataclasses import dataclass
from typing import Any, Literal

from transformer.model.config import ModelConfig
from transformer.support.strict import not_positive

TaskKind = Literal["translation", "parsing"]


@dataclass(frozen=True)
class Decoding:
    """Beam search (section 6.1): beam size, length penalty alpha, output of at most input + extra subwords."""

    beam: int
    alpha: float
    extra: int

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "beam", "extra")
        if self.alpha < 0:
            found.append(f"alpha: {self.alpha} is negative; 0 or more rewards length")
        return found


SECTION_6_1 = Decoding(beam=4, alpha=0.6, extra=50)  # of translation


@dataclass(frozen=True)
class PackageConfig:
    """config.json: the model, how to decode with it, what it was made of, and the SHA-256 of the files beside it."""

    task: str
    kind: TaskKind
    model: str
    seed: int
    source: str
    target: str
    architecture: ModelConfig
    vocabulary: int
    decoding: Decoding
    averaged: tuple[int, ...]
    corpus: dict[str, Any]
    training: dict[str, Any]
    sha256: dict[str, str]
