"""Test the comparison of libraries."""

import re
import runpy
import sys
import warnings

import numpy as np
import pytest

from benchmarks import train
from tests.pages import ROOT
from transformer.model.ids import END
from transformer.text.tokens import pack, write_pairs

VOCABULARY = 3000  # with few subwords the losses would differ: the embedding of padding is 0 only in other libraries


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.agreement(witness=witness))
        for name, witness in {
            "MarianMTModel": "Hugging Face",
            "x-transformers": "x-transformers",
            "torch.nn.Transformer": "PyTorch",
        }.items()
    ],
)
def test_a_model_of_another_library_trains_in_a_process_of_its_own_to_our_loss(tmp_path, monkeypatch, capsys, name):
    pytest.importorskip(train.PEERS[name][0].needs)
    random = np.random.default_rng(1)
    sides = [[[*random.integers(3, VOCABULARY, n), END] for n in random.integers(2, 12, 200)] for _ in range(2)]
    write_pairs(tmp_path / "train", [pack(*sides, VOCABULARY)], VOCABULARY)
    options = {"tokens": tmp_path / "train", "vocabulary": VOCABULARY, "sizes": "1/16/32/2", "threads": 1}
    options |= {"batch-tokens": 96, "loss-steps": 21}
    words = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    monkeypatch.setattr(sys, "argv", ["train.py", *words])
    monkeypatch.setattr(train, "PEERS", {name: train.PEERS[name]})
    train.main()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| 1/16/32/2 ")]
    assert [row[1] for row in rows] == ["ours", name]
    assert all(float(row[3].replace(",", "")) > 0 for row in rows)
    ours, other = (float(row[8]) for row in rows)
    assert ours == pytest.approx(other, rel=0.01)


BENCHMARKS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")
    for path in (ROOT / "benchmarks").rglob("*.py")
    if '__name__ == "__main__"' in path.read_text()
)


@pytest.mark.parametrize(
    "name", [*BENCHMARKS, "workflow.experiment.schema", "workflow.cli.reproduce", "workflow.results.summary"]
)
def test_help_is_printed_without_an_extra_and_nothing_is_run(tmp_path, monkeypatch, capsys, name):
    for extra in ("ctranslate2", "transformers", "x_transformers"):
        monkeypatch.setitem(sys.modules, extra, None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning), pytest.raises(SystemExit) as end:
        runpy.run_module(name, run_name="__main__")  # which warns if the module is imported already
    assert end.value.code in (None, 0)
    assert re.match("usage: ", capsys.readouterr().out)
    assert not list(tmp_path.iterdir())
