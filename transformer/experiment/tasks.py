"""What an experiment learns and how it is decoded: its tasks, the run of the figures, and the searches."""

from dataclasses import dataclass

from transformer.model.ids import UNKNOWN
from transformer.package.config import Decoding, TaskKind
from transformer.support.strict import GREATEST_ALPHA, not_positive, repeated


@dataclass(frozen=True)
class Task:
    """What models learn: to turn `source` into `target` on a corpus, as subwords of one shared vocabulary."""

    kind: TaskKind
    corpus: str
    source: str
    target: str
    vocabulary: int
    decoding: Decoding
    models: tuple[str, ...]

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = [*not_positive(self, "vocabulary"), *repeated("models", self.models)]
        if 0 < self.vocabulary <= UNKNOWN + 1:
            found.append(f"vocabulary: {self.vocabulary} has no room beside padding, end and unknown; give more than 3")
        if self.source == self.target:
            found.append(f"source and target: must differ, but are both {self.source}; name two sides of the corpus")
        return found


@dataclass(frozen=True)
class Figures:
    """The run whose attention is drawn in figures 3 to 5."""

    task: str
    model: str


@dataclass(frozen=True)
class Searches:
    """The grid of beam sizes and length penalties alpha with which dev is decoded (section 6.1)."""

    beams: tuple[int, ...]
    alphas: tuple[float, ...]

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = [f"{key}: is empty; give at least one" for key in ("beams", "alphas") if not getattr(self, key)]
        found += [f"beams: {beam} is not positive" for beam in self.beams if beam < 1]
        wrong = [alpha for alpha in self.alphas if not 0 <= alpha <= GREATEST_ALPHA]
        found += [f"alphas: {alpha} is not from 0 to {GREATEST_ALPHA}" for alpha in wrong]
        return [*found, *repeated("beams", self.beams), *repeated("alphas", self.alphas)]


def way(decoding: Decoding) -> str:
    """The name of a way of decoding, as claims and folders have it. Greedy search has no alpha."""
    alpha = str(decoding.alpha).removesuffix(".0")
    return f"beam-{decoding.beam}.alpha-{alpha}" if decoding.beam > 1 else "beam-1"
