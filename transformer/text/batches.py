"""Batches of few shapes: pairs are packed into rows (section 5.1), in an order given by the seed and the epoch."""

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from transformer.model.masks import Rows
from transformer.support.files import InputError
from transformer.support.processes import prefetch
from transformer.text.tokens import Pairs

# How many sentences of mean length a row may hold. With fewer, attention spends less on pairs of subwords of different
# sentences, but more of a row is padding. We take the number that makes a subword cheapest.
SENTENCES = (4, 5, 6.5, 8)
# We assume that attention takes as long as the rest of a model in rows of this length. In small models it does so in
# shorter rows, but all models of an experiment have to read the same batches.
ATTENTION = 1000
FILLED = 0.97  # about the share of the places in rows that subwords fill
TRIED = 12  # how many steps are packed to measure the padding
UNIT = 8  # the lengths of long rows are multiples of this; a GPU pads those of short ones (`Rows.on`)
SPARE = 10  # how many rows of pairs a step tries in addition to its own, in order to fill gaps


class Shape(NamedTuple):
    """The number of rows of a step, and the source and target subwords that each row holds."""

    rows: int
    source: int
    target: int


@dataclass(frozen=True)
class Batch:
    """Rows of source [R, S] and target [R, T], and the lengths [pairs, 2] of the sentences of each pair in them.

    The end of sentence closes each sentence. The k-th sentence of a target row translates the k-th of the source row.
    """

    source: Rows
    target: Rows
    lengths: np.ndarray

    def on(self, device: torch.device) -> "Batch":
        """The batch with its rows on a device."""
        return Batch(self.source.on(device), self.target.on(device), self.lengths)

    @property
    def target_tokens(self) -> int:
        """The number of target ids without padding."""
        return int(self.lengths[:, 1].sum())


@dataclass(frozen=True)
class Step:
    """The pairs of a step, and the row of each; rows are in ascending order."""

    shape: Shape
    pairs: np.ndarray
    rows: np.ndarray

    def batch(self, pairs: Pairs, rows: np.ndarray) -> Batch:
        """The batch of some of the rows, which are given in ascending order."""
        here = np.isin(self.rows, rows)
        which, row = self.pairs[here], np.searchsorted(rows, self.rows[here])
        source, target = (
            Rows.of(torch.from_numpy(pairs.in_rows(which, side, row, len(rows), length)))
            for side, length in enumerate(self.shape[1:])
        )
        return Batch(source, target, pairs.lengths[which])


