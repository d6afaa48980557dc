import math

import pytest
import torch
import torch.nn.functional as F

from transformer.evaluation.perplexity import OfLength, perplexity, perplexity_by_length
from transformer.model.masks import Rows
from transformer.support.files import InputError
from transformer.text.tokens import Pairs, pack


@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize("batch_tokens", [1, 30, 10_000])
def test_perplexity_equals_that_of_a_plain_loop(package, encoded, batch_tokens):
    loaded, pairs = package(), encoded("dev")
    total, count = 0.0, 0
    for i in range(len(pairs)):
        source, target = (
            torch.tensor(pairs.ids[pairs.offsets[j] : pairs.offsets[j + 1]].astype(int)) for j in (2 * i, 2 * i + 1)
        )
        with torch.no_grad():
            logits = loaded.model.logits(loaded.model(Rows.of(source[None]), Rows.of(target[None])))[0]
        total += F.cross_entropy(logits.double(), target, reduction="sum").item()
        count += len(target)
    assert perplexity(loaded, pairs, batch_tokens) == pytest.approx(math.exp(total / count), rel=1e-5)


def of_lengths(*lengths):
    """Pairs with the given numbers of subwords of source and target."""
    return Pairs.of([pack(*([[5] * (pair[side] - 1) + [1] for pair in lengths] for side in (0, 1)), 40)])


def test_a_pair_beyond_the_learned_positions_is_named(package):
    with pytest.raises(InputError, match="line 2: 31 subwords, but base has learned 24 positions"):
        perplexity(package(positions="learned"), of_lengths((2, 2), (2, 31)), 100)


def test_each_pair_belongs_to_one_class_by_its_longer_side(package):
    lengths = [(2, 3), (5, 9), (10, 4), (11, 2), (6, 31)]
    found = perplexity_by_length(package(), of_lengths(*lengths), [10, 5, 20], 100)
    assert [row[:4] for row in found] == [(1, 5, 1, 3), (6, 10, 2, 13), (11, 20, 1, 2), (21, 31, 1, 31)]
    for row, some in zip(found, (lengths[:1], lengths[1:3], lengths[3:4], lengths[4:]), strict=True):
        assert row.perplexity == pytest.approx(perplexity(package(), of_lengths(*some), 100), rel=1e-5)


def test_a_class_beyond_the_learned_positions_has_no_perplexity(package):
    found = perplexity_by_length(package(positions="learned"), of_lengths((24, 3), (5, 25)), [24], 100)
    assert found == [(1, 24, 1, 3, found[0].perplexity), OfLength(25, 25, 1, 25, None)]
    assert found[0].perplexity > 1
