from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transformer.evaluation.statistics import (
    LEAST,
    LEVEL,
    Hypothesis,
    effects,
    judge,
    judge_rounds,
    level,
    mean,
    p_over_seeds_and_sentences,
    pooled,
    power,
    size,
    unpaired,
)

SEEDS = 5
ROW, AGAINST = np.array([31.2, 30.4, 32.0, 31.1, 30.9]), np.array([30.1, 30.2, 31.0, 30.9, 29.8])


def drawn(generator, center, seeds=SEEDS):
    return generator.normal(center, 1.0, seeds)


def verdict_of(each, *bounds, others=()):
    """The verdict of a claim on some effects, in a family with others without a bound."""
    family = {str(number): Hypothesis(mean(other)) for number, other in enumerate(others)}
    return judge({"one": Hypothesis(mean(each), *bounds), **family})["one"].verdict


@pytest.mark.agreement(witness="SciPy")
@pytest.mark.parametrize("bound", [0.0, 0.3, -0.8])
def test_the_tests_of_means_are_scipys(bound):
    shifted = ROW - bound
    for ours, theirs in (
        (mean(ROW - AGAINST), partial(stats.ttest_rel, shifted, AGAINST)),
        (unpaired(ROW, AGAINST), partial(stats.ttest_ind, shifted, AGAINST, equal_var=False)),
    ):
        assert ours.above(bound) == pytest.approx(theirs(alternative="greater").pvalue)
        assert ours.below(bound) == pytest.approx(theirs(alternative="less").pvalue)
        assert ours.outside(bound, bound) == pytest.approx(theirs().pvalue)
        assert ours.freedom == pytest.approx(theirs().df)
        assert np.subtract(ours.interval(), bound) == pytest.approx(tuple(theirs().confidence_interval(0.95)))


@pytest.mark.agreement(witness="SciPy")
def test_claims_are_judged_by_scipys_t_tests():
    each = (ROW - AGAINST) / 10
    family = {"apart": Hypothesis(mean(each)), "more": Hypothesis(mean(each), least=0.05)}
    family |= {"alike": Hypothesis(mean(each), 0.5), "far": Hypothesis(mean(each + 3), 0.5)}
    sides = ((-0.5, "greater"), (0.5, "less"))
    one_sided = [stats.ttest_1samp(each, bound, alternative=side).pvalue for bound, side in sides]
    expected = [stats.ttest_1samp(each, 0).pvalue, stats.ttest_1samp(each, 0.05).pvalue, max(one_sided)]
    expected.append(2 * stats.ttest_1samp(each + 3, 0.5, alternative="greater").pvalue)
    judged = judge(family)
    assert [one.p_alone for one in judged.values()] == pytest.approx(expected)
    assert judged["apart"].interval == pytest.approx(tuple(stats.ttest_1samp(each, 0).confidence_interval(0.95)))
    assert judged["alike"].interval == pytest.approx(tuple(stats.ttest_1samp(each, 0).confidence_interval(0.9)))
    assert (judged["alike"].verdict, judged["far"].verdict) == ("reproduced", "contrary")


@pytest.mark.agreement(witness="NumPy")
@given(st.lists(st.floats(-9, 9), min_size=2, max_size=5))
def test_a_trend_is_the_least_squares_line_from_the_first_row_to_the_last(rows):
    [effect] = effects([[row] for row in rows])
    slope = np.polyfit(np.arange(len(rows)), rows, 1)[0]
    assert effect == pytest.approx(slope * (len(rows) - 1), abs=1e-9)


def test_holms_correction_starts_with_the_smallest_p():
    generator = np.random.default_rng(3)
    family = {str(center): Hypothesis(mean(drawn(generator, center))) for center in (0, 1, 3, 30)}
    judged = judge(family | {"equal": family["3"]})  # a p is never below one that is smaller before the correction
    ascending = sorted(judged, key=lambda name: judged[name].p_alone)
    alone = [judged[name].p_alone for name in ascending]
    expected = np.maximum.accumulate([min(1, (5 - rank) * p) for rank, p in enumerate(alone)])
    assert [judged[name].p for name in ascending] == pytest.approx(expected)
    assert judged["30"].verdict == "reproduced"


def test_at_most_one_family_in_twenty_has_a_false_verdict():
    generator, families, false = np.random.default_rng(4), 1000, 0
    for _ in range(families):
        # `reproduced` is false for the last two claims: their true differences are at the margin and beyond it.
        family = {str(number): Hypothesis(mean(drawn(generator, 0))) for number in range(6)}
        family |= {name: Hypothesis(mean(drawn(generator, at)), 1.5) for name, at in (("at", 1.5), ("beyond", -2))}
        judged = judge(family)
        alike = (judged.pop(name).verdict == "reproduced" for name in ("at", "beyond"))
        false += any(alike) or any(each.verdict != "undecided" for each in judged.values())
    assert false / families <= LEVEL + 3 * (LEVEL * (1 - LEVEL) / families) ** 0.5


