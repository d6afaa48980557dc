"""Test the parts of `make gpu` at tiny sizes on a CPU, and its report. test_gpu_offline.py runs all parts."""

import json
import sys
from importlib.util import find_spec
from unittest.mock import patch

import pytest
import torch

from benchmarks.changes import CHANGES
from benchmarks.gpu import __main__ as gpu
from benchmarks.gpu import decoding, training
from benchmarks.gpu.report import faults, report
from benchmarks.gpu.step import attentions, in_float32, profiled, unfused

CPU = torch.device("cpu")
MACHINE = {"device": "NVIDIA X", "torch": "2.13.0", "cuda": "13", "compiler": "cc", "software": {}}
MACHINE |= {"capability": [9, 0], "bytes": 2**37, "flops": {"bfloat16": 7e14}, "copy": 4e12, "seconds": 1, "end": ""}
TRAINED = {"compiled": True, "should_compile": True, "precision": "bfloat16", "should_be_in": "bfloat16"}
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


def test_another_library_that_fails_is_reported(monkeypatch):
    monkeypatch.setattr(training, "fastest", lambda *_: sys.exit("torch: the loss at the start is 2, ours 1"))
    systems = all_of(training.measure("base", CPU, True))["systems"]
    assert systems["torch.nn.Transformer"] == {"reason": "SystemExit: torch: the loss at the start is 2, ours 1"}


@pytest.mark.skipif(not find_spec("ctranslate2"), reason="CTranslate2 is not installed")
def test_decoding_is_measured_beside_ctranslate2():
    systems = all_of(decoding.measure(CPU, True))["systems"]
    assert systems["CTranslate2, float32"]["subwords_per_second"] > 0


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


def found(findings):
    """A part with these findings."""
    return lambda *_: iter([MACHINE | findings])


def test_a_part_that_fails_keeps_its_findings_and_stops_no_other(tmp_path, monkeypatch, capsys):
    def failing(*_):
        yield {"systems": {"ours": OURS}}
        raise RuntimeError("out of luck")

    monkeypatch.setattr(gpu, "device_name", lambda _: "NVIDIA X")
    monkeypatch.setattr(
        gpu, "PARTS", {"machine": found(MACHINE), "training big": failing, "training base": found(TRAINED)}
    )
    monkeypatch.setattr(sys, "argv", ["gpu", "--tiny", "--output-dir", str(tmp_path)])
    assert gpu.main() == 1
    results = json.loads((tmp_path / "NVIDIA-X-tiny/results.json").read_text())
    assert (results["training big"]["end"], results["training base"]["end"]) == ("RuntimeError: out of luck", "")
    assert "900,000" in (tmp_path / "NVIDIA-X-tiny/README.md").read_text()
    assert "wrong: training big: RuntimeError: out of luck" in capsys.readouterr().err


def test_a_missing_gpu_is_reported_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gpu", "--output-dir", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"^error: PyTorch .* finds no GPU; .*$"):
        gpu.main()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_change_replaces_exists(change):
    with patch(*change):
        pass
