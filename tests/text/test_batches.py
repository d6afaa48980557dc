from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from transformer.text.batches import Batches, batch, chunks
from transformer.text.tokens import Pairs, pack, write_pairs

COUNT = 300
TOKENS, MICRO = 120, 40
lengths_of_pairs = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=40)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pairs of 1 to 24 subwords; the first id of a source is the pair's number + 2."""
    random = np.random.default_rng(1)
    lengths = random.integers(1, 25, (COUNT, 2))
    prefix = tmp_path_factory.mktemp("tokens") / "train"
    sides = [[[i + 2] * n for i, n in enumerate(lengths[:, 0])], [[3] * n for n in lengths[:, 1]]]
    write_pairs(prefix, [pack(*sides, COUNT + 2)], COUNT + 2)
    return Pairs(prefix)


def batches(pairs, seed=1, max_length=256, tokens=TOKENS, micro=MICRO):
    return Batches(pairs, tokens, micro, max_length, seed)


def numbers(step):
    return np.concatenate([micro.source[:, 0].numpy() - 2 for micro in step]).tolist()


def sequence(batches, epoch, index, steps):
    return [(e, i, numbers(step)) for e, i, step in islice(batches.from_position(epoch, index), steps)]


@pytest.mark.parametrize("epoch", [0, 7])
def test_every_pair_comes_once_an_epoch(pairs, epoch):
    assert sorted(np.concatenate(batches(pairs).epoch(epoch)).tolist()) == list(range(COUNT))


def test_no_batch_is_above_the_budget_nor_half_empty(pairs):
    steps = batches(pairs).epoch(0)
    sizes = [pairs.lengths[step].max() * len(step) for step in steps]
    assert max(sizes) <= TOKENS
    assert np.mean(sizes) > 0.8 * TOKENS


def test_a_batch_holds_pairs_of_like_length(pairs):
    spread = [np.ptp(pairs.lengths[step].max(1)) for step in batches(pairs).epoch(0)]
    assert np.mean(spread) < 1


def test_micro_batches_cover_the_step(pairs):
    both = batches(pairs)
    for (_, i, micros), step in zip(both.from_position(0, 0), both.epoch(0), strict=False):
        assert numbers(micros) == step.tolist()
        assert all(max(micro.source.numel(), micro.target.numel()) <= MICRO for micro in micros)
        assert sum(micro.target_tokens for micro in micros) == pairs.lengths[step, 1].sum()
        if i == len(both.epoch(0)):
            break


def test_a_batch_is_padded_with_zeros_and_knows_its_lengths(pairs):
    made = batch(pairs, np.array([0, 1, 2]))
    for side, ids in enumerate((made.source, made.target)):
        assert (ids != 0).sum(1).tolist() == made.lengths[:, side].tolist()
        assert ids.shape[1] == made.lengths[:, side].max()


def test_the_seed_decides_the_order(pairs):
    first = sequence(batches(pairs, seed=1), 0, 0, 30)
    assert sequence(batches(pairs, seed=1), 0, 0, 30) == first
    assert sequence(batches(pairs, seed=2), 0, 0, 30) != first


def test_epochs_differ(pairs):
    orders = [[step.tolist() for step in batches(pairs).epoch(epoch)] for epoch in (0, 1)]
    assert sorted(orders[0]) != sorted(orders[1])  # other batches, not only the same ones in another order
    longest = [[pairs.lengths[step].max() for step in order] for order in orders]
    assert longest[0] != longest[1] != sorted(longest[1])  # and short ones not before long ones


def test_going_on_from_any_position_continues_the_same_sequence(pairs):
    both = batches(pairs, tokens=600)
    steps = 2 * len(both.epoch(0)) + 3
    whole = sequence(both, 0, 0, steps)
    assert {epoch for epoch, _, _ in whole} == {0, 1, 2}
    for done in range(1, steps - 1):
        epoch, index, _ = whole[done - 1]
        assert sequence(batches(pairs, tokens=600), epoch, index, 2) == whole[done : done + 2]


def test_pairs_that_are_too_long_are_left_out(pairs):
    kept = np.concatenate(batches(pairs, max_length=10).epoch(0))
    assert sorted(kept.tolist()) == [i for i in range(COUNT) if pairs.lengths[i].max() <= 10]
    assert 0 < len(kept) < COUNT


def test_a_corpus_without_a_pair_short_enough_is_refused(pairs):
    with pytest.raises(InputError, match="no pair has at most 0 subwords on both sides; raise longest_pair"):
        batches(pairs, max_length=0)


@pytest.mark.parametrize("count", [2, 3, 8])
def test_shares_of_a_step_make_the_step_and_are_of_like_size(pairs, count):
    whole = batches(pairs).epoch(0)
    dealt = [
        Batches(pairs, TOKENS, MICRO, 256, 1, slice(rank, None, count)).from_position(0, 0) for rank in range(count)
    ]
    for step, *shares in zip(whole, *dealt, strict=False):
        micros = [micro for _, _, share in shares for micro in share]
        assert sorted(numbers(micros)) == sorted(step.tolist())
        sizes = [sum(len(micro.lengths) for micro in share) for _, _, share in shares]
        assert max(sizes) - min(sizes) <= 1


@given(lengths_of_pairs, st.integers(1, 100), st.randoms(use_true_random=False))
def test_chunks_keep_the_order_and_the_budget_and_are_as_long_as_they_can_be(lengths, tokens, random):
    lengths = np.array(lengths)
    order = np.arange(len(lengths))
    random.shuffle(order)
    order = order[np.argsort(lengths[order].max(1), kind="stable")]
    parts = chunks(lengths, order, tokens)
    assert np.concatenate(parts).tolist() == order.tolist()
    padded = [lengths[part].max() * len(part) for part in parts]
    assert all(size <= tokens or len(part) == 1 for size, part in zip(padded, parts, strict=True))
    for part, following in pairwise(parts):
        longer = [*part, following[0]]
        assert lengths[longer].max() * len(longer) > tokens
