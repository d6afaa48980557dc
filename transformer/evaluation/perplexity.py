"""Perplexity per subword (Table 3): without label smoothing; the end of sentence counts as a subword."""

import math
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from transformer.decoding.translate import check_lengths
from transformer.model.ids import LONGEST
from transformer.model.positions import last_position
from transformer.package.package import Package
from transformer.support.device import within_memory
from transformer.support.files import InputError, read_lines
from transformer.text.batches import once
from transformer.text.subwords import stored
from transformer.text.tokens import Pairs, pack
from transformer.training.loss import batch_loss, per_subword

BATCH_TOKENS = 4096  # the most padded subwords of a batch unless a caller wants more


class OfLength(NamedTuple):
    """The pairs with `shortest` to `longest` subwords on the longer side. `subwords` counts those of their targets."""

    shortest: int
    longest: int
    pairs: int
    subwords: int
    perplexity: float | None


def perplexity(package: Package, pairs: Pairs, batch_tokens: int) -> float:
    """exp of the mean negative log-likelihood of the target subwords, in float32.

    Raises InputError for a pair longer than the learned positions or, with other positions, than LONGEST, and when
    memory runs out.
    """
    check_lengths(package, pairs.lengths.max(1))
    return _perplexity(package, pairs, np.arange(len(pairs)), batch_tokens)


def perplexity_by_length(package: Package, pairs: Pairs, edges: Collection[int], batch_tokens: int) -> list[OfLength]:
    """The `perplexity` of each class of lengths. `edges` are the upper ends of the classes; a last class has the rest.

    The length of a pair is the number of subwords of its longer side. A class has None if one of its pairs is too long
    for the model. Classes without pairs are left out. Raises InputError when memory runs out.
    """
    lengths, most = pairs.lengths.max(1), last_position(package.config.architecture) or LONGEST
    found = []
    for below, longest in pairwise(sorted({0, *edges, max(*edges, int(lengths.max()))})):
        which = np.flatnonzero((lengths > below) & (lengths <= longest))
        if len(which):
            fits = lengths[which].max() <= most
            value = _perplexity(package, pairs, which, batch_tokens) if fits else None
            subwords = int(pairs.lengths[which, 1].sum())
            found.append(OfLength(below + 1, longest, len(which), subwords, value))
    return found


class Targets:
    """The lines of a file as targets. A caller adds the ids of their sources one by one, then asks for `perplexity`."""

    def __init__(self, package: Package, path: Path):
        """Raises InputError when `path` cannot be read or is empty, and for a line that is too long for the model."""
        self.package, self.path, self.sources = package, path, list[list[int]]()
        self.targets = package.subwords.encode(read_lines(path))
        if not self.targets:
            raise InputError(f"{path}: is empty; give at least one line")
        check_lengths(package, map(len, self.targets), name=f"{path}, line")

    def add(self, source: list[int]) -> None:
        """Add the source of the next target. Raises InputError when there is no further target."""
        self.sources.append(source)
        if len(self.sources) > len(self.targets):
            raise self._unequal("more")

    def perplexity(self, batch_tokens: int) -> float:
        """The `perplexity` of the pairs. Raises InputError when there are fewer sources than targets."""
        if len(self.sources) < len(self.targets):
            raise self._unequal("fewer")
        subwords, vocabulary = self.package.subwords, self.package.config.vocabulary
        pairs = stored([pack(self.sources, self.targets, vocabulary)], subwords, vocabulary)
        return perplexity(self.package, pairs, min(batch_tokens, BATCH_TOKENS))

    def _unequal(self, than: str) -> InputError:
        return InputError(f"{self.path} has {len(self.targets)} lines, but {than} are translated; give a line for each")


@torch.inference_mode()
def _perplexity(package: Package, pairs: Pairs, which: np.ndarray, batch_tokens: int) -> float:
    total = 0.0
    with within_memory(f"perplexity by {package.config.model}", f"reduce --batch-tokens (now {batch_tokens})"):
        for batch in once(pairs, which, batch_tokens):
            total += batch_loss(package.model, batch, 0.0).item()
    if (found := per_subword(total, int(pairs.lengths[which, 1].sum()))) == math.inf:
        raise InputError(f"{package.config.model}: the perplexity is not finite; train the model again")
    return found
