"""Each kernel against the definition that it replaces."""

import copy
import os
from functools import partial

import pytest
import torch
import torch.nn.functional as F

from transformer.model import kernels
from transformer.model.attention import AttentionOverParameters, additive_scores, attention
from transformer.model.kernels import Dropout
from transformer.model.layers import residual


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def differentiated(function, *tensors):
    """The result of a function, and its gradients by the tensors."""
    inputs = [each.detach().clone().requires_grad_() for each in tensors]
    y = function(*inputs)
    return [y, *torch.autograd.grad(y, inputs, draw(*y.shape))]


@pytest.mark.parametrize("shape", [(1, 2, 5, 5), (1, 1, 5, 5), (1, 2, 1, 5)])
def test_attention_and_its_gradients_also_of_a_learned_bias_equal_the_definition(shape):
    given = [*(draw(1, 2, 5, 4).add(i) for i in range(3)), draw(*shape)]
    forms = attention, attention.__wrapped__
    ours, wanted = (differentiated(partial(form, scale=0.5), *given) for form in forms)
    torch.testing.assert_close(ours, wanted)


@pytest.mark.parametrize("share", [0.4, 1.0], ids=["some scores", "all scores"])
@pytest.mark.parametrize("at_once", [1, kernels.AT_ONCE])
def test_the_additive_scores_that_are_read_and_their_gradients_equal_the_definition(monkeypatch, at_once, share):
    monkeypatch.setattr(kernels, "AT_ONCE", at_once)
    shown = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(1)) < share
    given = draw(2, 3, 5, 4), draw(2, 3, 7, 4), draw(3, 4)

    def read(form, *given):
        return form(*given, shown).masked_fill(~shown[:, None], 0)

    forms = additive_scores, additive_scores.__wrapped__
    ours, wanted = (differentiated(partial(read, form), *given) for form in forms)
    torch.testing.assert_close(ours, wanted)


def test_attention_without_gradients_equals_the_definition():
    q, k, v, bias = draw(2, 3, 7, 4), draw(2, 3, 7, 4) + 1, draw(2, 3, 7, 5), draw(2, 1, 7, 7)
    for dtype in (torch.float32, torch.bfloat16):
        given = [each.to(dtype) for each in (q, k, v)]
        torch.testing.assert_close(attention(*given, bias, 0.3), attention.__wrapped__(*given, bias, 0.3))


def test_a_residual_and_its_gradients_equal_the_definition():
    norm, results = torch.nn.LayerNorm(6, eps=1e-6), []
    torch.nn.init.normal_(norm.weight)
    for form in (residual, residual.__wrapped__):
        x, y = (draw(4, 5, 6).add(i).requires_grad_() for i in range(2))
        output = form(norm, x, y, 0.0)
        results.append([output, *torch.autograd.grad(output, [x, y, *norm.parameters()], draw(4, 5, 6))])
    torch.testing.assert_close(*results)


def test_a_residual_drops_elements_of_the_sub_layer_and_scales_the_others():
    norm, x, y = torch.nn.LayerNorm(64, eps=1e-6), draw(4, 64).requires_grad_(), torch.ones(4, 64, requires_grad=True)
    torch.manual_seed(1)
    dropped = Dropout(0.9)(y)
    torch.manual_seed(1)
    output, wanted = residual(norm, x, y, 0.9), norm(x + dropped)
    torch.testing.assert_close(output, wanted)
    learnt = [x, y, *norm.parameters()]
    gradients = [torch.autograd.grad(each, learnt, draw(4, 64)) for each in (output, wanted)]
    torch.testing.assert_close(*gradients)


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


def test_a_product_with_its_relu_equals_the_two_operations():
    """The form for a GPU, whose operation CPUs have, too."""
    given = draw(3, 5, 8), draw(12, 8), draw(12)
    found = differentiated(kernels._GPURectified.apply, *given)
    torch.testing.assert_close(found, differentiated(lambda *given: F.relu(F.linear(*given)), *given))


@pytest.mark.parametrize("few", [0, 64])
def test_the_gradient_of_an_embedding_is_summed_over_its_ids(monkeypatch, few):
    monkeypatch.setattr(kernels, "FEW_ROWS", few)
    ids = torch.tensor([[3, 0, 3], [1, 3, 1]])
    found = differentiated(partial(kernels._GPUEmbedding.apply, ids), draw(5, 4))
    torch.testing.assert_close(found, differentiated(partial(F.embedding, ids), draw(5, 4)))


def test_positions_in_groups_read_the_same_parameters(monkeypatch):
    layer, results = AttentionOverParameters(16, 2, 8, 8, 12).double(), []
    for groups in (1, 8):
        monkeypatch.setattr(kernels, "groups", lambda _, groups=groups: groups)
        layer.zero_grad()
        y = layer(draw(4, 6, 16).double())
        y.square().sum().backward()
        results.append([y, *(each.grad.clone() for each in layer.parameters())])
    torch.testing.assert_close(*results)


def test_pytorch_s_compiler_calls_what_asks_for_the_gpu_and_reads_its_result(monkeypatch):
    """It cannot compile the question itself."""
    asked = []
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: asked.append(os.getpid()) or (9, 0))
    compiled = torch.compile(lambda x: x + kernels._has_fast_cudnn(), backend="eager", fullgraph=True)
    assert compiled(torch.zeros(())) == 1
    assert asked == [os.getpid()]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_gradients_of_attention_over_parameters_in_bfloat16_are_those_of_float64(device):
    """An H100 computes them with cuDNN. Rounding changes them by 1 % here."""
    torch.manual_seed(1)
    layer, x = AttentionOverParameters(64, h_p=2, d_pk=32, d_pv=32, n_p=300), draw(4, 40, 64)
    exact = copy.deepcopy(layer).double()
    names, wanted = zip(*exact.named_parameters(), strict=True)
    wanted = torch.autograd.grad(exact(x.double()), wanted, draw(4, 40, 64).double())
    with torch.autocast(device, torch.bfloat16):
        y = layer.to(device)(x.to(device))
    found = torch.autograd.grad(y, list(layer.parameters()), draw(4, 40, 64).to(y))
    for name, ours, theirs in zip(names, found, wanted, strict=True):
        assert (ours.cpu() - theirs).norm() < 0.03 * theirs.norm(), name
