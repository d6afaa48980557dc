"""Test each part of `make gpu` at tiny sizes on a CPU."""

import json
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch

from benchmarks.gpu import __main__ as gpu
from benchmarks.gpu import decoding, machine, multi30k, tests, training
from benchmarks.gpu.made import drawn_lengths, drawn_pairs
from benchmarks.gpu.report import faults, report
from benchmarks.gpu.step import attentions, in_float32, kernels, profiled, table, unfused
from transformer.corpora.fetch import local_path
from transformer.experiment.config import read_experiment
from transformer.model.ids import END
from transformer.support.device import auto_precision

MACHINE = {"device": "NVIDIA X", "gpu": True, "torch": "2.13.0", "cuda": "13", "compiler": "cc", "software": {}}
MACHINE |= {"capability": [9, 0], "bytes": 2**37, "flops": {"bfloat16": 7e14}, "copy": 4e12, "seconds": 1, "end": ""}
TRAINED = {"tokens": 25_000, "shapes": 7, "warm": 7, "warming": 60.0, "packing_ms": 7.0}
TRAINED |= {"graphs": 2, "breaks": 0, "without_cuda_graph": 0}
TRAINED |= {"compiled": True, "should_compile": True, "precision": "bfloat16", "should_be_in": "bfloat16"}
OURS = {"setting": ["bfloat16"], "ms": 26.0, "subwords_per_second": 9e5, "mfu": 0.46, "padding": 0.02, "bytes": 9e9}
TRAINED |= {"systems": {"ours": OURS, "MarianMTModel": {"reason": "transformers is not installed"}}}
TRAINED |= {"unfused": [], "in_float32": [], "attention": ["efficient_attention"], "seconds": 90, "end": ""}


def all_of(findings):
    """All findings of a part, merged."""
    together = {}
    for some in findings:
        json.dumps(some)
        together |= some
    return together


def test_drawn_pairs_are_like_those_of_wmt(tmp_path):
    lengths = drawn_lengths(5000, 256)
    assert 25 < lengths.mean() < 33
    assert lengths.max() > 100
    assert drawn_lengths(5000, 512, 2.0)[:, 1].mean() == pytest.approx(2 * lengths[:, 1].mean(), rel=0.05)
    pairs = drawn_pairs(tmp_path / "train", lengths, 300)
    assert (pairs.lengths == lengths).all()
    ends = np.flatnonzero(pairs.ids == END)
    assert (ends == pairs.offsets[1:] - 1).all()


def test_the_machine_is_measured():
    findings = all_of(machine.measure("", 10, True))
    assert findings["device"]
    assert findings["flops"].keys() == {"float32", "bfloat16"}
    assert findings["copy"] > 0


@pytest.mark.parametrize("model", ["base", "aop1", "parser"])
def test_training_is_measured(model):
    findings = all_of(training.measure(model, 100, True))
    assert findings["systems"]["ours"]["ms"] > 0
    assert 0 <= findings["systems"]["ours"]["padding"] < 1
    assert ("torch.nn.Transformer" in findings["systems"]) == (model != "aop1")
    assert findings["warm"] == findings["shapes"]
    assert findings["unfused"]  # because nothing is compiled on a CPU
    assert findings["precision"] == findings["should_be_in"] == auto_precision(torch.device("cpu"))
    part = findings | {"end": "", "seconds": 1}
    assert faults({"machine": MACHINE, f"training {model}": part}) == []
    assert f"One step of {model}" in report({"machine": MACHINE, f"training {model}": part})


def test_training_measures_at_least_the_most_frequent_shape():
    findings = all_of(training.measure("base", 0, True))
    assert findings["warm"] == 1 < findings["shapes"]
    assert findings["systems"]["ours"]["ms"] > 0


def test_decoding_is_measured():
    systems = all_of(decoding.measure("", 100, True))["systems"]
    assert systems["ours, bfloat16"]["subwords_per_second"] > systems["ours, bfloat16"]["sentences_per_second"] > 0
    assert "reason" in systems["CTranslate2, float32"] or systems["CTranslate2, float32"]["subwords_per_second"] > 0


