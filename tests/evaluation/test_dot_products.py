import numpy as np
import pytest
import torch

from transformer.evaluation.dot_products import against_d_k, dot_products, statistics


@pytest.mark.agreement(witness="equations of the paper")
def test_the_variance_is_d_k_and_1_when_scaled():
    found = against_d_k((1, 16, 64), keys=32, queries=3000)
    assert [each.variance for each in found["unscaled"]] == pytest.approx([1, 16, 64], rel=0.1)
    assert [each.variance for each in found["scaled"]] == pytest.approx([1, 1, 1], rel=0.1)


def test_without_scaling_entropy_and_gradient_vanish():
    found = against_d_k((16, 256, 1024), keys=32, queries=300)
    for key in ("entropy", "gradient"):
        first, second, third = (getattr(each, key) for each in found["unscaled"])
        assert first > second > third
        scaled = [getattr(each, key) for each in found["scaled"]]
        assert scaled == pytest.approx([scaled[0]] * 3, rel=0.1)


@pytest.mark.agreement(witness="PyTorch")
def test_the_gradient_is_the_norm_of_the_softmaxs_jacobian():
    drawn = np.random.default_rng(3)
    keys, query = drawn.standard_normal((5, 7)), drawn.standard_normal(7)
    scores = torch.tensor(keys @ query * 0.5)
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(0), scores)
    weights = scores.softmax(0)
    found = statistics(dot_products(7, keys=5, queries=1, seed=3) * 0.5)
    assert found.gradient == pytest.approx(jacobian.norm().item())
    assert found.entropy == pytest.approx(-(weights * weights.log()).sum().item())
