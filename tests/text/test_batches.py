from itertools import islice, pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.gpu.made import drawn_lengths
from transformer.model.ids import END, PADDING
from transformer.support.files import InputError
from transformer.text.batches import Batches, Shape, in_order, once, pack, shapes
from transformer.text.tokens import Pairs
from transformer.text.tokens import pack as arrays

COUNT = 300
TOKENS, MICRO = 120, 40
lengths_of_pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def pairs():
    """Pairs of 2 to 24 subwords. Pair i has the source i + 3, i + 3, ..., end and the target i + 4, i + 4, ..., end."""
    random = np.random.default_rng(1)
    lengths = random.integers(2, 25, (COUNT, 2))
    sides = [[[i + 3 + side] * (n - 1) + [END] for i, n in enumerate(lengths[:, side])] for side in (0, 1)]
    return Pairs.of([arrays(*sides, COUNT + 4)])


def batches(pairs, seed=1, max_length=256, tokens=TOKENS, micro=MICRO):
    return Batches(pairs, tokens, micro, max_length, seed)


def sentences(ids):
    """The first id and the length of each sentence in rows."""
    rows = [row[: (row != PADDING).sum()].tolist() for row in ids]
    assert all(not row or row[-1] == END for row in rows)
    ends = [[-1, *(i for i, number in enumerate(row) if number == END)] for row in rows]
    return [
        [(row[start + 1], end - start) for start, end in pairwise(places)]
        for row, places in zip(rows, ends, strict=True)
    ]


def numbers(step):
    """The numbers of the pairs in a step's micro-batches, in the order of the rows."""
    return [number - 3 for micro in step for row in sentences(micro.source.ids) for number, _ in row]


def sequence(batches, epoch, index, steps):
    return [(e, i, numbers(step)) for e, i, step in islice(batches.from_position(epoch, index), steps)]


def test_another_process_packs_the_same_steps(pairs):
    one = batches(pairs)
    epoch = len(list(one.epoch(2)))
    given = [islice(one.from_position(2, epoch - 5, apart), 20) for apart in (True, False)]
    for (*after, theirs), (*position, ours) in zip(*given, strict=True):
        assert after == position
        for mine, yours in zip(ours, theirs, strict=True):
            assert all(map(torch.equal, [*mine.source, *mine.target], [*yours.source, *yours.target]))
            assert (mine.lengths == yours.lengths).all()