@pytest.mark.parametrize(("seconds", "steps"), [(600, 12), (0, 1)])
def test_multi30k_is_trained_in_the_given_time_and_scored(seconds, steps):
    findings = all_of(multi30k.measure("", seconds, True))
    assert (findings["steps"], findings["of"]) == (steps, 12)
    assert findings["bleu"] >= 0
    text = report({"machine": MACHINE, "multi30k": findings | {"end": "", "seconds": 1}})
    assert f"{steps} of 12 steps" in text
    assert "sacreBLEU on test" in text


def test_multi30k_needs_a_folder_with_all_of_its_files(tmp_path, monkeypatch):
    experiment = read_experiment([multi30k.OWN])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFORMER_MIRROR", str(tmp_path / "mirror"))
    assert multi30k.at_hand(experiment) is None
    (findings,) = multi30k.measure("", 600, False)
    assert "left out: its files are neither" in report(
        {"machine": MACHINE, "multi30k": findings | {"end": "", "seconds": 1}}
    )
    for folder in ("mirror", "results/downloads"):
        for url in experiment.files_of("ende"):
            path = tmp_path / folder / local_path(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        assert multi30k.at_hand(experiment).name == folder.rpartition("/")[2]


@pytest.mark.parametrize(("body", "summary"), [("pass", "1 passed"), ("assert False", "1 failed")])
def test_the_tests_marked_gpu_are_run(tmp_path, monkeypatch, body, summary):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
    (tmp_path / "test_it.py").write_text(f"import pytest\n@pytest.mark.gpu\ndef test_it():\n    {body}\n")
    findings = tests.measure("", 10, False)
    assert summary in next(findings)["summary"]
    if body == "pass":
        assert list(findings) == []
    else:
        with pytest.raises(RuntimeError, match="1 failed"):
            next(findings)


def test_a_profile_shows_whether_a_step_runs_eager_or_in_float32():
    linear, norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
    rows, events = profiled(lambda: norm(linear(torch.randn(4, 8))).sum().backward())
    assert unfused(events) == {"aten::native_layer_norm"}
    assert {"aten::addmm", "aten::mm"} >= in_float32(events) > set()
    assert sum(ms for *_, ms in table(rows)) == pytest.approx(sum(ms for *_, ms in rows))
    q = torch.randn(1, 1, 4, 8, dtype=torch.bfloat16)
    _, events = profiled(lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q))
    assert in_float32(events) == unfused(events) == set()
    assert attentions(events) == {"flash_attention_for_cpu"}


@pytest.mark.parametrize(
    ("kernel", "attention", "float32"),
    [
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80(Params)", {"efficient_attention"}, False),
        ("fmha_cutlassB_f32_aligned_64x64_k64_sm80(Params)", {"efficient_attention"}, True),
        ("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, cutlass::bfloat16_t>>", {"flash_attention"}, False),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", set(), False),
        ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8", set(), True),
        ("ampere_sgemm_128x64_tn", set(), True),
    ],
)
def test_kernels_of_a_cuda_graph_are_known_by_their_names(kernel, attention, float32):
    events = [{"cat": "kernel", "name": kernel, "dur": 1}]
    assert attentions(events) == attention
    assert in_float32(events) == ({kernel} if float32 else set())


def test_kernels_are_summed_by_name_without_annotations():
    events = [{"cat": "kernel", "name": "gemm", "dur": 2000}, {"cat": "kernel", "name": "gemm", "dur": 1000}]
    events += [{"cat": "gpu_user_annotation", "name": "step", "dur": 9000}, {"name": "process_name"}]
    assert kernels([*events, {"cat": "gpu_memcpy", "name": "copy", "dur": 500}]) == [("gemm", 2, 3.0), ("copy", 1, 0.5)]


