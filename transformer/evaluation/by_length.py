"""BLEU by length: of some pairs of each class of lengths."""

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np

from transformer.decoding.search import Decode
from transformer.decoding.translate import translate
from transformer.evaluation.bleu import Counts, counts
from transformer.evaluation.perplexity import OfLength
from transformer.package.loading import Package
from transformer.support.device import within_memory

Texts = tuple[Sequence[str], Sequence[str]]


def counts_by_length(
    package: Package,
    decode: Decode,
    texts: Texts,
    lengths: np.ndarray,
    classes: Iterable[OfLength],
    most: int,
    batch_tokens: int,
) -> list[Counts | None]:
    """BLEU's counts over at most `most` pairs of each class, evenly spaced in `texts` (source and target).

    `lengths` are the subwords of each pair's longer side. A class with pairs that are too long for the model gets
    None. Raises InputError when memory runs out.
    """
    drawn = []
    for one in classes:
        which = np.flatnonzero((lengths >= one.shortest) & (lengths <= one.longest))
        count = min(most, len(which)) if one.perplexity is not None else 0
        drawn.append(which[np.arange(count) * len(which) // max(1, count)])
    sources, targets = texts
    translated = translate(package, [sources[i] for each in drawn for i in each], decode, batch_tokens)
    with within_memory(f"translation by {package.config.model}", f"reduce --batch-tokens (now {batch_tokens})"):
        translations = [[one.texts[0] for one in islice(translated, len(each))] for each in drawn]
    return [
        counts(some, [targets[i] for i in each], package.config.target) if some else None
        for some, each in zip(translations, drawn, strict=True)
    ]
