"""Batches in the default form of other toolkits: one pair in each row, padded, with pairs of similar length."""

from collections.abc import Iterator

import numpy as np
import torch

from transformer.model.masks import Rows
from transformer.text.batches import Batch
from transformer.text.tokens import Pairs


def padded(pairs: Pairs, which: np.ndarray) -> Batch:
    """A batch of some pairs, with one pair in each row."""
    lengths, rows = pairs.lengths[which], np.arange(len(which))
    source, target = (
        Rows.of(torch.from_numpy(pairs.in_rows(which, side, rows, len(rows), lengths[:, side].max())))
        for side in (0, 1)
    )
    return Batch(source, target, lengths)


def padded_steps(pairs: Pairs, tokens: int, longest: int) -> Iterator[Batch]:
    """Batches of at most `tokens` places on each side, in random order, without end."""
    random = np.random.default_rng(1)
    kept = np.flatnonzero(pairs.lengths.max(1) <= longest)
    while True:
        order = random.permutation(kept)
        order = order[np.lexsort((*pairs.lengths[order].T, pairs.lengths[order].max(1)))]
        steps: list[list[int]] = [[]]
        for pair, length in zip(order, pairs.lengths[order].max(1).tolist(), strict=True):  # ascending
            if steps[-1] and length * (len(steps[-1]) + 1) > tokens:
                steps.append([])
            steps[-1].append(pair)
        random.shuffle(steps)
        yield from (padded(pairs, np.array(step)) for step in steps)
