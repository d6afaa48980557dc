"""The test over seeds and sentences: how often it is right about invented differences."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transformer.evaluation.seeds_and_sentences import LEAST, p_over_seeds_and_sentences

SENTENCES = 60
# Variances of a difference in BLEU: of seeds, of sentences, and of sentences in one seed. SMALL is like `small`, where
# differences of one seed have a standard deviation of 0.65 over seeds and an error of 0.46 over sentences.
SMALL = (0.23, 0.02, 0.19)
SHARES = {"seeds": (1, 0, 0), "sentences": (0, 1, 0), "mostly seeds": (0.9, 0.1, 0), "small": SMALL}


def drawn(generator, mean, seeds, variances):
    """Differences [seeds, sentences] whose mean has these variances with one seed."""
    shapes = ((seeds, 1), (1, SENTENCES), (seeds, SENTENCES))
    sizes = np.sqrt(np.array(variances) * (1, SENTENCES, SENTENCES))
    return mean + sum(generator.normal(0, size, shape) for size, shape in zip(sizes, shapes, strict=True))


def starred(mean, seeds, variances, trials=1000):
    """The share of differences with p < 0.05."""
    generator = np.random.default_rng(seeds)
    return np.mean([
        p_over_seeds_and_sentences(drawn(generator, mean, seeds, variances)) < 0.05 for _ in range(trials)
    ])  # fmt: skip


@pytest.mark.parametrize("seeds", [2, 3, 10])
@pytest.mark.parametrize("variances", SHARES.values(), ids=SHARES)
def test_at_most_one_difference_in_twenty_is_starred_by_chance(seeds, variances):
    assert starred(0, seeds, variances) <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_more_seeds_find_more():
    """In `small`, a true difference of 1.5 BLEU is found by about 0.18, 0.51, 0.93 and 1.00 of experiments."""
    found = [starred(1.5, seeds, SMALL, 500) for seeds in (2, 3, 5, 10)]
    assert found == sorted(found)
    assert found == pytest.approx([0.18, 0.51, 0.93, 1.0], abs=0.06)


def test_shuffling_within_each_seed_would_star_differences_between_trainings():
    """Shuffling the labels of each seed's sentences (Clark et al. 2011) takes seeds for further sentences."""
    generator = np.random.default_rng(1)
    found = []
    for _ in range(200):
        values = drawn(generator, 0, 5, SMALL)
        shuffled = (generator.choice([-1, 1], (200, *values.shape)) * values).mean((1, 2))
        found.append((abs(shuffled) >= abs(values.mean())).mean() < 0.05)
    assert np.mean(found) > 0.15


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=9).filter(lambda each: np.std(each) > 0.01))
def test_without_an_error_over_sentences_it_is_the_paired_t_test_of_seeds(means):
    p = p_over_seeds_and_sentences(np.repeat([means], 5, axis=0).T)
    assert p == pytest.approx(max(LEAST, stats.ttest_1samp(means, 0).pvalue), rel=1e-6, abs=1e-9)


@given(st.lists(st.lists(st.floats(-9, 9), min_size=4, max_size=4), min_size=2, max_size=5))
def test_seeds_and_sentences_count_alike_and_the_sign_does_not(values):
    p = p_over_seeds_and_sentences(values)
    assert LEAST <= p <= 1
    assert p == pytest.approx(p_over_seeds_and_sentences(np.transpose(values)), rel=1e-3)
    assert p == pytest.approx(p_over_seeds_and_sentences(-np.array(values)), rel=1e-3)


def test_equal_systems_do_not_differ_and_a_constant_difference_is_sure():
    assert p_over_seeds_and_sentences(np.zeros((3, 9))) == 1
    assert p_over_seeds_and_sentences(np.ones((3, 9))) == LEAST
