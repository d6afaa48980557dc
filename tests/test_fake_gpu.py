"""Test the shapes, types and devices of work on a GPU without a GPU, with PyTorch's fake tensors.

Fake tensors have no content and claim to be on a GPU. They raise an error when an operation mixes GPU and CPU and when
they are read, so code that would wait for a GPU fails here.
"""

import copy
import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensor, FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.decoding import beam, sampling
from transformer.decoding.precision import in_precision
from transformer.model import kernels
from transformer.model.attention import attention
from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.model.ids import END
from transformer.model.masks import Mask, Rows
from transformer.model.network import Network
from transformer.model.networks import network
from transformer.text.batches import Batch
from transformer.training import loss

VOCABULARY = 40
MODELS = {
    "base": {},
    "learned positions": {"positions": "learned"},
    "rotary positions": {"positions": "rotary"},
    "T5's positions": {"positions": "t5"},
    "ALiBi": {"positions": "alibi"},
    "attention over parameters": {"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 12)},
    "convolutions": {"network": "convolutional", "positions": "learned"},
}


@pytest.fixture(scope="module")
def device() -> Iterator[torch.device]:
    """Make a PyTorch built for CPUs accept GPUs.

    Such a PyTorch has no code to switch between GPUs and fails when it needs it. The CPU's code, which does nothing,
    takes its place.
    """
    library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib/libc10.so"))
    try:
        of_devices = (ctypes.c_void_p * 2).in_dll(library, "_ZN3c104impl26device_guard_impl_registryE")
    except ValueError:
        pytest.skip("this version of PyTorch gives the registry another name")
    before = of_devices[1]
    of_devices[1] = before or of_devices[0]
    yield torch.device("cuda", 0)
    of_devices[1] = before


@pytest.fixture
def gpu(device, monkeypatch) -> Iterator[torch.device]:
    """The device of the fake tensors, an H100. With autocast, matrix products are in bfloat16."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    with FakeTensorMode():
        yield device


@pytest.fixture(params=MODELS)
def model(request, gpu) -> Network:
    sizes = {"N": 2, "d_model": 16, "d_ff": 32, "h": 2, "d_k": 8, "d_v": 8, "P_drop": 0.1, "max_length": 64}
    config = ModelConfig(**sizes | {"positions": "sinusoidal"} | MODELS[request.param])
    with gpu:
        return network(config, VOCABULARY)


@pytest.fixture
def bfloat16() -> Iterator[None]:
    """Autocast for a GPU. torch.autocast itself would need a real GPU."""
    torch.set_autocast_enabled("cuda", True)
    yield
    torch.set_autocast_enabled("cuda", False)


def rows(*lengths):
    return Rows.of(torch.randint(END, VOCABULARY, lengths))


def on(rows, device):
    return Rows(*(each.to(device) for each in rows))


def test_reading_a_fake_tensor_is_an_error(gpu):
    with pytest.raises(DataDependentOutputException):
        torch.ones(2, device=gpu).tolist()


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize("training", [True, False])
def test_training_and_evaluation_stay_on_the_gpu(monkeypatch, model, gpu, training):
    """A PyTorch built for CPUs cannot compute gradients of fake GPU tensors, so only the forward pass is tested."""
    seen = []
    fused = F.scaled_dot_product_attention

    def noted(*given, **named):
        seen.append((*given, fused(*given, **named)))
        return seen[-1][-1]

    monkeypatch.setattr(F, "scaled_dot_product_attention", noted)
    monkeypatch.setattr(kernels, "to_device", torch.Tensor.to)  # pinned memory needs a GPU
    model.train(training)
    with torch.no_grad():
        value = loss.batch_loss(model, Batch(rows(3, 20), rows(3, 22), np.array([[20, 22]])), 0.1)
        y = model(on(rows(3, 20), gpu), on(rows(3, 22), gpu))
        logits = model.logits(y)
    assert (value.device, value.dtype, value.shape) == (gpu, torch.float32, ())
    assert (logits.device, logits.dtype, logits.shape) == (gpu, torch.bfloat16, (3, 22, VOCABULARY))
    assert {values.dtype for *_, values in seen} == {torch.bfloat16}
    assert {tensor.dim() for tensors in seen for tensor in tensors} == {4}  # fused kernels need four


@pytest.mark.parametrize("capability", [(8, 9), (9, 0), (10, 0)])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_from_the_h100_on_training_without_a_bias_prefers_cudnn(monkeypatch, gpu, capability, biased, training):
    seen = []

    def noted(q, *_, **__):
        first = torch._C._get_sdp_priority_order()[0] == SDPBackend.CUDNN_ATTENTION.value
        seen.append((torch.backends.cuda.cudnn_sdp_enabled(), first))
        return q

    monkeypatch.setattr(F, "scaled_dot_product_attention", noted)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    q = torch.empty(2, 2, 8, 8, device=gpu, requires_grad=training)
    with sdpa_kernel(kernels.CUDNN_FIRST[1:], set_priority=True):  # without cuDNN, as `use_gpu` leaves it
        attention(q, q, q, torch.empty(2, 1, 8, 8, device=gpu) if biased else None, 1.0)
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    assert seen == [(True, True) if training and not biased and capability >= (9, 0) else (False, False)]


@pytest.mark.usefixtures("bfloat16")
@pytest.mark.parametrize(("training", "dtype"), [(True, torch.float32), (False, torch.bfloat16)])
def test_in_inference_a_mask_is_converted_once_and_not_in_each_layer(gpu, training, dtype):
    with torch.set_grad_enabled(training):
        assert Mask(torch.ones(1, 3, 3, dtype=torch.bool, device=gpu)).bias.dtype == dtype


@pytest.fixture
def read(monkeypatch) -> list[torch.Size]:
    """Collects the shapes of tensors that are read from the GPU. Numbers are read as 24, and lists as zeros."""
    seen = []

    def zeros(tensor):
        seen.append(tensor.shape)
        return np.zeros(tensor.shape, float if tensor.is_floating_point() else int).tolist()

    monkeypatch.setattr(FakeTensor, "tolist", zeros)
    monkeypatch.setattr(torch.Tensor, "__int__", lambda tensor: seen.append(tensor.shape) or 24)
    monkeypatch.setattr(torch.Tensor, "__bool__", lambda tensor: bool(seen.append(tensor.shape)) or True)
    return seen


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_beam_search_reads_nothing_from_the_gpu_for_eight_steps(request, monkeypatch, model, gpu, read, precision):
    steps = []
    monkeypatch.setattr(copy, "deepcopy", lambda model: model)  # a copy would belong to another FakeTensorMode
    searched = in_precision(model.eval(), precision)
    decode = searched.decode
    searched.decode = lambda *given: steps.append(given) or decode(*given)
    if precision == "bfloat16":
        request.getfixturevalue("bfloat16")
    found = beam.beam_search(searched, rows(5, 9).ids.to(gpu), 4, 0.6, 15)
    assert len(steps) == beam.LOOK["cuda"] == 8  # then the first list is read, whose zeros mean that all are done
    assert read == [
        (),
        (5,),
        (5, 24, 4),
        (5, 4),
        (5, 4),
    ]  # the longest limit, which sentences are done, and the hypotheses with their scores
    assert len(found) == 5


def test_sampling_reads_nothing_from_the_gpu_for_eight_steps(model, gpu, read):
    generators = [np.random.default_rng(number) for number in range(5)]
    sampling.sample(model.eval(), rows(5, 9).ids.to(gpu), 15, generators)
    assert read == [(), (), (), (), (5, 24), (5,)]  # three times in 24 steps
