"""Perplexity per subword (Table 3): without label smoothing; the end of sentence counts as a subword."""

import math
from collections.abc import Collection
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch

from transformer.decoding.translate import check_lengths, limit
from transformer.package.loading import Package
from transformer.support.device import within_memory
from transformer.support.files import InputError
from transformer.text.batches import once
from transformer.text.tokens import Pairs
from transformer.training.loss import batch_loss, per_subword


class OfLength(NamedTuple):
    """The pairs with `shortest` to `longest` subwords on the longer side. `subwords` counts those of their targets."""

    shortest: int
    longest: int
    pairs: int
    subwords: int
    perplexity: float | None


def perplexity(package: Package, pairs: Pairs, batch_tokens: int) -> float:
    """exp of the mean negative log-likelihood of the target subwords, in float32.

    Raises InputError for a pair longer than the learned positions or, with other positions, than LONGEST, when memory
    runs out, and when the perplexity is not finite.
    """
    check_lengths(package, pairs.lengths.max(1))
    return _perplexity(package, pairs, np.arange(len(pairs)), batch_tokens)


def perplexity_by_length(package: Package, pairs: Pairs, edges: Collection[int], batch_tokens: int) -> list[OfLength]:
    """The `perplexity` of each class of lengths. `edges` are the upper ends of the classes; a last class has the rest.

    The length of a pair is the number of subwords of its longer side. A class has None if one of its pairs is too long
    for the model. Classes without pairs are left out. Raises InputError when memory runs out, and when a perplexity is
    not finite.
    """
    lengths, most = pairs.lengths.max(1), limit(package.config).most
    classes = []
    for below, longest in pairwise(sorted({0, *edges, max(*edges, int(lengths.max()))})):
        which = np.flatnonzero((lengths > below) & (lengths <= longest))
        if len(which):
            fits = lengths[which].max() <= most
            value = _perplexity(package, pairs, which, batch_tokens) if fits else None
            subwords = int(pairs.lengths[which, 1].sum())
            classes.append(OfLength(below + 1, longest, len(which), subwords, value))
    return classes


@torch.inference_mode()
def _perplexity(package: Package, pairs: Pairs, which: np.ndarray, batch_tokens: int) -> float:
    total = 0.0
    with within_memory(f"perplexity by {package.config.model}", f"reduce --batch-tokens (now {batch_tokens})"):
        for batch in once(pairs, which, batch_tokens):
            total += batch_loss(package.model, batch, 0.0).item()
    if (value := per_subword(total, int(pairs.lengths[which, 1].sum()))) == math.inf:
        raise InputError(f"{package.config.model}: the perplexity is not finite; train the model again")
    return value
