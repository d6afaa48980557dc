import pytest
import torch

from transformer.model.dropout import Dropout


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(p):
    torch.manual_seed(1)
    n = 400_003  # not a multiple of four
    y = Dropout(p)(torch.full((n,), 3.0))
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=5 * (p * (1 - p) / n) ** 0.5)
    torch.testing.assert_close(y[y != 0].unique(), torch.tensor([3 / (1 - p)]))


def test_dropout_drops_each_element_by_itself():
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(1000, 64)) != 0).float()
    correlation = torch.corrcoef(kept.T) - torch.eye(64)
    assert correlation.abs().max() < 0.2


def test_dropout_is_the_identity_outside_training_and_at_rate_0():
    x = torch.randn(3, 4)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_dropout_repeats_itself_from_the_same_seed():
    x, results = torch.randn(50, 7), []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(Dropout(0.5)(x))
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_gradients_pass_where_dropout_kept_the_values():
    x = torch.randn(20, 5).t().requires_grad_()  # not contiguous
    y = Dropout(0.25)(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach() / x.detach())


def test_dropout_of_bfloat16_keeps_type_and_mean():
    y = Dropout(0.1)(torch.full((400_000,), 3.0).bfloat16())
    assert y.dtype == torch.bfloat16
    assert y.float().mean().item() == pytest.approx(3.0, rel=5e-3)
