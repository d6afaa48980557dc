import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transformer.evaluation.claims import (
    LEVEL,
    Effects,
    Error,
    effects,
    first_decided,
    judge,
    judge_rounds,
    own_error,
    pooled_error,
    second_opinion,
    size,
)
from transformer.support.files import InputError
from workflow.experiment.config import read_experiment

SEEDS = 5


def drawn(generator, mean, seeds=SEEDS):
    return generator.normal(mean, 1.0, seeds)


@pytest.mark.agreement(witness="SciPy")
def test_two_rows_are_compared_by_scipys_paired_t_test():
    worse, better = np.random.default_rng(1).normal([[10.0], [11.0]], 0.5, (2, SEEDS))
    [one] = judge({"one": Effects(effects([worse, better]))}).values()
    expected = stats.ttest_rel(better, worse)
    assert one.effect == pytest.approx((better - worse).mean())
    assert one.p == pytest.approx(expected.pvalue)
    assert one.interval == pytest.approx(tuple(expected.confidence_interval(0.95)))
    assert one.seeds == SEEDS


@pytest.mark.agreement(witness="SciPy")
def test_rows_are_alike_by_scipys_two_one_sided_tests():
    each = drawn(np.random.default_rng(2), 0.1) / 10
    [one] = judge({"one": Effects(each, 0.5)}).values()
    low = stats.ttest_1samp(each, -0.5, alternative="greater").pvalue
    high = stats.ttest_1samp(each, 0.5, alternative="less").pvalue
    assert one.p == one.p_alone == pytest.approx(max(low, high))
    assert one.verdict == "reproduced"
    assert one.interval == pytest.approx(tuple(stats.ttest_1samp(each, 0).confidence_interval(0.9)))
    [far] = judge({"far": Effects(each + 3, 0.5)}).values()
    assert far.verdict == "contrary"
    assert far.p == pytest.approx(2 * stats.ttest_1samp(each + 3, 0.5, alternative="greater").pvalue)


@pytest.mark.agreement(witness="SciPy")
def test_whether_rows_differ_by_at_least_so_much_is_decided_by_scipys_t_test():
    each = drawn(np.random.default_rng(8), 1.0)
    [one] = judge({"one": Effects(each, least=0.5)}).values()
    expected = stats.ttest_1samp(each, 0.5)
    assert one.p == pytest.approx(expected.pvalue)
    assert one.interval == pytest.approx(tuple(stats.ttest_1samp(each, 0).confidence_interval(0.95)))


@pytest.mark.agreement(witness="NumPy")
@given(st.lists(st.floats(-9, 9), min_size=2, max_size=5))
def test_a_trend_is_the_least_squares_line_from_the_first_row_to_the_last(rows):
    [effect] = effects([[row] for row in rows])
    slope = np.polyfit(np.arange(len(rows)), rows, 1)[0]
    assert effect == pytest.approx(slope * (len(rows) - 1), abs=1e-9)


@given(st.floats(-9, 9), st.integers(2, 6))
def test_equal_rows_have_no_effect_and_decide_nothing(score, rows):
    none = effects(np.full((rows, SEEDS), score))
    assert not none.any()
    assert judge({"one": Effects(none)})["one"].verdict == "undecided"


def test_holms_correction_starts_with_the_smallest_p():
    generator = np.random.default_rng(3)
    family = {str(mean): Effects(drawn(generator, mean)) for mean in (0, 1, 3, 30)}
    judged = judge(family)
    alone = {name: judge({name: claim})[name].p for name, claim in family.items()}
    ascending = sorted(alone, key=alone.get)
    expected = np.maximum.accumulate([min(1, (4 - rank) * alone[name]) for rank, name in enumerate(ascending)])
    assert [judged[name].p for name in ascending] == pytest.approx(expected)
    assert judged["30"].verdict == "reproduced"
    turned = judge({name: Effects(-claim.each) for name, claim in family.items()})
    assert turned["30"].verdict == "contrary"