def shapes(lengths: np.ndarray, tokens: int) -> list[Shape]:
    """Shapes for pairs of `lengths` [pairs, 2], the one with the shortest rows first.

    A step of each shape has about `tokens` subwords on its longer side. Rows of the last shape can hold every pair.
    Each shape has about twice as many rows as the next.
    """
    mean, longest = lengths.mean(0), lengths.max(0)
    sample = lengths[:: max(1, len(lengths) // math.ceil(TRIED * tokens / mean.max()))]
    tried = [_shapes(mean, longest, tokens, sentences) for sentences in SENTENCES]
    return min(tried, key=lambda kinds: _cost(sample, kinds[0]))


def _shapes(mean: np.ndarray, longest: np.ndarray, tokens: int, sentences: float) -> list[Shape]:
    """Shapes whose rows hold about `sentences` sentences of `mean` length. The last one also holds the `longest` pair.

    Of similar numbers of rows, we take the one whose rounded lengths best hold `tokens` subwords on both sides.
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
    kinds = []
    while True:
        size = sizes(rows) if rows > 1 else np.maximum(sizes(rows), -(-longest // UNIT) * UNIT)
        kinds.append(Shape(rows, *size.tolist()))
        if (size >= longest).all():
            return kinds
        rows //= 2


def _cost(lengths: np.ndarray, shape: Shape) -> float:
    """About how long a subword takes in rows of this shape, with its share of padding; 1 in short rows without any."""
    return (1 + max(shape[1:]) / ATTENTION) / (1 - _padding(lengths, shape))


def _padding(lengths: np.ndarray, shape: Shape) -> float:
    """The share of padding in full steps of the pairs that fit the shape, on the side with more padding."""
    queue = _Queue(lengths, np.flatnonzero((lengths <= shape[1:]).all(1)), shape)
    held, places = np.zeros(2), np.zeros(2)
    while queue.left >= shape.rows:
        held += lengths[queue.step().pairs].sum(0)
        places += np.multiply(shape.rows, shape[1:])
    return float((1 - held / places).max()) if places.any() else 0.0


def pack(lengths: np.ndarray, shape: Shape) -> np.ndarray:
    """The row of each pair of `lengths` [pairs, 2]; -1 if there is no room for it.

    Longer pairs are placed first. A pair goes to the row whose source and target are then filled most equally.
    """
    sizes = np.array(shape[1:])
    shares = lengths / sizes
    longest_first = np.argsort(-shares.max(1), kind="stable").tolist()
    room_source, room_target = (np.full(shape.rows, size) for size in sizes)
    uneven = np.zeros(shape.rows)  # the share of a row's source that is used, minus that of its target
    row_of = np.full(len(lengths), -1)
    pairs = list(zip(*lengths.T.tolist(), (shares[:, 0] - shares[:, 1]).tolist(), strict=True))
    for pair in longest_first:
        source, target, more = pairs[pair]
        cost = np.abs(uneven + more)
        cost[(room_source < source) | (room_target < target)] = np.inf
        row = cost.argmin()
        if cost[row] < np.inf:
            row_of[pair] = row
            room_source[row] -= source
            room_target[row] -= target
            uneven[row] += more
    return row_of


class _Queue:
    """Pairs that wait for a step of one shape."""

    def __init__(self, lengths: np.ndarray, pairs: np.ndarray, shape: Shape):
        self.lengths, self.shape = lengths, shape
        self.postponed, self.coming, self.start = pairs[:0], pairs, 0
        self.whole = self.left = self._rows(pairs)
        self.candidates = math.ceil((shape.rows + SPARE) * len(pairs) / max(self.whole, 1))

    def _rows(self, pairs: np.ndarray) -> float:
        """How many rows some pairs fill, on the side on which they fill more."""
        return float((self.lengths[pairs].sum(0) / np.array(self.shape[1:])).max())

    def pairs(self) -> np.ndarray:
        """All pairs that wait."""
        return np.concatenate([self.postponed, self.coming[self.start :]])

    def step(self) -> Step:
        """Take the first pairs that fit into a step together. Pairs that do not fit stay first in the queue."""
        end = self.start + self.candidates - len(self.postponed)
        tried = np.concatenate([self.postponed, self.coming[self.start : end]])
        rows = pack(self.lengths[tried], self.shape)
        order = np.argsort(rows, kind="stable")[(rows < 0).sum() :]
        self.postponed, self.start = tried[rows < 0], end
        self.left -= self._rows(tried[order])
        return Step(self.shape, tried[order], rows[order])


def in_order(lengths: np.ndarray, pairs: np.ndarray, kinds: Sequence[Shape]) -> Iterator[Step]:
    """Steps that hold each of `pairs` once, roughly in their order. Only the last few steps are not full.

    A pair goes to the first shape that holds it. Of the shapes that can fill a step, the one with the largest share of
    its pairs left comes next. At the end, pairs that cannot fill a step all go to the longest of their shapes.
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
    """Batches of some pairs, each once, with about `tokens` subwords or fewer on each side."""
    lengths = pairs.lengths[which]
    enough = math.ceil(1.1 * lengths.sum(0).max(initial=0))
    for step in in_order(pairs.lengths, which, shapes(lengths, min(tokens, enough))):
        yield step.batch(pairs, np.unique(step.rows))


def short_enough(lengths: np.ndarray, longest_pair: int) -> np.ndarray:
    """The pairs of `lengths` [pairs, 2] that have at most `longest_pair` subwords on both sides."""
    return np.flatnonzero(lengths.max(1) <= longest_pair)


@dataclass(frozen=True)
class Order:
    """The steps of a corpus, epoch after epoch. `lengths` are those of all its pairs."""

    lengths: np.ndarray
    longest_pair: int
    shapes: Sequence[Shape]
    seed: int

    def epoch(self, epoch: int) -> Iterator[Step]:
        """The steps of one epoch, in random order."""
        kept = short_enough(self.lengths, self.longest_pair)
        return in_order(self.lengths, np.random.default_rng([self.seed, epoch]).permutation(kept), self.shapes)

    def after(self, epoch: int, index: int) -> Iterator[tuple[int, int, Step]]:
        """The steps after position (epoch, index), without end, and the position after each."""
        while True:
            for number, step in enumerate(self.epoch(epoch), start=1):
                if number > index:
                    yield epoch, number, step
            epoch, index = epoch + 1, 0


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
        """A step has about `tokens` subwords on each side, in micro-batches of about `micro_tokens`.

        Pairs longer than `longest_pair` are left out. Of each step, only the rows in the slice `share` are returned.
        Raises InputError when no pair is short enough.
        """
        self.pairs, self.micro_tokens, self.share = pairs, micro_tokens, share
        self.kept = short_enough(pairs.lengths, longest_pair)
        if not len(self.kept):
            raise InputError(f"no pair has at most {longest_pair} subwords on both sides; raise longest_pair")
        self.shapes = shapes(pairs.lengths[self.kept], tokens)
        self.order = Order(pairs.lengths, longest_pair, self.shapes, seed)
        self.epoch = self.order.epoch

    def from_position(
        self, epoch: int, index: int, apart: bool = False
    ) -> Generator[tuple[int, int, list[Batch]], None, None]:
        """The steps after position (epoch, index), without end: the position after each, and its micro-batches.

        A micro-batch has at least one pair. There are no micro-batches if the share of a step is empty. With `apart`,
        another process packs the steps ahead, until this iterator is closed; it raises the InputError of `prefetch`.
        """
        steps = self.order.after(epoch, index)
        died = ("packing batches", "free memory, and start the command again to resume")
        with prefetch(*died, self.order.after, epoch, index) if apart else nullcontext(steps) as packed:
            for after, number, step in packed:
                rows = np.arange(step.shape.rows)[self.share]
                micro = [step.batch(self.pairs, part) for part in self._micro(rows, step.shape)]
                yield after, number, [batch for batch in micro if len(batch.lengths)]

    def _micro(self, rows: np.ndarray, shape: Shape) -> list[np.ndarray]:
        if not len(rows):
            return []
        held = int(1.1 * self.micro_tokens)  # places; with 10 % for padding, `micro_tokens` subwords fit into one batch
        return np.array_split(rows, -(-len(rows) // max(1, held // max(shape[1:]))))
