import math
from functools import partial

import pytest
import torch

from transformer.evaluation.complexity import LAYERS, complexity, exponents, measured
from transformer.evaluation.layer_sizes import LayerSizes
from transformer.evaluation.restricted import Restricted
from transformer.model.attention import DotProductAttention
from transformer.model.cache import KeysValues
from transformer.model.masks import Mask
from transformer.support.strict import ConfigError, load

SIZES = LayerSizes(n=(4, 8, 16, 32), d=(4, 8, 16), k=3, r=2, d_k=4)


@pytest.fixture(scope="module")
def record():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("transformer.evaluation.complexity.SECONDS", 0)  # the tests need no exact times
        return complexity(SIZES)


def counts(record, key):
    return {name: list(layer[key].values()) for name, layer in record["layers"].items()}


@pytest.mark.agreement(witness="numbers of the paper")
def test_sequential_operations_are_constant_except_for_the_recurrent_layer(record):
    found = counts(record, "sequential")
    assert found.pop("recurrent") == [16, 32, 64, 128]  # one per position
    assert found.pop("self-attention with projections") == [4] * 4
    assert {name: set(values) for name, values in found.items()} == {
        "self-attention": {2},
        "additive self-attention": {2},
        "convolutional": {1},
        "convolutional, dilated": {1},
        "convolutional, separable": {2},
        "restricted self-attention": {2},
    }


def layers_that_connect_all(n, k):
    """How many dilated convolutions connect all of n positions, if dilations 1, k, k^2 ... below n are repeated."""
    dilations = [k**layer for layer in range(n) if k**layer < n]
    reached, layers = [{start} for start in range(n)], 0
    while any(len(each) < n for each in reached):
        steps = [step * dilations[layers % len(dilations)] for step in range(-(k // 2), k // 2 + 1)]
        reached = [{place + step for place in each for step in steps} & set(range(n)) for each in reached]
        layers += 1
    return layers


@pytest.mark.agreement(witness="numbers of the paper")
def test_the_lengths_of_paths_are_the_paper_s(record):
    found = counts(record, "path")
    for name in ("self-attention", "self-attention with projections", "additive self-attention"):
        assert found[name] == [1] * 4
    lengths = (16, 32, 64, 128)
    assert found["recurrent"] == [n - 1 for n in lengths]
    assert (
        found["convolutional"] == found["convolutional, separable"] == [n - 1 for n in lengths]
    )  # one further per layer
    assert found["convolutional, dilated"] == [layers_that_connect_all(n, 3) for n in lengths]
    assert found["restricted self-attention"] == [math.ceil((n - 1) / 2) for n in lengths]


@pytest.mark.agreement(witness="numbers of the paper")
def test_counted_flops_equal_the_formulas(record):
    n, d = 32, 8
    flops = {name: layer["by"]["n"][-1]["flops"] for name, layer in record["layers"].items()}
    product = 3 * 2  # (forward pass and two gradients) x (a multiplication and an addition)
    assert flops["self-attention"] == flops["additive self-attention"] == product * 2 * n * n * d
    assert flops["self-attention with projections"] == product * (2 * n * n * d + 4 * n * d * d)
    assert flops["convolutional"] == flops["convolutional, dilated"] == product * 3 * n * d * d
    assert flops["convolutional, separable"] == product * (3 * n * d + n * d * d)
    assert flops["recurrent"] == pytest.approx(product * 8 * n * d * d, rel=0.05)  # step 1 lacks a product


def test_additive_attention_keeps_more_than_dot_products_and_a_convolution_only_its_input(record):
    kept = {name: layer["by"]["n"][-1]["bytes"] for name, layer in record["layers"].items()}
    assert kept["convolutional"] == 32 * 8 * 4
    tanh = 32 * 32 * 8 * 4  # once, beside the weights and three indices of each score
    assert tanh + 32 * 32 * 50 > kept["additive self-attention"] > tanh > kept["self-attention"]
    assert all(point["seconds"] > 0 for layer in record["layers"].values() for point in layer["by"]["d"])


def test_restricted_self_attention_in_blocks_is_linear_in_n():
    flops = [measured(LAYERS["restricted self-attention"], n, 4, SIZES)["flops"] for n in (128, 256, 512)]
    assert flops == [flops[0], 2 * flops[0], 4 * flops[0]]


def test_exponents_are_slopes_over_the_larger_half():
    rows = [{"n": n, "seconds": 3 * n**2, "flops": 5 * n, "bytes": 7} for n in (8, 16, 32)]
    found = exponents([{"n": 1, "seconds": 99, "flops": 99, "bytes": 99}, *rows], "n")
    assert found == {
        "seconds": pytest.approx(2),
        "flops": pytest.approx(1),
        "bytes": pytest.approx(0),
        "from": 16,
        "to": 32,
    }


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"n": [4, 8]}, "n: [4, 8] are too few for an exponent; give at least 3"),
        ({"d": [8, 4, 16]}, "d: [8, 4, 16] must ascend from 1 or more; sort them, and name each once"),
        ({"k": 4}, "k: 4 is not an odd number from 3 to the greatest length n, 16; choose one"),
        ({"d": [4, 6, 8]}, "d: [6] are not multiples of d_k, 4; choose multiples"),
        ({"n": [4, 8, 10_000]}, "n: too few of [4, 8, 10000] suit additive attention"),
    ],
)
def test_sizes_that_cannot_be_measured_are_refused(changes, fault):
    values = {"n": [4, 8, 16], "d": [4, 8, 16], "k": 3, "r": 2, "d_k": 4}
    with pytest.raises(ConfigError) as caught:
        load(LayerSizes, values | changes, "table1")
    assert [str(each)[: len(fault)] for each in caught.value.faults] == [fault]


@pytest.mark.parametrize(("n", "radius"), [(128, 2), (200, 2), (200, 20), (130, 16)])
def test_restricted_attention_and_its_gradient_equal_attention_with_a_mask(n, radius):
    attend, results, place = DotProductAttention(0.5), [], torch.arange(n)
    mask = Mask(((place[:, None] - place).abs() <= radius)[None])
    for form in (partial(Restricted(n, radius), attend), lambda x: attend(x, KeysValues(x, x), mask)):
        x = torch.randn(1, 2, n, 4, generator=torch.Generator().manual_seed(1)).requires_grad_()
        y = form(x)
        results.append([y, *torch.autograd.grad(y.square().sum(), x)])
    torch.testing.assert_close(*results)