@pytest.mark.parametrize("tokens", [480, 512, 2048, 25_000])
def test_a_step_fits_into_a_micro_batch_of_the_same_number_of_subwords(tokens):
    lengths = drawn_lengths(4 * tokens // 27, 256)
    shape = shapes(lengths, tokens)[0]
    assert max(shape[1:]) * shape.rows <= 1.1 * tokens


@pytest.mark.parametrize("epoch", [0, 7])
def test_every_pair_comes_once_in_an_epoch(pairs, epoch):
    steps = list(batches(pairs).epoch(epoch))
    assert sorted(np.concatenate([step.pairs for step in steps]).tolist()) == list(range(COUNT))


def test_rows_hold_whole_pairs_side_by_side(pairs):
    for *_, step in islice(batches(pairs).from_position(0, 0), 60):
        for micro in step:
            assert len(micro.source.ids) == len(micro.target.ids)
            found = list(zip(sentences(micro.source.ids), sentences(micro.target.ids), strict=True))
            both = [pair for source, target in found for pair in zip(source, target, strict=True)]
            which = [source - 3 for (source, _), _ in both]
            assert which == [target - 4 for _, (target, _) in both]
            assert [[s, t] for (_, s), (_, t) in both] == pairs.lengths[which].tolist() == micro.lengths.tolist()
            assert micro.target_tokens == (micro.target.ids != PADDING).sum()


@pytest.mark.parametrize(
    ("tokens", "mean", "padding"), [(25_000, 31, 0.05), (512, 9, 0.05), (512, 13, 0.05), (512, 24, 0.06)]
)
def test_an_epoch_has_few_shapes_little_padding_and_steps_of_the_requested_size(tokens, mean, padding):
    lengths = drawn_lengths(40 * tokens // mean, 256)
    lengths = np.clip((lengths * mean / lengths[:, 1].mean()).astype(int), 2, 256)
    steps = list(in_order(lengths, np.arange(len(lengths)), shapes(lengths, tokens)))
    assert len({step.shape for step in steps}) <= 16
    held = np.array([lengths[step.pairs].sum(0) for step in steps])
    room = np.array([step.shape.rows * np.array(step.shape[1:]) for step in steps])
    assert (1 - held[:-2].sum(0) / room[:-2].sum(0)).max() < padding
    assert abs(held[:-2].max(1).mean() / tokens - 1) < 0.03


@pytest.mark.parametrize("size", [30, MICRO])
def test_micro_batches_cover_the_step(pairs, size):
    both = batches(pairs, micro=size)
    steps = list(both.epoch(0))
    for (_, _, micros), step in zip(both.from_position(0, 0), steps, strict=False):
        assert all(len(micro.lengths) for micro in micros)  # although at the end of an epoch some rows are empty
        assert sorted(numbers(micros)) == sorted(step.pairs.tolist())
        assert sum(len(micro.source.ids) for micro in micros) == step.shape.rows
        assert all(
            max(micro.source.ids.numel(), micro.target.ids.numel()) <= 1.1 * size or len(micro.source.ids) == 1
            for micro in micros
        )


def test_no_epoch_of_a_seed_begins_like_one_of_another_seed(pairs):
    first = [next(batches(pairs, seed).epoch(epoch)).pairs for seed in (1, 2, 3) for epoch in (0, 1, 2)]
    assert len(set(map(tuple, first))) == 9


def test_the_sequence_is_the_same_when_it_continues_from_any_position(pairs):
    count = len(list(batches(pairs, tokens=600).epoch(0)))
    steps = 2 * count + 3
    whole = sequence(batches(pairs, tokens=600), 0, 0, steps)
    assert {epoch for epoch, _, _ in whole} == {0, 1, 2}
    for done in range(1, steps - 1):
        epoch, index, _ = whole[done - 1]
        assert sequence(batches(pairs, tokens=600), epoch, index, 2) == whole[done : done + 2]


def test_pairs_that_are_too_long_are_left_out(pairs):
    kept = np.concatenate([step.pairs for step in batches(pairs, max_length=10).epoch(0)])
    assert sorted(kept.tolist()) == [i for i in range(COUNT) if pairs.lengths[i].max() <= 10]
    assert 0 < len(kept) < COUNT
    with pytest.raises(InputError, match="no pair has at most 0 subwords on both sides; raise longest_pair"):
        batches(pairs, max_length=0)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_shares_of_a_step_add_up_to_it_and_have_similar_sizes(pairs, count):
    dealt = [
        Batches(pairs, TOKENS, MICRO, 256, 1, slice(rank, None, count)).from_position(0, 0) for rank in range(count)
    ]
    for step, *shares in zip(batches(pairs).epoch(0), *dealt, strict=False):
        assert sorted(numbers([micro for *_, share in shares for micro in share])) == sorted(step.pairs.tolist())
        rows = [sum(len(micro.source.ids) for micro in share) for *_, share in shares]
        assert max(rows) - min(rows) <= 1


@given(lengths_of_pairs, st.integers(1, 100))
def test_each_pair_comes_once_in_a_shape_that_holds_it(lengths, tokens):
    lengths = np.array(lengths)
    kinds = shapes(lengths, tokens)
    steps = list(in_order(lengths, np.arange(len(lengths)), kinds))
    assert sorted(np.concatenate([step.pairs for step in steps]).tolist()) == list(range(len(lengths)))
    assert {step.shape for step in steps} <= set(kinds)
    for shape in kinds:
        assert max(shape[1:]) * shape.rows <= tokens / 0.97 + 4 * shape.rows or shape.rows == 1
    for step in steps:
        used = np.zeros((step.shape.rows, 2), int)
        np.add.at(used, step.rows, lengths[step.pairs])
        assert (used <= step.shape[1:]).all()
        assert (np.diff(step.rows) >= 0).all()


@given(lengths_of_pairs, st.integers(1, 6), st.integers(1, 60), st.integers(1, 60))
def test_a_pair_that_gets_no_row_fits_into_no_row(lengths, rows, source, target):
    lengths = np.array(lengths)
    found = pack(lengths, Shape(rows, source, target))
    room = np.tile([source, target], (rows, 1))
    np.subtract.at(room, found[found >= 0], lengths[found >= 0])
    assert room.min() >= 0
    assert not any((room >= pair).all(1).any() for pair in lengths[found < 0])


def test_some_pairs_are_read_once_in_batches_without_empty_rows(pairs):
    found = list(once(pairs, np.arange(5, 90), 200))
    assert sorted(numbers(found)) == list(range(5, 90))
    assert all((micro.source.ids != PADDING).any(1).all() for micro in found)
