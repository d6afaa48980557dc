"""Updates of the weights: with and without a compiler."""

import pytest
import torch
from torch import nn

from transformer.model.networks import network
from transformer.support.device import compile_in_place
from transformer.training import fused
from transformer.training.bfloat16_weights import Bfloat16Weights
from transformer.training.cuda_graphs import Recorder
from transformer.training.distributed import ALONE
from transformer.training.update import Updater

CPU = torch.device("cpu")
VOCABULARY = 40


@pytest.fixture(autouse=True)
def from_the_start(monkeypatch):
    """Discard what was compiled before and afterwards. The loss is not compiled, because that needs a C++ compiler."""
    monkeypatch.setattr(fused, "_compiled_part", lambda: fused._part_for_compiler)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def broken_backward(graph, example):
    """A compiler that cannot compile a backward pass."""
    from torch._dynamo.backends.common import aot_autograd

    def refuse(*_):
        raise RuntimeError("no such kernel\nmuch more")

    return aot_autograd(fw_compiler=lambda graph, _: graph.forward, bw_compiler=refuse)(graph, example)


def test_a_model_whose_gradient_cannot_be_compiled_trains_uncompiled_and_one_line_says_so(start, capsys):
    trainer = start()
    nn.Module.compile(trainer.updater.model, dynamic=False, backend=broken_backward)
    trainer.updater.compiled = True  # as on a GPU
    assert trainer.updater.model_compiled
    trainer.try_compiler()
    assert not trainer.updater.compiled
    assert not trainer.updater.model_compiled
    trainer.train()
    line = next(line for line in capsys.readouterr().err.splitlines() if "compile" in line)
    assert line.startswith("ende base: PyTorch cannot compile the model, so it trains slower (")
    assert "no such kernel" in line
    plain = start("other")
    plain.train()
    for one, other in zip(trainer.model.parameters(), plain.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_model_that_pytorch_cannot_compile_is_not_recorded_as_compiled(run_config):
    model = network(run_config(network="recurrent", N=2).architecture, VOCABULARY)
    compile_in_place(model, 16)
    assert not Updater(model, run_config().training, CPU, ALONE).model_compiled


def test_gradients_are_those_of_the_last_update_whether_it_was_recorded_or_not(start):
    trainer = start()
    updater, micro = trainer.updater, next(trainer.batches.from_position(0, 0))[2]
    updater.recorder = Recorder(lambda batch, *given: updater.update([batch], *given), updater.model.parameters(), CPU)
    updater(micro[:1], 0.1, 0.1)
    before = updater.gradients()
    updater([*micro, *micro], 0.1, 0.1)
    after, now = updater.gradients(), [parameter.grad for parameter in updater.model.parameters()]
    assert all(one is other for one, other in zip(after, now, strict=True))
    assert not any(torch.equal(one, other) for one, other in zip(before, after, strict=True) if one.any())


def test_a_try_of_the_compiler_leaves_no_gradient_behind(start, monkeypatch):
    """With copies of weights, as on a GPU."""

    def bfloat16_weights(updater):
        updater.weights = updater.weights or Bfloat16Weights(updater.model)
        updater.weights.refresh()
        return updater.weights

    monkeypatch.setattr(Updater, "_bfloat16_weights", bfloat16_weights)
    tried, plain = (start(name, precision="bfloat16") for name in ("tried", "plain"))
    tried.updater.compiled = True
    monkeypatch.setattr(fused, "_compiled_part", lambda: fused._part)
    tried.try_compiler()
    tried.updater.compiled = False
    for trainer in (tried, plain):
        torch.manual_seed(1)
        trainer.train()
    for one, other in zip(tried.model.parameters(), plain.model.parameters(), strict=True):
        assert torch.equal(one, other)
