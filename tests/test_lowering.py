"""What a training step asks of a GPU, counted without one (benchmarks/lowering)."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# For N = 1: the most kernels, and GB that they read and write.
ROWS = {
    "base": (64, 7.8),
    "big": (49, 10.9),
    "A-h1": (64, 7.8),
    "A-h32": (64, 7.8),
    "B-dk16": (63, 7.4),
    "E-learned": (66, 7.8),
    "E-none": (64, 7.8),
    "E-t5": (74, 8.6),
    "E-alibi": (64, 7.8),
    "E-rotary": (68, 8.1),
    "aop1": (70, 7.2),
    "aop2": (70, 7.2),
    "parser": (49, 7.6),
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Counts some rows, each with one layer, in a process of its own: it changes PyTorch."""
    if not shutil.which("g++"):
        pytest.skip("needs g++")

    def count(*models):
        path = tmp_path_factory.mktemp("counts") / "counts.json"
        command = [sys.executable, "-m", "benchmarks.lowering", *models, "--layers", "1", "--json", str(path)]
        process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        assert not process.returncode, process.stderr
        return json.loads(path.read_text())

    return count


def check(model, counts):
    kernels, gigabytes = ROWS[model]
    assert counts["kernels"] <= kernels
    assert counts["gigabytes"] <= gigabytes
    assert not any(graph["float32"] for graph in counts["graphs"])
    assert [graph["calls"] for graph in counts["graphs"]] == [1, 1, 1]  # forward pass, loss, backward pass
    assert sum(counts["outside"].values()) <= 14
    assert not {"aten.copy_.default", "aten.clone.default"} & counts["outside"].keys()  # gradients are not copied


def test_a_step_of_base_is_three_graphs_in_bfloat16_with_few_kernels(counted):
    check("base", counted("base")["base"])


@pytest.mark.lowering
@pytest.mark.parametrize("model", [model for model in ROWS if model != "base"])
def test_a_step_of_a_row_is_three_graphs_in_bfloat16_with_few_kernels(counted, model):
    check(model, counted(model)[model])
