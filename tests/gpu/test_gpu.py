"""Tests that need a GPU (`make test-gpu`). test_reference compares loss and gradients on a GPU with the equations."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist

from transformer.decoding.search import Search, Sentence, decoding
from transformer.model.config import AttentionOverParametersConfig
from transformer.model.recurrent import StepwiseLSTM
from transformer.package.loading import load_package
from transformer.support.files import InputError
from transformer.training import cuda_graphs, update
from transformer.training.distributed import replicate
from transformer.training.loop import Trainer
from transformer.training.signals import Interrupted

pytestmark = pytest.mark.gpu
CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)
VOCABULARY = 40


@pytest.fixture
def start(tmp_path, run_config, encoded):
    """Makes a trainer on a device, in a folder of the given name, with some keys of the config changed."""

    def make(folder, device=GPU, **changes):
        # The gradient of the keys' biases is only rounding. A larger epsilon keeps Adam from amplifying it.
        pairs = (encoded("train"), encoded("dev"))
        return Trainer(run_config(epsilon=1e-3, **changes), VOCABULARY, *pairs, tmp_path / folder, device)

    return make


def assert_same_weights(one, other):
    theirs = other.model.state_dict()
    for name, weight in one.model.state_dict().items():
        torch.testing.assert_close(weight.cpu(), theirs[name].cpu(), rtol=1e-3, atol=1e-5, msg=name)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_gpu_trains_the_same_weights_as_a_cpu(start, monkeypatch, compiled):
    monkeypatch.setattr(update, "can_compile", lambda: compiled)
    on_gpu, on_cpu = start("gpu", P_drop=0.0), start("cpu", CPU, P_drop=0.0)
    on_gpu.train()
    on_cpu.train()
    assert on_gpu.updater.compiled == compiled
    assert bool(compiled) == bool(on_gpu.updater.recorder and on_gpu.updater.recorder.recorded)
    assert_same_weights(on_gpu, on_cpu)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_steps_that_are_cuda_graphs_train_the_same_weights_as_others(start, monkeypatch, precision):
    recorded = start("recorded", precision=precision)
    recorded.train()
    assert recorded.updater.recorder.recorded
    monkeypatch.setattr(cuda_graphs, "WARM", 1000)
    launched = start("launched", precision=precision)
    launched.train()
    assert not launched.updater.recorder.recorded
    assert_same_weights(recorded, launched)


def test_an_interrupted_run_is_resumed_and_ends_with_the_same_weights(start):
    whole = start("whole", precision="bfloat16")
    whole.try_compiler()
    whole.train()
    interrupted = start("state", precision="bfloat16")
    interrupted.try_compiler()
    with pytest.raises(Interrupted):
        interrupted.train(reached=lambda step: step == 5 and os.kill(os.getpid(), signal.SIGTERM))
    resumed = start("state", precision="bfloat16")
    resumed.try_compiler()
    assert resumed.state.step == 5
    resumed.train()
    assert_same_weights(resumed, whole)


def test_too_little_memory_is_reported_with_the_remedy(start):
    trainer = start("state", batch_tokens=25_000)
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.0)
    try:
        with pytest.raises(InputError, match="out of memory; resume with --micro-batch-tokens 12500"):
            trainer.train()
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_gradients_that_processes_exchange_equal_those_of_one_process(start):
    trainer = start("state", P_drop=0.0)
    _, _, [batch, *_] = next(trainer.batches.from_position(0, 0))
    parameters = list(trainer.model.parameters())
    trainer.updater.loss(batch).backward()
    alone = [parameter.grad.clone() for parameter in parameters]
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        replica = replicate(trainer.updater.replica, trainer.updater.autocast(), batch, 0.1, 1.0, True)
        trainer.model.zero_grad(set_to_none=False)
        replica(batch, 0.1, 1.0, True).backward()
    finally:
        dist.destroy_process_group()
    for parameter, gradient in zip(parameters, alone, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-3, atol=1e-4)


def test_lstms_of_a_training_in_bfloat16_compute_in_float32():
    """PyTorch's autocast would run them in float16."""
    lstm, x = StepwiseLSTM(8, 16).to(GPU), torch.randn(2, 5, 8, device=GPU)
    with torch.autocast("cuda", torch.bfloat16):
        y, (output, cell) = lstm(x.bfloat16())
    assert {y.dtype, output.dtype, cell.dtype} == {torch.float32}
    (1e-9 * y).sum().backward()  # float16 has no such small numbers
    assert all(parameter.grad.count_nonzero() for parameter in lstm.parameters())


def test_a_gpu_translates_like_a_cpu(save, text, translations):
    folder, lines = save(), text(7, 300)
    on_gpu, on_cpu = (
        [each.texts[0] for each in translations(load_package(folder, device), lines, 4, 512)] for device in (GPU, CPU)
    )
    assert sum(map(str.__eq__, on_gpu, on_cpu)) >= 0.99 * len(lines)


NETWORKS = {
    "base": {},
    "additive attention": {"attention": "additive"},
    "rotary positions": {"positions": "rotary"},
    "attention over parameters": {
        "attention_over_parameters": AttentionOverParametersConfig(h_p=2, d_pk=8, d_pv=8, n_p=16)
    },
    "recurrent": {"network": "recurrent", "N": 2},
    "convolutional": {"network": "convolutional", "positions": "learned", "max_length": 60},
}


@pytest.mark.parametrize("changes", NETWORKS.values(), ids=NETWORKS)
def test_decoding_in_bfloat16_finds_translations_of_about_the_same_score(save, text, changes):
    package, lines = load_package(save(**changes), GPU), text(7, 100)
    sentences = [Sentence(number, ids) for number, ids in enumerate(package.subwords.encode(lines), 1)]
    scores = {}
    for precision in ("float32", "bfloat16"):
        with decoding(package, Path(), Search(4, 0.6, 10), precision, 1) as decode:
            [found] = decode([sentences])
        scores[precision] = np.array([best.score for best, *_ in found])
    difference = np.abs(scores["bfloat16"] / scores["float32"] - 1)  # is large where the searches part
    assert 0 < np.median(difference) < 0.01


def test_a_command_locks_the_gpu_by_its_uuid(tmp_path):
    line = "from transformer.support.device import choose_device; print(choose_device())"
    environment = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, "-c", line], env=environment, capture_output=True, text=True, timeout=120)
    assert run.stdout == "cuda:0\n", run.stderr
    [lock] = (path.name for path in tmp_path.glob("*.lock"))
    assert re.fullmatch(r"transformer-\d+-gpu-[0-9a-f-]{36}\.lock", lock)
