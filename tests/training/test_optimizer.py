import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from transformer.training.optimizer import Adam, learning_rate

SIZES = {"d_model": st.integers(1, 2048), "warmup": st.integers(1, 20000)}
SETTINGS = {"beta1": 0.9, "beta2": 0.98, "epsilon": 1e-9}


@pytest.mark.agreement(witness="equations of the paper")
@given(**SIZES, share=st.floats(0, 1))
def test_warm_up_is_linear(d_model, warmup, share):
    step = max(1, round(share * warmup))
    assert learning_rate(step, d_model, warmup) == pytest.approx(step * learning_rate(1, d_model, warmup))


@pytest.mark.agreement(witness="equations of the paper")
@given(**SIZES, times=st.integers(1, 1000))
def test_after_the_warm_up_the_learning_rate_falls_as_the_inverse_square_root(d_model, warmup, times):
    peak = learning_rate(warmup, d_model, warmup)
    assert learning_rate(times * warmup, d_model, warmup) == pytest.approx(peak * times**-0.5)


@pytest.mark.agreement(witness="equations of the paper")
@given(**SIZES)
def test_the_learning_rate_peaks_at_the_end_of_the_warm_up(d_model, warmup):
    peak = learning_rate(warmup, d_model, warmup)
    assert peak == pytest.approx((d_model * warmup) ** -0.5)
    assert all(learning_rate(step, d_model, warmup) <= peak for step in (1, max(1, warmup - 1), warmup + 1))


@pytest.mark.agreement(witness="equations of the paper")
def test_the_learning_rate_of_the_papers_base_model_peaks_at_0_0007():
    assert learning_rate(4000, 512, 4000) == pytest.approx(6.99e-4, rel=1e-3)


def parameters():
    torch.manual_seed(1)
    return [nn.Parameter(torch.randn(size)) for size in ((7, 33), (33,), (5, 3))]


@pytest.mark.agreement(witness="PyTorch")
def test_weights_are_those_of_pytorchs_adam_to_the_bit():
    ours, theirs = parameters(), parameters()
    first = Adam(ours, **SETTINGS)
    second = torch.optim.Adam(theirs, 0.0, (0.9, 0.98), 1e-9, fused=True)
    for step in range(1, 6):
        second.param_groups[0]["lr"] = rate = 0.1 / step
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn_like(one)
            other.grad = one.grad.clone()
        first.step(rate)
        second.step()
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))
    for one, other in zip(ours, theirs, strict=True):
        assert first.state[one].keys() == second.state[other].keys()
        assert all(torch.equal(first.state[one][key], second.state[other][key]) for key in first.state[one])


@pytest.mark.agreement(witness="equations of the paper")
def test_a_step_follows_the_papers_equations():
    [weight] = parameters()[2:]
    adam, before = Adam([weight], **SETTINGS), weight.detach().double()
    mean, square = torch.zeros_like(before), torch.zeros_like(before)
    for step in range(1, 4):
        weight.grad = torch.randn_like(weight)
        adam.step(0.01)
        mean = 0.9 * mean + 0.1 * weight.grad
        square = 0.98 * square + 0.02 * weight.grad.double() ** 2
        before -= 0.01 * (mean / (1 - 0.9**step)) / ((square / (1 - 0.98**step)).sqrt() + 1e-9)
    assert weight.detach().numpy() == pytest.approx(before.numpy(), abs=1e-6)


def test_a_parameter_without_a_gradient_stays_as_it_is():
    moved, kept = parameters()[:2]
    before = kept.detach().clone()
    moved.grad = torch.ones_like(moved)
    adam = Adam([moved, kept], **SETTINGS)
    adam.step(0.1)
    assert torch.equal(kept, before)
    assert adam.state[kept]["step"] == 0
    assert adam.state[moved]["step"] == 1