@pytest.mark.parametrize(("margin", "center", "bound"), [(None, 0, 0), (None, 0, 0.7), (0.5, 0, 0), (0.5, -0.3, 0)])
def test_the_smallest_effect_is_just_enough_for_a_verdict(margin, center, bound):
    """An effect of `smallest` is decided, and rows are alike within a margin of `smallest`; anything smaller is not.

    A claim that is decided anyway makes the others' correction weaker.
    """
    each = drawn(np.random.default_rng(6), 0)
    spread = each - each.mean()
    others = [spread, spread + 99]
    family = {str(number): Hypothesis(mean(other)) for number, other in enumerate(others)}
    smallest = judge({"one": Hypothesis(mean(spread + center), margin, bound), **family})["one"].smallest
    for share, verdict in ((1.001, "reproduced"), (0.999, "undecided")):
        claim = (spread + center, share * smallest) if margin else (spread + share * smallest, None, bound)
        assert verdict_of(*claim, others=others) == verdict


def test_seeds_that_all_agree_decide_a_claim():
    verdicts = [verdict_of(np.full(3, 0.25)), verdict_of(np.zeros(3)), verdict_of(np.zeros(3), 0.1)]
    verdicts += [verdict_of(np.full(3, 0.25), None, least) for least in (0.2, 0.3)]
    assert verdicts == ["reproduced", "undecided", "reproduced", "reproduced", "contrary"]


BOUND = st.floats(-9, 9)


@given(BOUND, BOUND, BOUND)
def test_an_effect_is_similar_where_its_interval_contains_the_published_one_and_turns_with_it(one, other, published):
    low, high = sorted((one, other))
    found = size((low, high), published)
    assert (found == "similar") == (low <= published <= high)
    if published:
        assert found == size((-high, -low), -published)
        assert (found == "opposite") == (low > 0 > published or high < 0 < published)
        assert (found == "larger") == (low > published > 0 or high < published < 0)
    elif found != "similar":
        assert found == "larger"


@pytest.mark.parametrize("sign", [1, -1])
def test_rounds_decide_by_their_whole_interval(sign):
    near, wide = np.array([-0.01, 0, 0.01]), np.array([-1.0, 0.0, 1.0])
    rounds = [sign * each for each in (np.log(1.2) + near, near, wide)]
    verdicts = [judge_rounds(each, None).verdict for each in rounds]
    assert verdicts == [{1: "reproduced", -1: "contrary"}[sign], "undecided", "undecided"]
    assert [judge_rounds(each, np.log(1.1)).verdict for each in rounds] == ["contrary", "reproduced", "undecided"]


# An error pooled over rows, and claims that share a row.


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=6))
def test_an_error_pooled_over_two_rows_is_their_own(seeds):
    rows = list(zip(*seeds, strict=True))
    own = mean(effects(rows))
    assert pooled(own.value, rows, 2) == pytest.approx(own, abs=1e-9)


# Ideas.


def test_the_levels_of_all_confirmations_are_five_percent_together():
    assert [level(1), level(2)] == pytest.approx([0.05 / 2, 0.05 / 6])
    assert sum(map(level, range(1, 10_000))) == pytest.approx(0.05, rel=1e-3)


@pytest.mark.parametrize(("gain", "spread", "seeds", "tail"), [(1.0, 0.5, 10, 0.0125), (0.5, 0.5, 5, 0.05)])
def test_the_power_is_the_share_of_tests_that_find_the_gain(gain, spread, seeds, tail):
    generator = np.random.default_rng(3)
    row, against = generator.normal(0, spread, (2, 2000, seeds))
    found = np.mean([unpaired(*each).above(0) < tail for each in zip(row + gain, against, strict=True)])
    assert power(gain, spread, seeds, tail) == pytest.approx(found, abs=0.03)
    assert power(gain, 0.0, seeds, tail) == 1


# Seeds and sentences.

SENTENCES = 60
# Variances of a difference in BLEU: of seeds, of sentences, and of sentences in one seed. SMALL is like `small`, where
# differences of one seed have a standard deviation of 0.65 over seeds and an error of 0.46 over sentences.
SMALL = (0.23, 0.02, 0.19)
SHARES = {"seeds": (1, 0, 0), "sentences": (0, 1, 0), "mostly seeds": (0.9, 0.1, 0), "small": SMALL}


def starred(center, seeds, variances, trials=1000):
    """The share of differences [seeds, sentences] with p < 0.05, if their mean has these variances with one seed."""
    generator = np.random.default_rng(seeds)
    shapes = ((seeds, 1), (1, SENTENCES), (seeds, SENTENCES))
    sizes = np.sqrt(np.array(variances) * (1, SENTENCES, SENTENCES))
    found = 0
    for _ in range(trials):
        parts = (generator.normal(0, each, shape) for each, shape in zip(sizes, shapes, strict=True))
        found += p_over_seeds_and_sentences(center + sum(parts)) < 0.05
    return found / trials


@pytest.mark.parametrize("seeds", [2, 10])
@pytest.mark.parametrize("variances", SHARES.values(), ids=SHARES)
def test_at_most_one_difference_in_twenty_is_starred_by_chance(seeds, variances):
    assert starred(0, seeds, variances) <= 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


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
