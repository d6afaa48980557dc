import itertools
import math
from collections import Counter

import numpy as np
import pytest
import torch
from test_beam import log_probability, padded, toy

from transformer.decoding.sampling import sample
from transformer.model.ids import END


def generators(count):
    return [np.random.default_rng((7, number)) for number in range(count)]


@pytest.mark.parametrize(
    "changes", [{}, {"network": "recurrent"}, {"network": "convolutional", "positions": "learned"}]
)
def test_outputs_are_drawn_with_the_model_s_probabilities(changes):
    model, source, draws = toy(**changes), padded([2]), 4000
    found = sample(model, source.expand(draws, -1), 1, generators(draws))
    counts = Counter(tuple(hypothesis.ids) for hypothesis in found)
    total = 0.0
    for length in range(4):
        for ids in itertools.product([0, 2, 3], repeat=length):
            p = math.exp(*log_probability(model, source, [[*ids, END][:3]]))
            total += p
            assert counts[ids] / draws == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / draws))
    assert total == pytest.approx(1, rel=1e-5)


def test_the_score_is_the_log_probability_with_the_end():
    model, sources = toy(vocabulary=9), [[3, 4, 5], [6], [8, 8, 2, 3]]
    found = sample(model, padded(*sources), 3, generators(3))
    assert len({len(hypothesis.ids) for hypothesis in found}) > 1
    for source, (ids, score) in zip(sources, found, strict=True):
        whole = [*ids, END][: len(source) + 4]
        assert [score] == pytest.approx(log_probability(model, padded(source), [whole]), rel=1e-4)


def test_other_sentences_in_a_batch_change_nothing():
    model, sources = toy(vocabulary=9), [[3, 4, 5], [6], [8, 8, 2, 3, 7, 7]]
    together = sample(model, padded(*sources), 6, generators(3))
    for source, generator, found in zip(sources, generators(3), together, strict=True):
        (alone,) = sample(model, padded(source), 6, [generator])
        assert alone.ids == found.ids


@pytest.mark.parametrize(("changes", "longest"), [({}, 53), ({"positions": "learned"}, 16)])
def test_the_length_of_a_sampled_output_is_limited(changes, longest):
    model = toy(**changes)
    logits = model.logits
    model.logits = lambda y: logits(y).index_fill(-1, torch.tensor([END]), -torch.inf)
    (found,) = sample(model, padded([2, 3]), 50, generators(1))
    assert len(found.ids) == longest