def test_at_most_one_family_in_twenty_has_a_false_verdict():
    generator = np.random.default_rng(4)
    families = 1000
    false = 0
    for _ in range(families):
        # `reproduced` is false for the last two claims: their true differences are at the margin and beyond it.
        family = {str(number): Effects(drawn(generator, 0)) for number in range(6)}
        family |= {"at": Effects(drawn(generator, 1.5), 1.5), "beyond": Effects(drawn(generator, -2), 1.5)}
        judged = judge(family)
        alike = (judged.pop(name).verdict == "reproduced" for name in ("at", "beyond"))
        false += any(alike) or any(each.verdict != "undecided" for each in judged.values())
    assert false / families <= LEVEL + 3 * (LEVEL * (1 - LEVEL) / families) ** 0.5


def test_the_interval_covers_a_known_difference_in_95_of_100():
    generator = np.random.default_rng(5)
    trials = 4000
    found = [judge({"one": Effects(drawn(generator, 0.7))})["one"].interval for _ in range(trials)]
    covered = np.mean([low <= 0.7 <= high for low, high in found])
    assert covered == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / trials) ** 0.5)


@pytest.mark.parametrize(("margin", "mean", "bound"), [(None, 0, 0), (None, 0, 0.7), (0.5, 0, 0), (0.5, -0.3, 0)])
def test_the_smallest_effect_is_just_enough_for_a_verdict(margin, mean, bound):
    """An effect of `smallest` is decided, and rows are alike within a margin of `smallest`; anything smaller is not.

    A claim that is decided anyway makes the others' correction weaker.
    """
    each = drawn(np.random.default_rng(6), 0)
    spread = each - each.mean()
    one, others = spread + mean, {"other": Effects(spread), "sure": Effects(spread + 99)}

    def verdict(size):
        claim = Effects(one, size) if margin else Effects(spread + size, None, bound)
        return judge({"one": claim, **others})["one"].verdict

    smallest = judge({"one": Effects(one, margin, bound), **others})["one"].smallest
    assert verdict(1.001 * smallest) == "reproduced"
    assert verdict(0.999 * smallest) == "undecided"


def test_seeds_that_all_agree_decide_a_claim():
    judged = judge(
        {
            "same": Effects(np.full(3, 0.25)),
            "none": Effects(np.zeros(3)),
            "alike": Effects(np.zeros(3), 0.1),
            "more": Effects(np.full(3, 0.25), least=0.2),
            "less": Effects(np.full(3, 0.25), least=0.3),
        }
    )
    assert [each.verdict for each in judged.values()] == [
        *["reproduced", "undecided", "reproduced", "reproduced", "contrary"]
    ]


@given(
    st.floats(0.01, 3),
    st.lists(st.floats(-3, 3), min_size=3, max_size=8).filter(lambda each: np.std(each) > 0.01),
    st.floats(-3, 3),
)
def test_rows_are_alike_where_their_interval_lies_within_the_margin(margin, spread, mean):
    each = np.array(spread) - np.mean(spread) + mean
    [one] = judge({"one": Effects(each, margin)}).values()
    low, high = one.interval
    if min(abs(low + margin), abs(high - margin)) > 1e-9:
        assert (one.verdict == "reproduced") == (-margin < low and high < margin)


def test_the_first_verdict_needs_the_difference_that_is_told():
    generator = np.random.default_rng(7)
    each = drawn(generator, 0)
    spread = (each - each.mean()) / each.std(ddof=1)
    nothing = {str(number): Effects(spread) for number in range(19)}
    least = first_decided(20, SEEDS)
    assert judge({"one": Effects(spread + 1.001 * least), **nothing})["one"].verdict == "reproduced"
    assert judge({"one": Effects(spread + 0.999 * least), **nothing})["one"].verdict == "undecided"


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


def test_two_seeds_decide_nothing():
    with pytest.raises(InputError, match=r"claims\.one: must have at least 3 seeds, not 2; add some to `seeds`"):
        judge({"one": Effects(np.ones(2))})


def test_an_empty_family_is_judged():
    assert judge({}) == {}


