import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from transformer.evaluation.claims import Error
from transformer.evaluation.differences import Difference, compare, level, paired, unpaired

ROW, AGAINST = [31.2, 30.4, 32.0, 31.1, 30.9], [30.1, 30.2, 31.0, 30.9, 29.8]


@pytest.mark.agreement(witness="SciPy")
@pytest.mark.parametrize("bound", [0.0, 0.3, -0.8])
def test_both_differences_are_scipys(bound):
    shifted = [value - bound for value in ROW]
    for ours, theirs in (
        (paired(ROW, AGAINST), lambda side: stats.ttest_rel(shifted, AGAINST, alternative=side)),
        (unpaired(ROW, AGAINST), lambda side: stats.ttest_ind(shifted, AGAINST, equal_var=False, alternative=side)),
    ):
        assert ours.above(bound) == pytest.approx(theirs("greater").pvalue)
        assert ours.below(bound) == pytest.approx(theirs("less").pvalue)
        assert ours.error.freedom == pytest.approx(theirs("less").df)


def test_the_levels_of_all_looks_are_five_percent():
    assert level(1) == pytest.approx(0.04)
    assert level(2) == pytest.approx(0.008)
    assert sum(map(level, range(1, 50))) == pytest.approx(0.05)


@given(st.floats(-3, 3), st.floats(0.01, 2), st.integers(2, 40), st.integers(1, 4))
def test_a_row_differs_if_and_only_if_its_interval_excludes_zero(mean, error, freedom, look):
    judged = compare(Difference(mean, Error(error, freedom)), 0.5, look)
    low, high = judged.interval
    assert judged.verdict.startswith(("better", "worse")) == (low > 0 or high < 0) == (judged.p < level(look))
    assert (judged.verdict == "alike" or judged.verdict.endswith("margin")) == (judged.p_alike < level(look))
    assert compare(Difference(1.001 * judged.smallest, Error(error, freedom)), 0.5, look).p < level(look)


def test_all_verdicts_can_be_given():
    def verdict(mean, error):
        return compare(Difference(mean, Error(error, 4)), 0.5, 1).verdict

    assert verdict(2, 0.2) == "better"
    assert verdict(-2, 0.2) == "worse"
    assert verdict(0.05, 0.05) == "alike"
    assert verdict(0.2, 0.02) == "better, by less than the margin"
    assert verdict(1, 1) == "undecided"
    assert verdict(0, 0) == "alike"  # rows whose seeds differ all alike have no error
    assert verdict(1, 0) == "better"


def test_of_rows_that_are_equal_or_at_the_margin_at_most_a_share_as_large_as_the_level_gets_a_false_verdict():
    drawn, false = np.random.default_rng(1), 0
    for _ in range(2000):  # one measure without a difference, and one with a difference as large as the margin
        equal, apart = drawn.normal(size=(5, 2)), drawn.normal([0.5, 0], 0.1, size=(5, 2))
        one, other = (compare(paired(*rows.T), 0.5, 1).verdict for rows in (equal, apart))
        false += one.startswith(("better", "worse")) or other == "alike" or other.endswith("margin")
    assert 0.02 < false / 2000 < 0.05  # 4 %
