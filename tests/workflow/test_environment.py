"""Clones with unusual paths, that have moved, or with files that hide modules; users without a home or a name."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from workflow.dag import environment

ROOT = Path(__file__).parents[2]
TARGET = "results/mine/tokens/ende/dev.ids.npy"


@pytest.fixture(scope="module")
def working(tmp_path_factory, copy_project):
    """A working folder beside a clone whose path has characters that mean something to a shell.

    Files of the user have the names of modules. A script that bash runs first resets PATH.
    """
    folder = tmp_path_factory.mktemp("it's (my) $HOME & more; %, #1") / "work"
    clone = folder.with_name("a clone")
    clone.mkdir()
    copy_project(clone)
    (clone / ".venv").symlink_to(sys.prefix)
    folder.mkdir()
    for name in ("random", "types", "yaml", "numpy"):
        (folder / f"{name}.py").write_text("raise SystemExit('a file of the user ran')\n")
    for name in ("transformer", "workflow"):
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text("raise SystemExit('a file of the user ran')\n")
    (folder / "first.sh").write_text("PATH=/usr/bin:/bin\n")
    for part, count in {"train": 60, "dev": 10, "test": 10}.items():
        for language in ("en", "de"):
            words = "".join(f"the {part} {language} {'ab' * (line % 7 + 1)}\n" for line in range(count))
            (folder / f"{part}.{language}").write_text(words)
    texts = {part: [{"en": f"{part}.en", "de": f"{part}.de"}] for part in ("train", "dev", "test")}
    tasks = {task: {"models": []} for task in ("enfr", "wsj", "semi")}
    tasks["ende"] = {"corpus": "mine", "vocabulary": 40, "models": ["base"]}
    corpora = {"mine": {"origin": "files", "licence": "Apache-2.0", **texts}}
    overlay = {"experiment": "mine", "tasks": tasks, "corpora": corpora, "subwords": {"pairs": 50}}
    (folder / "mine.yaml").write_text(yaml.safe_dump(overlay))
    return folder


def snakemake(folder, clone, *arguments, **variables):
    """Call it in a folder as its script does, without that folder among those where modules are looked for."""
    given = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "BASH_ENV": str(folder / "first.sh"), **variables}
    command = [clone / ".venv/bin/python", "-P", "-m", "snakemake", "--snakefile", clone / "Snakefile", "--cores", "1"]
    command += [TARGET, *arguments, "--configfile", "mine.yaml"]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True)


@pytest.mark.workflow
def test_jobs_run_whatever_the_clone_is_called_and_are_not_run_again_when_it_has_moved(working):
    clone = working.with_name("a clone")
    run = snakemake(working, clone)
    assert run.returncode == 0, run.stdout + run.stderr
    assert (working / TARGET).exists()
    (working.with_name("elsewhere")).mkdir()
    moved = clone.rename(working.with_name("elsewhere") / "clone")
    linked = working.with_name("link")
    linked.symlink_to(moved)
    for place in (moved, linked):
        again = snakemake(working, place, "--dry-run")
        assert "Nothing to be done" in again.stdout + again.stderr
    shutil.move(working, carried := working.with_name("carried"))
    again = snakemake(carried, moved, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr


@pytest.mark.parametrize("home", ["/dev/null", "/proc/1/none"])
def test_what_snakemake_needs_of_the_environment_is_added(monkeypatch, tmp_path, home):
    def nobody():
        raise KeyError("uid not found")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(environment.getpass, "getuser", nobody)
    monkeypatch.setattr(os, "environ", {"HOME": home})
    environment.complete()
    cache = str(tmp_path / ".snakemake/cache")
    assert os.environ == {"HOME": home, "PATH": os.defpath, "USER": str(os.getuid()), "XDG_CACHE_HOME": cache}


@pytest.mark.parametrize("name", ["a:b", "a{b}", "two\nlines", "not UTF-8 \udcff"])
def test_a_folder_in_which_the_workflow_cannot_run_is_named(tmp_path, monkeypatch, name):
    (folder := tmp_path / name).mkdir()
    assert environment.fault_of(folder).startswith(repr(str(folder)))
    monkeypatch.chdir(folder)  # as the working folder it only has to be in UTF-8
    assert bool(environment.fault_of(ROOT)) == ("UTF-8" in name)


@pytest.mark.parametrize("module", ["random.py", "yaml/__init__.py", None])
def test_a_file_in_the_clone_that_hides_a_module_is_named(tmp_path, module):
    for name in ("mine.py", "random.txt", "numpy/data.csv", "transformer/__init__.py", *[module] * bool(module)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    fault = environment.fault_of(tmp_path)
    if module:
        name = module.partition("/")[0]
        told = f"{tmp_path / name} would be used in place of Python's module {Path(name).stem}; rename it"
        assert fault.startswith(told)
    else:
        assert fault is None
