"""Each kernel against its definition, and each definition without kernels."""

import copy
import inspect
import os
import textwrap
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from transformer.decoding.beam import beam_search
from transformer.decoding.precision import in_precision
from transformer.model import attention, kernels
from transformer.model.attention import AttentionOverParameters
from transformer.model.ids import END
from transformer.model.layers import Dropout, FeedForward, Residual
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.text.batches import Batch
from transformer.training import loss
from transformer.training.distributed import ALONE
from transformer.training.optimizer import Adam
from transformer.training.update import Updater

CPU = torch.device("cpu")


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def differentiated(function, *tensors):
    """The result of a function, and its gradients by the tensors."""
    inputs = [each.detach().clone().requires_grad_() for each in tensors]
    y = function(*inputs)
    return [y, *torch.autograd.grad(y, inputs, draw(*y.shape))]


def trained_attention(*shape):
    bias = draw(*shape)
    q, k, v = (draw(1, 2, 5, 4).add(i) for i in range(3))
    return differentiated(partial(attention.attention, scale=0.5), q, k, v, bias)


def inferred_attention(dtype):
    q, k, v = (each.to(dtype) for each in (draw(2, 3, 7, 4), draw(2, 3, 7, 4) + 1, draw(2, 3, 7, 5)))
    return [attention.attention(q, k, v, draw(2, 1, 7, 7), 0.3)]


def additive_scores(share):
    """The scores that are read, in parts and at once."""
    shown = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(1)) < share

    def read(*given):
        return attention.additive_scores(*given, shown).masked_fill(~shown[:, None], 0)

    return differentiated(read, draw(2, 3, 5, 4), draw(2, 3, 7, 4), draw(3, 4))


def residual():
    layer = Residual(6, 0.0)
    nn.init.ones_(layer.norm.weight)
    weights = [parameter.add(0.5) for parameter in layer.parameters()]

    def of(x, y, *weights):
        return torch.func.functional_call(layer, dict(zip(("norm.weight", "norm.bias"), weights, strict=True)), (x, y))

    return differentiated(of, draw(4, 5, 6), draw(4, 5, 6) + 1, *weights)


def smoothed_cross_entropy(share):
    target = torch.tensor([[3, 1, 0], [7, 0, 0]])
    logits = draw(2, 3, 11).requires_grad_()
    value = loss.smoothed_cross_entropy(logits * 1, target, 0.1, share)
    value.backward()
    return [value, logits.grad]


def adam():
    weights = [nn.Parameter(draw(7, 33)), nn.Parameter(draw(5))]
    optimizer = Adam(weights, 0.9, 0.98, 1e-9)
    for step in range(1, 5):
        for weight in weights[: step % 2 + 1]:
            weight.grad = draw(*weight.shape) / step
        optimizer.step(0.1 / step)
    return [*weights, *(each for state in optimizer.state.values() for each in state.values())]


KERNELS = {
    **{f"attention in training, bias {shape}": partial(trained_attention, *shape)
       for shape in ((1, 2, 5, 5), (1, 1, 5, 5), (1, 2, 1, 5))},
    "attention": partial(inferred_attention, torch.float32),
    "attention in bfloat16": partial(inferred_attention, torch.bfloat16),
    "some additive scores": partial(additive_scores, 0.4),
    "all additive scores": partial(additive_scores, 1.0),
    "residual": residual,
    "loss": partial(smoothed_cross_entropy, 1 / 3),
    "loss, scaled by a tensor": partial(smoothed_cross_entropy, torch.tensor(0.2)),
    "Adam": adam,
}  # fmt: skip


@pytest.mark.parametrize("at_once", [1, kernels.AT_ONCE])
@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_and_its_gradients_equal_the_definition(monkeypatch, name, at_once):
    monkeypatch.setattr(kernels, "AT_ONCE", at_once)
    ours = KERNELS[name]()
    monkeypatch.setattr(kernels, "ON", False)
    torch.testing.assert_close(ours, KERNELS[name]())