@pytest.mark.parametrize("sign", [1, -1])
def test_rounds_decide_by_their_whole_interval(sign):
    apart, near = np.log(1.2) + np.array([-0.01, 0, 0.01]), np.array([-0.01, 0, 0.01])
    wide = np.array([-1.0, 0.0, 1.0])
    verdicts = [judge_rounds(sign * each, None).verdict for each in (apart, near, wide)]
    assert verdicts == [{1: "reproduced", -1: "contrary"}[sign], "undecided", "undecided"]
    alike = [judge_rounds(sign * each, np.log(1.1)).verdict for each in (apart, near, wide)]
    assert alike == ["contrary", "reproduced", "undecided"]


def test_rounds_have_an_interval_but_no_p():
    judged = judge_rounds(np.array([0.1, 0.2, 0.3]), None)
    half = stats.t.isf(0.025, 2) * 0.1 / 3**0.5
    assert judged.interval == pytest.approx((0.2 - half, 0.2 + half))
    assert (judged.seeds, judged.p, judged.p_alone, judged.smallest) == (3, None, None, None)


def shared(generator, rows, seeds, correlation=0.36):
    """Scores [rows, seeds] that differ by chance only. Those of one seed have this correlation."""
    seed, own = generator.normal(0, 1, (1, seeds)), generator.normal(0, 1, (rows, seeds))
    return correlation**0.5 * seed + (1 - correlation) ** 0.5 * own


@pytest.mark.parametrize("compared", [2, 3, 4])
def test_the_interval_with_a_pooled_error_covers_a_known_difference_in_95_of_100(compared):
    """Its width hardly changes from one experiment to the next."""
    generator = np.random.default_rng(9)
    steps = 0.7 * np.arange(compared) / (compared - 1)
    covered, widths, trials = [], [], 2000
    for _ in range(trials):
        scores = shared(generator, 20, SEEDS)
        scores[:compared] += steps[:, None]
        error = pooled_error(scores, compared)
        assert error.freedom == 19 * (SEEDS - 1)
        half = stats.t.isf(0.025, error.freedom) * error.standard
        covered.append(abs(effects(scores[:compared]).mean() - 0.7) <= half)
        widths.append(half)
    assert np.mean(covered) == pytest.approx(0.95, abs=3 * (0.95 * 0.05 / trials) ** 0.5)
    assert np.std(widths) < 0.1 * np.mean(widths)  # that of five seeds' own error: 0.36


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=3, max_size=6))
def test_an_error_pooled_over_two_rows_is_their_own(seeds):
    rows = list(zip(*seeds, strict=True))
    own, pooled = own_error(effects(rows)), pooled_error(rows, 2)
    assert pooled == pytest.approx(own, abs=1e-9)


def test_a_second_opinion_is_corrected_like_the_verdicts():
    generator = np.random.default_rng(10)
    family = {str(mean): Effects(drawn(generator, mean)) for mean in (0, 1, 3)}
    assert second_opinion(family, {}) == {name: each.p for name, each in judge(family).items()}
    smaller = second_opinion(family, {"1": Error(0.01, 76)})
    assert smaller["1"] < LEVEL / 1000
    assert smaller["3"] <= judge(family)["3"].p


def test_holm_is_right_about_claims_that_share_their_base():
    """No row differs from another; the same base is in most claims, and a seed's scores have a correlation of 0.36.

    Perplexity and BLEU of a row share half of their variance. All claims of the config are in one family, as
    differences: a true claim that rows are alike could only be falsely contrary.
    """
    claims = [claim for claim in read_experiment([]).claims.values() if claim.metric != "step_time"]
    rows = sorted({row for claim in claims for row in claim.rows})
    generator, families, false = np.random.default_rng(11), 250, 0
    assert sum("ende/base" in claim.rows for claim in claims) > len(claims) / 2
    for _ in range(families):
        both = shared(generator, len(rows), SEEDS)
        scores = {
            metric: dict(zip(rows, (both + shared(generator, len(rows), SEEDS)) / 2**0.5, strict=True))
            for metric in ("bleu", "perplexity", "f1", "within", "longer")
        }
        family = {
            str(number): Effects(effects([scores[claim.metric][row] for row in claim.rows]))
            for number, claim in enumerate(claims)
        }
        false += any(each.verdict != "undecided" for each in judge(family).values())
    assert false / families <= LEVEL + 2 * (LEVEL * (1 - LEVEL) / families) ** 0.5
