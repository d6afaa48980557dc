"""Run all parts of `make gpu` at tiny sizes like on a machine without internet, where packages are missing."""

import json
import os
import re
import sys
import tarfile
import time
import zipfile
from subprocess import CompletedProcess

import pytest
import torch

from benchmarks.gpu import offline
from benchmarks.gpu.__main__ import PARTS
from benchmarks.gpu.multi30k import OWN
from benchmarks.gpu.report import faults
from transformer.corpora.fetch import Download, local_path
from transformer.experiment.config import read_experiment
from transformer.support.device import auto_precision
from transformer.support.files import sha256

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
def run(tmp_path_factory):
    """Runs `benchmarks.gpu` without the packages HIDDEN, where another package is called `benchmarks`.

    Returns the exit status and the folder of the results.
    """
    folder = tmp_path_factory.mktemp("offline")
    (folder / "site/benchmarks").mkdir(parents=True)
    (folder / "site/benchmarks/__init__.py").touch()
    (folder / "site/sitecustomize.py").write_text(HIDE)

    def start():
        with pytest.MonkeyPatch.context() as changed:
            changed.setattr(offline, "OFFLINE", folder / "offline")
            changed.setattr(offline, "COMPILED", folder / "compiled")
            changed.setenv("PYTHONPATH", str(folder / "site"))
            return offline.run(folder / "out", 3600.0, ["--tiny"]), folder / "out"

    return start


@pytest.fixture(scope="module")
def results(run):
    """The results of all parts."""
    status, folder = run()
    print((folder / "log.txt").read_text())
    [file] = folder.glob("*-tiny/results.json")
    results = json.loads(file.read_text())
    assert (status, faults(results)) == (0, [])
    return results


def test_every_part_runs_on_a_bare_machine(results):
    assert {name: part["end"] for name, part in results.items()} == dict.fromkeys((part.name for part in PARTS), "")


def test_the_machine_is_measured(results):
    machine = results["machine"]
    assert machine["device"]
    assert machine["flops"].keys() == {"float32", "bfloat16"}
    assert machine["copy"] > 0


@pytest.mark.parametrize("model", ["base", "big", "aop1", "parser"])
def test_training_is_measured(results, model):
    part = results[f"training {model}"]
    assert part["systems"]["ours"]["ms"] > 0
    assert 0 <= part["systems"]["ours"]["padding"] < 1
    if model != "aop1":
        assert part["systems"]["torch.nn.Transformer"]["ms"] > 0
        assert part["systems"]["MarianMTModel"] == {"reason": "transformers is not installed"}
    assert part["warm"] == part["shapes"]
    assert part["unfused"]  # because nothing is compiled on a CPU
    assert part["precision"] == part["should_be_in"] == auto_precision(torch.device("cpu"))


def test_decoding_is_measured(results):
    systems = results["decoding"]["systems"]
    assert systems["ours, bfloat16"]["subwords_per_second"] > systems["ours, bfloat16"]["sentences_per_second"] > 0
    assert systems["CTranslate2, float32"] == {"reason": "ctranslate2 is not installed"}


def test_multi30k_is_scored_without_sacremoses(results):
    assert results["multi30k"]["sacrebleu"] >= 0
    assert results["multi30k"]["missing"] == "sacremoses"


def test_tests_are_collected_and_skipped_where_there_is_no_gpu(results):
    assert re.fullmatch(r"\d\d skipped in .*", results["tests"]["summary"])


