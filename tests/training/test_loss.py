import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.training import fused
from transformer.training.loss import smoothed_cross_entropy


def reference(logits, target, eps_ls):
    """Cross-entropy in float64 against 1 - eps on the true token and eps / (V - 1) on each other one."""
    wanted = torch.full_like(logits, eps_ls / (logits.size(-1) - 1)).scatter(1, target[:, None], 1 - eps_ls)
    return -(wanted * logits.log_softmax(-1)).sum()


def random_logits(tokens=7, vocabulary=11, seed=0):
    torch.manual_seed(seed)
    return 3 * torch.randn(tokens, vocabulary), torch.randint(1, vocabulary, (tokens,))


@pytest.mark.agreement(witness="tensor2tensor")
@given(st.integers(1, 9), st.integers(2, 40), st.floats(0, 0.9), st.integers(0, 1000))
@settings(max_examples=40)
def test_loss_and_gradient_equal_the_definition(tokens, vocabulary, eps_ls, seed):
    logits, target = random_logits(tokens, vocabulary, seed)
    exact, learnt = logits.double().requires_grad_(), logits.requires_grad_()
    value, wanted = smoothed_cross_entropy(learnt * 1, target, eps_ls, 1 / 3), reference(exact, target, eps_ls)
    value.backward()
    (wanted / 3).backward()
    torch.testing.assert_close(value.double(), wanted, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(learnt.grad.double(), exact.grad, rtol=1e-4, atol=1e-6)


@pytest.mark.agreement(witness="PyTorch")
def test_without_smoothing_the_loss_is_the_cross_entropy():
    logits, target = random_logits()
    wanted = F.cross_entropy(logits, target, reduction="sum")
    torch.testing.assert_close(smoothed_cross_entropy(logits, target, 0.0), wanted)


def test_padding_has_neither_loss_nor_gradient():
    (logits, target), kept = random_logits(), torch.tensor([0, 2, 3, 5])
    alone = logits[kept]
    padded = torch.zeros_like(target).index_copy(0, kept, target[kept])
    value, wanted = smoothed_cross_entropy(logits, padded, 0.1), smoothed_cross_entropy(alone, target[kept], 0.1)
    torch.testing.assert_close(value, wanted)
    assert torch.equal(logits, torch.zeros_like(logits).index_copy(0, kept, alone))


def test_computing_the_loss_in_parts_changes_nothing(monkeypatch):
    logits, target = random_logits(tokens=20)
    results = []
    for rows in (4096, 20, 7, 1, 0):
        monkeypatch.setitem(fused.PROBABILITIES, "cpu", rows * logits.size(1))
        gradient = logits.clone()
        results.append((smoothed_cross_entropy(gradient, target, 0.1), gradient))
    for value, gradient in results[1:]:
        torch.testing.assert_close(value, results[0][0], rtol=1e-6, atol=0)
        assert torch.equal(gradient, results[0][1])


def test_huge_logits_overflow_nothing():
    logits, target = torch.tensor([[1e4, -1e4, 0.0]]), torch.tensor([1])
    wanted = reference(logits.double(), target, 0.1).item()
    assert smoothed_cross_entropy(logits, target, 0.1).item() == pytest.approx(wanted)
    assert logits.isfinite().all()


def test_bfloat16_logits_are_summed_in_float32():
    logits, target = random_logits(tokens=2000)
    wanted = reference(logits.bfloat16().double(), target, 0.1)
    value = smoothed_cross_entropy(logits.bfloat16(), target, 0.1)
    assert value.dtype == torch.float32
    torch.testing.assert_close(value.double(), wanted, rtol=1e-5, atol=0)
