import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.training.schedule import learning_rate

SIZES = {"d_model": st.integers(1, 2048), "warmup": st.integers(1, 20000)}


@given(**SIZES, share=st.floats(0, 1))
def test_warm_up_is_linear(d_model, warmup, share):
    step = max(1, round(share * warmup))
    assert learning_rate(step, d_model, warmup) == pytest.approx(step * learning_rate(1, d_model, warmup))


@given(**SIZES, times=st.integers(1, 1000))
def test_after_the_warm_up_it_falls_as_the_inverse_square_root(d_model, warmup, times):
    peak = learning_rate(warmup, d_model, warmup)
    assert learning_rate(times * warmup, d_model, warmup) == pytest.approx(peak * times**-0.5)


@given(**SIZES)
def test_it_peaks_at_the_end_of_the_warm_up(d_model, warmup):
    peak = learning_rate(warmup, d_model, warmup)
    assert peak == pytest.approx((d_model * warmup) ** -0.5)
    assert all(learning_rate(step, d_model, warmup) <= peak for step in (1, max(1, warmup - 1), warmup + 1))


def test_the_learning_rate_of_the_papers_base_model_peaks_at_0_0007():
    assert learning_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3)
