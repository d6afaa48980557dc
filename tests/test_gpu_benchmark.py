"""Test the parts of `make gpu` at tiny sizes on a CPU, and its report. test_gpu_offline.py runs all parts."""

import json
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch

from benchmarks.changes import CHANGES
from benchmarks.gpu import __main__ as gpu
from benchmarks.gpu import decoding, multi30k, tests, training
from benchmarks.gpu.made import drawn_lengths, drawn_pairs
from benchmarks.gpu.report import faults, report
from benchmarks.gpu.step import attentions, in_float32, kernels, profiled, unfused
from transformer.corpora.fetch import local_path
from transformer.decoding.beam import Hypothesis
from transformer.decoding.search import Search
from transformer.experiment.config import read_experiment
from transformer.model.ids import END

MACHINE = {"device": "NVIDIA X", "gpu": True, "torch": "2.13.0", "cuda": "13", "compiler": "cc", "software": {}}
MACHINE |= {"capability": [9, 0], "bytes": 2**37, "flops": {"bfloat16": 7e14}, "copy": 4e12, "seconds": 1, "end": ""}
TRAINED = {"tokens": 25_000, "shapes": 7, "warm": 7, "warming": 60.0, "packing_ms": 7.0, "main_memory": 5e9}
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


def test_a_shape_is_trained_three_times_before_the_rounds_and_its_cuda_graph_is_missed_after_them(monkeypatch):
    steps, recorded = [], {}

    def step(system, batches):
        system.trainer.updater.recorder = SimpleNamespace(recorded=recorded)
        steps.append(batches[0].source.ids.shape)

    monkeypatch.setattr(training.Ours, "step", step)
    monkeypatch.setattr(training, "profiled", lambda _: ([], []))
    monkeypatch.setattr(training, "BESIDE", ())
    findings = all_of(training.measure("base", 100, True))
    warming = steps[: 3 * findings["shapes"]]
    assert warming == [shape for shape in dict.fromkeys(warming) for _ in range(3)]
    assert len(steps) > len(warming)
    assert findings["without_cuda_graph"] == findings["shapes"]


def test_another_library_that_fails_is_reported(monkeypatch):
    monkeypatch.setattr(training, "fastest", lambda *_: sys.exit("torch: the loss at the start is 2, ours 1"))
    systems = all_of(training.measure("base", 0, True))["systems"]
    assert systems["torch.nn.Transformer"] == {"reason": "SystemExit: torch: the loss at the start is 2, ours 1"}


def test_training_measures_at_least_the_most_frequent_shape():
    findings = all_of(training.measure("base", 0, True))
    assert findings["warm"] == 1 < findings["shapes"]
    assert findings["systems"]["ours"]["ms"] > 0


@pytest.mark.skipif(not find_spec("ctranslate2"), reason="CTranslate2 is not installed")
def test_decoding_is_measured_beside_ctranslate2():
    systems = all_of(decoding.measure("", 100, True))["systems"]
    assert systems["CTranslate2, float32"]["subwords_per_second"] > 0


def test_batches_like_those_of_translate_hold_all_hypotheses_of_the_beam(monkeypatch):
    monkeypatch.setattr(decoding, "in_precision", lambda model, _: model)
    monkeypatch.setattr(decoding, "padded_subwords", lambda *_: 40)
    sizes = []

    class Counted(Search):
        def __call__(self, _, batch):
            sizes.append(len(batch))
            return [[Hypothesis([], 0.0)]] * len(batch)

    package = SimpleNamespace(model=SimpleNamespace(embedding=torch.zeros(1)))
    decoding.like_translate(package, Counted(4, 0.6, 0), "float32")([[5] * 5] * 6)
    assert sizes == [2, 2, 2]  # 2 sentences of 5 subwords with 4 hypotheses each


def of_multi30k(findings):
    """The report of the part multi30k."""
    return report({"machine": MACHINE, "multi30k": findings | {"end": "", "seconds": 1}})


@pytest.mark.parametrize(("seconds", "steps"), [(600, 12), (0, 1)])
def test_multi30k_is_trained_in_the_given_time_and_scored(seconds, steps):
    findings = all_of(multi30k.measure("", seconds, True))
    assert (findings["steps"], findings["of"]) == (steps, 12)
    assert findings["bleu"] >= 0
    assert f"{steps} of 12 steps" in (text := of_multi30k(findings))
    assert re.search(r"; \d.\d BLEU, \d.\d sacreBLEU on test", text)


def test_multi30k_is_scored_as_far_as_packages_are_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    findings = all_of(multi30k.measure("", 0, True))
    assert "bleu" not in findings
    assert "no BLEU (sacremoses is not installed), 0.0 sacreBLEU on test" in of_multi30k(findings)
    assert faults({"multi30k": findings | {"end": "cut after 120 s", "seconds": 120}}) == []


