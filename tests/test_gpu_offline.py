"""Run all parts of `make gpu` at tiny sizes like on a machine without internet, where packages are missing."""

import json
import sys
import zipfile
from subprocess import CompletedProcess

import pytest
import torch

from benchmarks.gpu import offline
from benchmarks.gpu.__main__ import PARTS
from benchmarks.gpu.report import faults
from transformer.support.device import auto_precision

HIDDEN = ("argcomplete", "ctranslate2", "nltk", "sacremoses", "snakemake", "transformers", "x_transformers")
HIDE = f"""
import sys
from importlib.machinery import PathFinder

class Some(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {HIDDEN} else super().find_spec(name, path, target)

sys.meta_path = [Some if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of all parts without the packages HIDDEN, where another package is called `benchmarks`."""
    folder = tmp_path_factory.mktemp("offline")
    (folder / "site/benchmarks").mkdir(parents=True)
    (folder / "site/benchmarks/__init__.py").touch()
    (folder / "site/sitecustomize.py").write_text(HIDE)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(offline, "OFFLINE", folder / "offline")
        changed.setenv("PYTHONPATH", str(folder / "site"))
        changed.setenv("OMP_NUM_THREADS", "1")  # threads that wait for others take as much time as those that compute
        status = offline.run(folder / "out", ["--tiny"])
    print((folder / "out/log.txt").read_text())
    [file] = folder.glob("out/*-tiny/results.json")
    results = json.loads(file.read_text())
    assert (status, faults(results)) == (0, [])
    return results


def test_every_part_runs_on_a_bare_machine(results):
    assert {name: part["end"] for name, part in results.items()} == dict.fromkeys(PARTS, "")
    assert results["machine"]["flops"].keys() == {"float32", "bfloat16"}
    assert results["machine"]["copy"] > 0
    systems = results["decoding"]["systems"]
    assert systems["ours, bfloat16"]["subwords_per_second"] > systems["ours, bfloat16"]["sentences_per_second"] > 0
    assert "No module named 'ctranslate2'" in systems["CTranslate2, float32"]["reason"]


@pytest.mark.parametrize("model", ["base", "big", "aop1", "parser"])
def test_training_is_measured(results, model):
    part = results[f"training {model}"]
    assert part["systems"]["ours"]["ms"] > 0
    assert 0 <= part["systems"]["ours"]["padding"] < 1
    if model != "aop1":
        assert part["systems"]["torch.nn.Transformer"]["ms"] > 0
        assert part["systems"]["MarianMTModel"] == {"reason": "transformers is not installed"}
    assert part["warm"] == min(2, part["shapes"])
    assert part["unfused"]  # because nothing is compiled on a CPU
    assert part["precision"] == part["should_be_in"] == auto_precision(torch.device("cpu"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for what is prepared."""
    monkeypatch.setattr(offline, "OFFLINE", tmp_path / "offline")
    return tmp_path / "offline"


@pytest.mark.parametrize("status", [0, 1])
def test_wheels_for_another_python_are_prepared(folder, monkeypatch, status):
    (folder / "3.12").mkdir(parents=True)
    (folder / "3.12/old.whl").touch()
    calls = []
    monkeypatch.setattr(offline.subprocess, "run", lambda call: calls.append(call) or CompletedProcess(call, status))
    assert offline.prepare("3.12") == status
    [call] = calls
    assert {"--no-deps", "--python-version", "3.12"} < set(call)
    assert [word.partition("==")[0] for word in call if "==" in word] == sorted(offline.WHEELS)
    assert not list(folder.rglob("*.whl"))


def test_prepared_wheels_are_used(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(offline, "ROOT", tmp_path)
    wheels = folder / "{}.{}".format(*sys.version_info)
    for each in (wheels, folder / "2.7"):
        each.mkdir(parents=True)
    with zipfile.ZipFile(wheels / "extra-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("extra.py", "")
    (folder / "2.7/older-1-py3-none-any.whl").write_text("not read")
    (tmp_path / "benchmarks/gpu").mkdir(parents=True)
    (tmp_path / "benchmarks/__init__.py").touch()  # else a clone on PYTHONPATH, as with `make test`, comes first
    (tmp_path / "benchmarks/gpu/__main__.py").write_text("import extra, sys\nprint(sys.argv[1:])")
    assert offline.run(tmp_path / "out", ["--tiny"]) == 0
    assert (tmp_path / "out/log.txt").read_text() == f"['--output-dir', '{tmp_path / 'out'}', '--tiny']\n"