def test_the_last_row_of_a_table_sums_the_rows_that_are_left_out():
    rows = [(str(number), 2, float(number)) for number in range(20)]
    assert table(rows)[0] == ("19", 2, 19.0)
    assert table(rows)[-1] == ("5 more", 10, 10.0)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({}, None),
        ({"compiled": False, "unfused": ["aten::_softmax"]}, "steps run eager; PyTorch's compiler was not used"),
        ({"unfused": ["aten::native_layer_norm"]}, "steps run eager, at least in part: aten::native_layer_norm"),
        ({"precision": "float32"}, "precision is float32, not bfloat16"),
        ({"in_float32": ["aten::bmm"]}, "float32 where bfloat16 should be: aten::bmm"),
        ({"precision": "float32", "should_be_in": "float32", "in_float32": ["aten::bmm"]}, None),
        ({"should_compile": False, "compiled": False, "unfused": ["aten::_softmax"]}, None),
        ({"end": "cut after 110 s"}, None),
        ({"end": "cut after 110 s", "systems": {}}, "cut after 110 s"),
        ({"end": "OutOfMemoryError: none left"}, "OutOfMemoryError: none left"),
    ],
)
def test_every_fault_is_reported(changed, fault):
    results = {"machine": MACHINE, "training base": TRAINED | changed}
    wrong = faults(results)
    assert len(wrong) == (fault is not None)
    assert fault is None or (
        wrong[0].startswith("training base: ") and fault in wrong[0] and wrong[0] in report(results)
    )


def test_a_report_says_what_was_measured():
    parts = {"tests": {"end": "", "summary": "9 passed", "seconds": 60}, "training base": TRAINED}
    text = report({"machine": MACHINE, **parts})
    for part in ("# NVIDIA X", "9 passed", " 26.0 |", "transformers is not installed", "efficient_attention"):
        assert part in text


def test_a_part_that_is_stopped_or_fails_is_reported(monkeypatch):
    findings = gpu.measured(gpu.Part("machine", "", 1), 0.01, True)
    assert findings["end"] == "cut after 0 s"
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    findings = gpu.measured(gpu.Part("tests", "", 1), 100, True)
    assert findings["end"].startswith("RuntimeError: pytest -m gpu")


def test_an_interruption_ends_the_running_part(tmp_path):
    command = [sys.executable, "-m", "benchmarks.gpu", "--tiny", "--output-dir", str(tmp_path)]
    process = psutil.Popen(command, cwd=gpu.ROOT, stderr=subprocess.PIPE, text=True)
    while not (parts := process.children()) or parts[0].cpu_times().user < 0.3:
        time.sleep(0.05)
    process.terminate()
    assert process.communicate()[1] == "interrupted\n"
    assert process.returncode == 130
    assert psutil.wait_procs(parts, timeout=60)[1] == []


@pytest.fixture
def pretended(monkeypatch):
    """Replaces the parts by ones whose findings are given in a dictionary, by name."""

    def pretend(findings):
        monkeypatch.setattr(gpu, "measured", lambda part, *_: {"seconds": 1, "end": ""} | findings[part.name])
        monkeypatch.setattr(gpu, "PARTS", [part for part in gpu.PARTS if part.name in findings])

    return pretend


def test_results_are_written_to_a_folder_named_after_the_gpu(tmp_path, pretended, capsys):
    pretended({"machine": MACHINE, "tests": {"summary": "9 passed"}})
    assert gpu.measure_all(tmp_path, False) == 0
    assert json.loads((tmp_path / "NVIDIA-X/results.json").read_text())["tests"]["summary"] == "9 passed"
    assert "9 passed" in (tmp_path / "NVIDIA-X/README.md").read_text()
    pretended({"machine": MACHINE, "tests": {"summary": "", "end": "RuntimeError: 1 failed"}})
    assert gpu.measure_all(tmp_path, True) == 1
    assert (tmp_path / "NVIDIA-X-tiny/README.md").exists()
    assert "wrong: tests: RuntimeError: 1 failed" in capsys.readouterr().err


def test_a_missing_gpu_is_reported_in_one_line(tmp_path, pretended, capsys):
    pretended({"machine": MACHINE | {"gpu": False}, "tests": {}})
    assert gpu.measure_all(tmp_path, False) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "finds no GPU" in line
    assert not any(tmp_path.iterdir())