def test_multi30k_needs_a_folder_with_all_of_its_files(tmp_path, monkeypatch):
    experiment = read_experiment([multi30k.OWN])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRANSFORMER_MIRROR", str(tmp_path / "mirror"))
    assert multi30k.at_hand(experiment) is None
    (findings,) = multi30k.measure("", 600, False)
    assert "left out: its files are neither" in of_multi30k(findings)
    for folder in ("mirror", "results/downloads"):
        for url in experiment.files_of("ende"):
            path = tmp_path / folder / local_path(url)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        assert multi30k.at_hand(experiment).name == folder.rpartition("/")[2]


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """Lets the part run tests of a text instead of ours."""

    def write(text):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(gpu.ROOT))
        monkeypatch.setattr(tests, "MARKED", ["test_it.py"])
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = gpu\n")
        (tmp_path / "test_it.py").write_text(f"import pytest\npytestmark = pytest.mark.gpu\n{text}")

    return write


def test_tests_marked_gpu_are_run_and_each_failure_is_found_at_once(marked):
    marked("def test_a():\n    pass\ndef test_b():\n    raise ValueError('in b\\nmore')\n")
    findings = []
    with pytest.raises(RuntimeError, match="1 failed, 1 passed"):
        findings.extend(tests.measure("", 10, False))
    *each, last = findings
    assert {"passed": 1} in each
    assert {"failures": {"test_it.py::test_b": "ValueError: in b"}} in each
    assert "1 failed, 1 passed" in last["summary"]
    part = all_of(findings) | {"end": "", "seconds": 1}
    assert faults({"tests": part}) == ["test_it.py::test_b: ValueError: in b"]
    part = all_of(each) | {"end": "cut after 130 s", "seconds": 130}
    assert "Tests marked `gpu`: 1 passed, 1 failed; cut after 130 s." in report({"machine": MACHINE, "tests": part})


def test_a_file_of_tests_that_cannot_be_imported_is_found(marked):
    marked("import no_such_package\n")
    findings = tests.measure("", 10, False)
    assert "test_it.py" in next(findings)["failures"]


def test_all_tests_marked_gpu_are_named():
    mark = re.compile(r"^pytestmark = pytest\.mark\.gpu$|marks=pytest\.mark\.gpu|^@pytest\.mark\.gpu$", re.MULTILINE)
    with_mark = {path for path in (gpu.ROOT / "tests").rglob("test_*.py") if mark.search(path.read_text())}
    named = {path for name in tests.MARKED for path in [gpu.ROOT / name, *(gpu.ROOT / name).rglob("*.py")]}
    assert len(with_mark) == 3
    assert with_mark <= named


def test_a_profile_shows_whether_a_step_runs_eager_or_in_float32():
    linear, norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
    rows, events = profiled(lambda: norm(linear(torch.randn(4, 8))).sum().backward())
    assert unfused(events) == {"aten::native_layer_norm"}
    assert {"aten::addmm", "aten::mm"} >= in_float32(events) > set()
    assert {"aten::mm", "aten::native_layer_norm"} < {name for name, *_ in rows}
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


def test_a_report_shows_the_longest_kernels_and_sums_the_others_and_each_kind():
    rows = [("fmha_cutlassF_bf16", 6, 20.25), *((f"nvjet_{number}", 2, 20.0 - number) for number in range(20))]
    text = report({"machine": MACHINE, "training base": TRAINED | {"profile": rows}})
    lines = [re.sub(" +", " ", line) for line in text.splitlines()]
    assert "| nvjet_13 | 2 | 7.000 | 3.0 % |" in lines
    assert "| 6 more | 12 | 21.000 | 9.1 % |" in lines
    assert "- 230.2 ms in all." in lines
    assert [line for line in lines if re.match(r"\| (attention|products|all others|sum) \|", line)] == [
        *("| attention | 20.25 |", "| products | 210.00 |", "| all others | 0.00 |", "| sum | 230.25 |")
    ]


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
        ({"end": "not started", "systems": {}}, None),
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


def test_parts_without_time_are_not_started_and_that_is_no_fault(tmp_path, pretended):
    pretended({"machine": MACHINE, "tests": {"summary": "9 passed"}})
    assert gpu.measure_all(tmp_path, False, 19.0) == 0
    results = json.loads((tmp_path / "NVIDIA-X/results.json").read_text())
    assert results["tests"] == {"seconds": 0.0, "end": "not started"}
    assert "Tests marked `gpu`: not started." in (tmp_path / "NVIDIA-X/README.md").read_text()


def test_results_are_kept_if_their_text_cannot_be_made(tmp_path, pretended, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "report", lambda results: results["no such part"])
    pretended({"machine": MACHINE})
    assert gpu.measure_all(tmp_path, False) == 0
    assert (tmp_path / "NVIDIA-X/results.json").exists()
    assert "KeyError" in capsys.readouterr().err


def test_changes_are_measured_beside_the_training_as_it_is(tmp_path, monkeypatch):
    seen = []

    def measured(part, *_):
        seen.append(part.name)
        return {"seconds": 1, "end": ""} | (MACHINE if part.module == "machine" else TRAINED)

    monkeypatch.setattr(gpu, "measured", measured)
    monkeypatch.setattr(sys, "argv", ["gpu", "--output-dir", str(tmp_path), "--changes", *CHANGES])
    assert gpu.main() == 0
    assert seen == ["machine", "training base", *(f"training base {name}" for name in CHANGES)]


def test_each_change_can_be_made():
    """In a process of its own, because it changes the project's modules."""
    code = "from benchmarks.changes import CHANGES; [change() for change in CHANGES.values()]"
    subprocess.run([sys.executable, "-c", code], cwd=gpu.ROOT, check=True)