# What a student may edit: the function, a piece of its source and another piece; whether it takes part in decoding.
EDITS = {
    "equation 1": (attention, "attention", "weights.to", "(2 * weights).to", True),
    "the weights of equation 1": (attention, "attention_weights", "softmax(-1)", "sigmoid()", True),
    "additive scores": (attention, "additive_scores", "torch.tanh", "torch.sin", True),
    "feed-forward": (FeedForward, "forward", "F.relu", "F.gelu", True),
    "residual": (Residual, "forward", "x + F.dropout", "x - F.dropout", True),
    "dropout": (Dropout, "forward", "super().forward(x)", "x", False),
    "loss": (loss, "smoothed_cross_entropy", "1 - eps_ls", "1 - 2 * eps_ls", False),
    "Adam": (Adam, "step", "1 - self.beta1**t", "1", False),
}


def trained(config):
    """The weights after three steps."""
    torch.manual_seed(1)
    rows = [Rows.of(torch.tensor([[5, 6, 7, END, 8, END]])) for _ in range(2)]
    batch, model = Batch(*rows, torch.tensor([[4, 4], [2, 2]]).numpy()), network(config.architecture, 40)
    updater = Updater(model, config.training, CPU, ALONE)
    for _ in range(3):
        updater([batch], 1 / 6, 0.01)
    return nn.utils.parameters_to_vector(model.parameters())


def decoded(config):
    """The scores of some translations by a model with random weights."""
    torch.manual_seed(1)
    model = in_precision(network(config.architecture, 40).eval(), "float32")
    return torch.tensor([each.score for each in beam_search(model, torch.tensor([[5, 6, 7, END]]), 2, 0.6, 5)[0]])


@pytest.mark.parametrize("name", EDITS)
def test_without_kernels_an_edited_definition_changes_training_and_decoding(monkeypatch, run_config, name):
    owner, function, piece, other, in_decoding = EDITS[name]
    config = run_config(attention="additive" if name == "additive scores" else "scaled", P_drop=0.3)
    monkeypatch.setattr(kernels, "ON", False)
    weights, scores = trained(config), decoded(config)
    definition = getattr(owner, function)
    source, names = textwrap.dedent(inspect.getsource(definition)), inspect.unwrap(definition).__globals__.copy()
    assert source.count(piece) == 1
    exec(source.replace(piece, other), names)
    monkeypatch.setattr(owner, function, names[function])
    assert not torch.allclose(trained(config), weights)
    assert torch.equal(decoded(config), scores) != in_decoding


def test_a_residual_drops_elements_of_the_sub_layer_and_scales_the_others():
    layer, x, y = Residual(64, 0.9), draw(4, 64).requires_grad_(), torch.ones(4, 64, requires_grad=True)
    torch.manual_seed(1)
    dropped = Dropout(0.9)(y)
    torch.manual_seed(1)
    output, wanted = layer(x, y), layer.norm(x + dropped)
    torch.testing.assert_close(output, wanted)
    learnt = [x, y, *layer.parameters()]
    gradients = [torch.autograd.grad(each, learnt, draw(4, 64)) for each in (output, wanted)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("p", [0.1, 0.3, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(p):
    torch.manual_seed(1)
    n = 400_003  # not a multiple of four
    y = Dropout(p)(torch.full((n,), 3.0))
    assert (y == 0).float().mean().item() == pytest.approx(p, abs=5 * (p * (1 - p) / n) ** 0.5)
    torch.testing.assert_close(y[y != 0].unique(), torch.tensor([3 / (1 - p)]))
    rounded = Dropout(p)(torch.full((n,), 3.0).bfloat16())
    assert rounded.dtype == torch.bfloat16
    assert rounded.float().mean().item() == pytest.approx(3.0, rel=1e-2)


def test_dropout_drops_each_element_by_itself():
    torch.manual_seed(1)
    kept = (Dropout(0.5)(torch.ones(1000, 64)) != 0).float()
    correlation = torch.corrcoef(kept.T) - torch.eye(64)
    assert correlation.abs().max() < 0.2


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


def test_a_product_with_its_relu_equals_the_two_operations():
    """The form for a GPU, whose operation CPUs have, too."""
    given = draw(3, 5, 8), draw(12, 8), draw(12)
    found = differentiated(kernels._GPULinearReLU.apply, *given)
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
