"""Batches of pairs of similar length (section 5.1), in an order that the seed, the epoch and nothing else decides."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transformer.support.files import InputError
from transformer.text.tokens import Pairs


@dataclass(frozen=True)
class Batch:
    """Padded ids, source [pairs, S] and target [pairs, T], and the lengths of both sides without padding [pairs, 2]."""

    source: Tensor
    target: Tensor
    lengths: np.ndarray

    @property
    def target_tokens(self) -> int:
        """Target ids that are no padding."""
        return int(self.lengths[:, 1].sum())


def batch(pairs: Pairs, which: np.ndarray) -> Batch:
    """Some pairs, padded."""
    source, target = (torch.from_numpy(pairs.padded(which, side)) for side in (0, 1))
    return Batch(source, target, pairs.lengths[which])


def chunks(lengths: np.ndarray, order: np.ndarray, tokens: int) -> list[np.ndarray]:
    """Cut `order` into runs whose padded source and target each hold at most `tokens`; a longer pair stands alone.

    `order` is by the length of a pair's longer side.
    """
    longest = lengths[order].max(1)
    cuts = [0]

    def size(end: int) -> int:
        return int(longest[end]) * (end + 1 - cuts[-1])

    while cuts[-1] < len(order):
        fits = bisect_right(range(cuts[-1], len(order)), tokens, key=size)
        cuts.append(cuts[-1] + max(1, fits))
    return np.split(order, cuts[1:-1])


class Batches:
    """The batches of a corpus, epoch after epoch."""

    def __init__(
        self,
        pairs: Pairs,
        tokens: int,
        micro_tokens: int,
        longest_pair: int,
        seed: int,
        share: slice = slice(None),
    ):
        """`tokens` a step and side, in micro-batches of `micro_tokens`; pairs longer than `longest_pair` are left out.

        Only a `share` of each step's pairs is given. Raises InputError when no pair is short enough.
        """
        self.pairs, self.tokens, self.micro_tokens, self.seed, self.share = pairs, tokens, micro_tokens, seed, share
        self.kept = np.flatnonzero(pairs.lengths.max(1) <= longest_pair)
        if not len(self.kept):
            raise InputError(f"no pair has at most {longest_pair} subwords on both sides; raise longest_pair")

    def epoch(self, epoch: int) -> list[np.ndarray]:
        """The pairs of each step of one epoch: pairs of like lengths together, ties and steps in random order."""
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(self.kept)
        lengths = self.pairs.lengths[order].astype(np.int64)
        radix = lengths.max() + 1
        by_length = (lengths.max(1) * radix + lengths[:, 1]) * radix + lengths[:, 0]
        order = order[np.argsort(by_length, kind="stable")]
        steps = chunks(self.pairs.lengths, order, self.tokens)
        random.shuffle(steps)
        return steps

    def from_position(self, epoch: int, index: int) -> Iterator[tuple[int, int, list[Batch]]]:
        """For ever: the position after the step (epoch, index), and the micro-batches of its share, if any."""
        while True:
            steps = self.epoch(epoch)
            for i in range(index, len(steps)):
                parts = chunks(self.pairs.lengths, steps[i][self.share], self.micro_tokens)
                yield epoch, i + 1, [batch(self.pairs, part) for part in parts if len(part)]
            epoch, index = epoch + 1, 0