@pytest.fixture
def offline_folder(tmp_path, monkeypatch):
    """An empty folder for what is prepared, and one for compiled code."""
    monkeypatch.setattr(offline, "OFFLINE", tmp_path / "offline")
    monkeypatch.setattr(offline, "COMPILED", tmp_path / "compiled")
    return tmp_path / "offline"


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A mirror with all files of Multi30k, whose sizes and SHA-256 are declared. The clone may have others."""
    experiment = read_experiment([OWN])
    monkeypatch.chdir(tmp_path)
    for number, url in enumerate(experiment.files_of("ende")):
        path = tmp_path / "mirror" / local_path(url)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}")
        given = Download(bytes=1, sha256=sha256(path))
        experiment.downloads[url] = given
    monkeypatch.setattr("transformer.experiment.config.read_experiment", lambda _: experiment)
    monkeypatch.setenv("TRANSFORMER_MIRROR", str(tmp_path / "mirror"))
    return tmp_path / "mirror"


def test_wheels_for_another_python_and_the_text_are_prepared(offline_folder, mirror, monkeypatch, capsys):
    (offline_folder / "wheels/3.12").mkdir(parents=True)
    (offline_folder / "wheels/3.12/old.whl").touch()
    calls = []
    monkeypatch.setattr(offline.subprocess, "run", lambda call: calls.append(call) or CompletedProcess(call, 0))
    assert offline.prepare("3.12") == 0
    [call] = calls
    assert {"--no-deps", "--python-version", "3.12"} < set(call)
    assert [word.partition("==")[0] for word in call if "==" in word] == sorted(offline.WHEELS)
    assert not list(offline_folder.rglob("*.whl"))
    copies, originals = (
        {path.relative_to(each) for path in each.rglob("*.gz")} for each in (offline_folder / "mirror", mirror)
    )
    assert copies == originals
    assert len(copies) == 6
    assert "offline: 0.0 MB\n" in capsys.readouterr().out


def test_what_cannot_be_prepared_is_named(offline_folder, mirror, monkeypatch, capsys):
    for path in mirror.rglob("*.gz"):
        path.write_text("another text")
    monkeypatch.setattr(offline.subprocess, "run", lambda call: CompletedProcess(call, 1))
    assert offline.prepare("3.12") == 1
    printed = capsys.readouterr()
    assert (
        printed.out
        == f"{offline_folder}: 0.0 MB; the wheels could not be fetched; the text of Multi30k could not be fetched\n"
    )
    assert "12 bytes, expected 1" in printed.err


def test_prepared_wheels_and_text_are_used(offline_folder, tmp_path, monkeypatch):
    monkeypatch.setattr(offline, "ROOT", tmp_path)
    wheels = offline_folder / "wheels/{}.{}".format(*sys.version_info)
    for folder in (wheels, offline_folder / "mirror", offline_folder / "wheels/2.7"):
        folder.mkdir(parents=True)
    with zipfile.ZipFile(wheels / "extra-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("extra.py", "")
    (offline_folder / "wheels/2.7/older-1-py3-none-any.whl").write_text("not read")
    (tmp_path / "benchmarks/gpu").mkdir(parents=True)
    (tmp_path / "benchmarks/__init__.py").touch()  # else a clone on PYTHONPATH, as with `make test`, comes first
    (tmp_path / "benchmarks/gpu/__main__.py").write_text(
        "import extra, os, sys\nprint(sys.argv[1:], *map(os.environ.get, ['TRANSFORMER_MIRROR', 'TRITON_CACHE_DIR']))"
    )
    assert offline.run(tmp_path / "out", 30.0, ["--tiny"]) == 0
    log = (tmp_path / "out/log.txt").read_text()
    assert f"['--output-dir', '{tmp_path / 'out'}', '--seconds', '9." in log
    assert f"'--tiny'] {offline_folder / 'mirror'} {tmp_path / 'compiled/triton'}" in log


def test_compiled_code_is_returned_and_used_by_the_next_call(offline_folder, tmp_path, capsys):
    kernels = tmp_path / "compiled/triton/of_a_kernel"
    kernels.mkdir(parents=True)
    for name in ("kernel.cubin", "kernel.json", "kernel.ptx"):
        (kernels / name).write_text(name)
    archive = offline_folder / offline.PACKED
    offline_folder.mkdir()
    offline.pack(archive, time.time(), time.time() + 9)
    for path in kernels.iterdir():
        path.unlink()
    offline.unpack(archive)
    assert {path.name: path.read_text() for path in kernels.iterdir()} == {
        name: name for name in ("kernel.cubin", "kernel.json")
    }
    assert [path.name for path in offline_folder.iterdir()] == [offline.PACKED]
    archive.write_bytes(archive.read_bytes()[:99])
    offline.unpack(archive)
    assert "everything is compiled anew" in capsys.readouterr().err


def test_compiled_code_of_another_user_is_not_run(offline_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(SystemExit, match=f"^error: {tmp_path}/compiled is another user's; set TMPDIR"):
        offline.run(tmp_path / "out", 30.0, ["--tiny"])
    assert not offline_folder.exists()


@pytest.mark.parametrize(
    ("name", "kind"), [("../out", tarfile.REGTYPE), ("/tmp/out", tarfile.REGTYPE), ("link", tarfile.SYMTYPE)]
)
@pytest.mark.usefixtures("offline_folder")
def test_an_archive_that_would_leave_its_folder_is_not_unpacked(tmp_path, capsys, name, kind):
    with tarfile.open(tmp_path / offline.PACKED, "w:xz") as archive:
        archive.addfile(tarfile.TarInfo("good"))
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, "good"
        archive.addfile(member)
    offline.unpack(tmp_path / offline.PACKED)
    assert f"{name} is no file inside the archive's folder; everything is compiled anew" in capsys.readouterr().err
    assert not (tmp_path / "compiled/good").exists()


@pytest.mark.usefixtures("offline_folder")
def test_what_was_compiled_first_in_this_call_is_kept_if_not_all_fits(tmp_path, monkeypatch, capsys):
    for number, name in enumerate(["old", "first", "second", "third"]):
        path = tmp_path / "compiled" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(os.urandom(300_000))
        os.utime(path, (number, number))
    monkeypatch.setattr(offline, "MOST", 400_000)
    offline.pack(tmp_path / offline.PACKED, 1.0, time.time() + 9)
    with tarfile.open(tmp_path / offline.PACKED) as archive:
        assert archive.getnames()[:2] == ["first", "second"]
        kept = len(archive.getnames())
    assert kept < 4
    assert f"{kept} of 4 files of compiled code" in capsys.readouterr().out
    offline.pack(tmp_path / offline.PACKED, 1.0, time.time())
    assert "0 of 4 files" in capsys.readouterr().out
