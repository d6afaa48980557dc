import json
import resource
import sys
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.pages import ROOT
from transformer.model.flops import forward_flops
from transformer.model.ids import END
from transformer.model.parameters import parameters
from transformer.support.strict import read_yaml
from transformer.text.tokens import Pairs, pack, write_pairs
from transformer.training.loop import Trainer
from workflow.experiment.config import read_experiment
from workflow.experiment.cost import DEVICES, PAPER, TREE, cost, decoding_flops, decoding_hours, si, step_flops
from workflow.experiment.scale import Scale

EXPERIMENT = read_experiment([ROOT / "config/paper.yaml"])
PUBLISHED = read_yaml(ROOT / "config/published.yaml")
LATER = json.loads((ROOT / "results/released/h100/later.json").read_text())
MEASURED = {  # on an H100: seconds and GB of a step
    model: (each["ms"] / 1000, each["bytes"] / 1e9)
    for model, call in (("base", "call 3"), ("big", "call 3"), ("aop1", "call 4"))
    for each in [LATER[call][f"training {model}"]["systems"]["ours"]]
}
HOURS = {row["model"]: row["hours"] for row in PUBLISHED["appendix"]} | {"big": 3.5 * 24}


def run(model, experiment=EXPERIMENT):
    return experiment.run("ende", model, 1)


@pytest.mark.agreement(witness="numbers of the paper")
@pytest.mark.parametrize(("model", "width"), [("base", 512), ("big", 1024)])
def test_the_paper_s_efficiency_follows_from_its_step_times(model, width):
    seconds = {"base": 0.4, "big": 1.0}[model]
    flops = step_flops(run(model), 37000)
    assert PAPER[width] * 8 * 10.6e12 * seconds == pytest.approx(flops, rel=0.02)


@pytest.mark.agreement(witness="numbers of the paper")
@pytest.mark.parametrize("model", ["base", "big"])
def test_the_planned_hours_of_the_paper_s_models_are_the_paper_s(model):
    assert cost(run(model), 37000, 1, [DEVICES["8xP100"]]).hours == pytest.approx((HOURS[model],), rel=0.1)


@pytest.mark.parametrize(("model", "width"), [("base", 512), ("big", 1024)])
def test_the_efficiency_of_an_h100_follows_from_the_steps_that_were_measured(model, width):
    seconds = DEVICES["H100"].step_seconds(step_flops(run(model), 37000), width)
    assert seconds == pytest.approx(MEASURED[model][0], rel=0.01)


@pytest.mark.parametrize("model", MEASURED)
def test_the_planned_memory_in_bfloat16_is_within_a_third_of_what_was_measured(model):
    assert cost(run(model), 37000, 1, []).memory_bfloat16 / 1e9 == pytest.approx(MEASURED[model][1], rel=0.34)


def test_efficiency_depends_on_the_scaled_width():
    for width, share in ((1, 0.33), (0.5, 0.22)):
        one = run("big", replace(EXPERIMENT, scale=Scale(width, 1)))
        seconds = one.training.steps * step_flops(one, 99) / (312e12 * share)
        assert cost(one, 99, 1, [DEVICES["A100"]]).hours == pytest.approx((seconds / 3600,))


def test_a_run_s_files_are_as_large_as_planned(run_config, encoded, tmp_path):
    config = run_config(d_model=64, d_ff=256)
    planned = cost(config, 40, 1, [])
    Trainer(config, 40, encoded("train"), encoded("dev"), tmp_path, torch.device("cpu")).train(save_seconds=0)
    checkpoints = sum(path.stat().st_size for path in tmp_path.glob("step-*"))
    states = sum((tmp_path / f"{name}.safetensors").stat().st_size for name in ("state", "previous"))
    assert planned.disk == pytest.approx(checkpoints * 5 / 3, rel=0.05)  # three checkpoints, two packages
    assert states == pytest.approx(24 * planned.parameters, rel=0.05)


def rise_of_memory(config, vocabulary, prefix, folder, result):
    """The peak of the additional memory of two steps, in bytes."""
    torch.set_num_threads(1)
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pairs = Pairs.read(prefix)
    trainer = Trainer(config, vocabulary, pairs, pairs, folder, torch.device("cpu"))
    for _, _, batches in islice(trainer.batches.from_position(0, 0), 2):
        trainer.step(batches)
    result.value = unit * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


@pytest.mark.parametrize(
    ("longest", "changes"),
    [
        (128, {"N": 2, "attention_dropout": 0.2}),
        (32, {"N": 3, "network": "recurrent"}),
    ],
)
def test_a_run_takes_as_much_memory_as_planned(run_config, tmp_path, forkserver, longest, changes):
    vocabulary = 8000
    config = run_config(**changes, d_model=256, d_ff=1024, h=8, d_k=32, d_v=32, batch_tokens=2048, longest_pair=longest)
    sentences = [[3 + i] * (longest - 1) + [END] for i in range(100)]
    write_pairs(tmp_path / "train", [pack(sentences, sentences, vocabulary)], vocabulary)
    taken = forkserver.Value("q")
    process = forkserver.Process(
        target=rise_of_memory, args=(config, vocabulary, tmp_path / "train", tmp_path / "state", taken)
    )
    process.start()
    process.join()
    assert taken.value == pytest.approx(cost(config, vocabulary, 1, []).memory, rel=0.33)


def test_decoding_with_a_beam_costs_more_than_a_forward_pass_and_a_tree_more_than_a_translation():
    one, task = run("base"), EXPERIMENT.tasks["ende"]
    wide, tree = (replace(task, decoding=replace(task.decoding, beam=21)), replace(task, kind="parsing"))
    assert 4 < decoding_flops(one, wide, False) / decoding_flops(one, task, False) < 21 / 4
    assert 1 < decoding_flops(one, tree, False) / decoding_flops(one, task, False) < TREE
    lengths = np.full((1, 2), 28)
    pair = forward_flops(one.architecture, task.vocabulary, lengths)
    assert decoding_flops(one, task, True) - decoding_flops(one, task, False) == pair
    assert decoding_flops(one, replace(task, decoding=replace(task.decoding, beam=1)), False) == pair
    device = replace(DEVICES["cpu"], peak=1e9)
    assert decoding_hours(one, 3600 * 1.19e9 * 0.8, device) == pytest.approx(1)


def test_memory_grows_with_a_step_up_to_a_gpu_s_micro_batch():
    base = run("base")
    steps = [replace(base, training=replace(base.training, batch_tokens=tokens)) for tokens in (12_500, 25_000, 99_000)]
    half, whole, more = (cost(one, 37000, 1, []).memory - 16 * parameters(one.architecture, 37000) for one in steps)
    assert half == pytest.approx(whole / 2, rel=0.05)
    assert more == whole


@given(st.floats(1, 9e32))
def test_si_prints_three_significant_digits(value):
    figures, _, unit = si(value, "B").partition(" ")
    assert 1 <= float(figures) < 1000
    assert float(figures) * 1000.0 ** " kMGTPEZYRQ".index(unit[:-1] or " ") == pytest.approx(value, rel=0.005)


def test_a_gpu_s_step_is_never_shorter_than_its_shortest():
    a100, cpu = DEVICES["A100"], replace(DEVICES["cpu"], peak=1e12)
    assert a100.step_seconds(1e9, 128) == a100.shortest_step < a100.step_seconds(1e15, 128)
    assert cpu.step_seconds(1e6, 128) < cpu.step_seconds(1e9, 128) < a100.shortest_step
