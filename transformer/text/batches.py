"""Batches of few shapes: pairs packed into rows (section 5.1), in an order that the seed and the epoch decide."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from transformer.support.files import InputError
from transformer.text.tokens import Pairs

# Sentences of mean length that a row may hold. The fewer, the less attention spends on pairs of subwords that belong to
# different sentences, but the more of a row stays empty: the first is taken that leaves at most PADDING, else the one
# that leaves least.
SENTENCES = (4, 5, 6.5, 8)
PADDING = 0.05  # of the places in rows
FILLED = 0.97  # of the places in rows, about, once they are packed
TRIED = 12  # steps that are packed to see how much padding rows leave
UNIT = 8  # of longer rows: a GPU copies a bias of attention whose rows begin elsewhere
SPARE = 10  # rows for which pairs are tried beyond those of a step, so that the gaps are filled


class Shape(NamedTuple):
    """So many rows, of so many source and target subwords each."""

    rows: int
    source: int
    target: int


@dataclass(frozen=True)
class Batch:
    """Rows of ids, source [R, S] and target [R, T], and the lengths of both sides of each pair in them [pairs, 2].

    A row holds sentences one after the other, each closed by its end, and then padding. The k-th sentence of a target
    row translates the k-th of the source row.
    """

    source: Tensor
    target: Tensor
    lengths: np.ndarray

    @property
    def target_tokens(self) -> int:
        """Target ids that are no padding."""
        return int(self.lengths[:, 1].sum())


@dataclass(frozen=True)
class Step:
    """Pairs and the row of each, rows ascending."""

    shape: Shape
    pairs: np.ndarray
    rows: np.ndarray

    def batch(self, pairs: Pairs, rows: np.ndarray) -> Batch:
        """Some of the rows, ascending, with their ids."""
        here = np.isin(self.rows, rows)
        which, row = self.pairs[here], np.searchsorted(rows, self.rows[here])
        source, target = (
            torch.from_numpy(pairs.in_rows(which, side, row, len(rows), length))
            for side, length in enumerate(self.shape[1:])
        )
        return Batch(source, target, pairs.lengths[which])


def shapes(lengths: np.ndarray, tokens: int) -> list[Shape]:
    """Shapes for pairs of `lengths` [pairs, 2], short rows first, for about `tokens` subwords of the longer side each.

    The last one's rows hold every pair; each of the others has twice as many rows as the next.
    """
    mean, longest = lengths.mean(0), lengths.max(0)
    sample = lengths[:: max(1, len(lengths) // math.ceil(TRIED * tokens / mean.max()))]
    tried = [_shapes(mean, longest, tokens, sentences) for sentences in SENTENCES]
    return min(tried, key=lambda found: max(PADDING, _padding(sample, found[0])))


def _shapes(mean: np.ndarray, longest: np.ndarray, tokens: int, sentences: float) -> list[Shape]:
    """Shapes whose rows hold about so many `sentences` of `mean` length; those of the last one the `longest`, too.

    Among about as many rows those are taken whose sizes, rounded, hold as many subwords as wanted and as many of one
    side as of the other.
    """
    share, places = mean / mean.max(), tokens / FILLED

    def sizes(rows: int) -> np.ndarray:
        exact = share * places / rows
        unit = UNIT if exact.max() >= 8 * UNIT else 1
        return unit * np.maximum(1, np.round(exact / unit)).astype(int)

    def misfit(rows: int) -> float:
        held = rows * sizes(rows) / share
        return abs(held.min() / places - 1) + (held / held.min() - 1).sum() + 0.1 * max(rows / about, about / rows)

    about = max(1, round(places / (sentences * mean.max())))
    rows = min(range(math.ceil(about * 3 / 4), about * 4 // 3 + 1), key=misfit)
    found = []
    while True:
        size = sizes(rows) if rows > 1 else np.maximum(sizes(rows), -(-longest // UNIT) * UNIT)
        found.append(Shape(rows, *size.tolist()))
        if (size >= longest).all():
            return found
        rows //= 2


def _padding(lengths: np.ndarray, shape: Shape) -> float:
    """The share of padding, on the side that has more of it, in full steps of those of the pairs that fit the shape."""
    queue = _Queue(lengths, np.flatnonzero((lengths <= shape[1:]).all(1)), shape)
    held, places = np.zeros(2), np.zeros(2)
    while queue.left >= shape.rows:
        held += lengths[queue.step().pairs].sum(0)
        places += np.multiply(shape.rows, shape[1:])
    return float((1 - held / places).max()) if places.any() else 0.0


def pack(lengths: np.ndarray, shape: Shape) -> np.ndarray:
    """The row of each pair of `lengths` [pairs, 2]; -1 where there is no room for it.

    Longer pairs come first, each to the row that it leaves with the most equal room on both sides.
    """
    sizes = np.array(shape[1:])
    shares = lengths / sizes
    longest_first = np.argsort(-shares.max(1), kind="stable").tolist()
    room_source, room_target = (np.full(shape.rows, size) for size in sizes)
    uneven = np.zeros(shape.rows)  # by how much more of its source than of its target room a row has used
    found = np.full(len(lengths), -1)
    pairs = list(zip(*lengths.T.tolist(), (shares[:, 0] - shares[:, 1]).tolist(), strict=True))
    for pair in longest_first:
        source, target, more = pairs[pair]
        cost = np.abs(uneven + more)
        cost[(room_source < source) | (room_target < target)] = np.inf
        row = cost.argmin()
        if cost[row] < np.inf:
            found[pair] = row
            room_source[row] -= source
            room_target[row] -= target
            uneven[row] += more
    return found


class _Queue:
    """Pairs that wait for a step of one shape."""

    def __init__(self, lengths: np.ndarray, pairs: np.ndarray, shape: Shape):
        self.lengths, self.shape = lengths, shape
        self.postponed, self.coming, self.start = pairs[:0], pairs, 0
        self.whole = self.left = self._rows(pairs)
        self.candidates = math.ceil((shape.rows + SPARE) * len(pairs) / max(self.whole, 1))

    def _rows(self, pairs: np.ndarray) -> float:
        """How many rows pairs fill on the longer side."""
        return float((self.lengths[pairs].sum(0) / np.array(self.shape[1:])).max())

    def pairs(self) -> np.ndarray:
        """All that wait."""
        return np.concatenate([self.postponed, self.coming[self.start :]])

    def step(self) -> Step:
        """The first pairs that fit into a step together. What does not fit stays first."""
        end = self.start + self.candidates - len(self.postponed)
        tried = np.concatenate([self.postponed, self.coming[self.start : end]])
        rows = pack(self.lengths[tried], self.shape)
        order = np.argsort(rows, kind="stable")[(rows < 0).sum() :]
        self.postponed, self.start = tried[rows < 0], end
        self.left -= self._rows(tried[order])
        return Step(self.shape, tried[order], rows[order])


def in_order(lengths: np.ndarray, pairs: np.ndarray, kinds: Sequence[Shape]) -> Iterator[Step]:
    """Steps that hold each of `pairs` once, roughly in their order; only the last few are not full.

    A pair goes to the first shape that it fits. Of the shapes that can fill a step, that which has the largest share of
    its pairs left comes next. What fills none goes together to the longest shape that is still needed.
    """
    kind = np.array([(lengths[pairs] <= shape[1:]).all(1) for shape in kinds]).argmax(0)
    queues = [_Queue(lengths, pairs[kind == number], shape) for number, shape in enumerate(kinds)]
    while full := [queue for queue in queues if queue.left >= queue.shape.rows]:
        yield max(full, key=lambda queue: queue.left / queue.whole).step()
    rest = [queue for queue in queues if len(queue.pairs())]
    if rest:
        last = _Queue(lengths, np.concatenate([queue.pairs() for queue in rest]), rest[-1].shape)
        while len(last.pairs()):
            yield last.step()


def once(pairs: Pairs, which: np.ndarray, tokens: int) -> Iterator[Batch]:
    """Some pairs, each once, in batches of at most about `tokens` a side."""
    lengths = pairs.lengths[which]
    enough = math.ceil(1.1 * lengths.sum(0).max(initial=0))
    for step in in_order(pairs.lengths, which, shapes(lengths, min(tokens, enough))):
        yield step.batch(pairs, np.unique(step.rows))


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

        Only a `share` of each step's rows is given. Raises InputError when no pair is short enough.
        """
        self.pairs, self.micro_tokens, self.seed, self.share = pairs, micro_tokens, seed, share
        self.kept = np.flatnonzero(pairs.lengths.max(1) <= longest_pair)
        if not len(self.kept):
            raise InputError(f"no pair has at most {longest_pair} subwords on both sides; raise longest_pair")
        self.shapes = shapes(pairs.lengths[self.kept], tokens)

    def epoch(self, epoch: int) -> Iterator[Step]:
        """The steps of one epoch, in random order."""
        order = np.random.default_rng([self.seed, epoch]).permutation(self.kept)
        return in_order(self.pairs.lengths, order, self.shapes)

    def from_position(self, epoch: int, index: int) -> Iterator[tuple[int, int, list[Batch]]]:
        """For ever: the position after the step (epoch, index), and the micro-batches of its share, if any."""
        while True:
            for number, step in enumerate(self.epoch(epoch), start=1):
                if number > index:
                    rows = np.arange(step.shape.rows)[self.share]
                    yield epoch, number, [step.batch(self.pairs, part) for part in self._micro(rows, step.shape)]
            epoch, index = epoch + 1, 0

    def _micro(self, rows: np.ndarray, shape: Shape) -> list[np.ndarray]:
        if not len(rows):
            return []
        held = int(1.1 * self.micro_tokens)  # places, so that a step of as many subwords is one micro-batch
        return np.array_split(rows, -(-len(rows) // max(1, held // max(shape[1:]))))
