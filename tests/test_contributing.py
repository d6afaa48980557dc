"""The first changes of CONTRIBUTING.md: its diffs apply to a copy of the project, and its commands succeed there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text().partition("## Your first change")[2].partition("\n## ")[0]
STEPS = {
    name: re.findall(r"^```(diff|sh)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    for name, section in re.findall(r"^### (.*?)\n(.*?)(?=^### |\Z)", TEXT, re.MULTILINE | re.DOTALL)
}


def run(command, folder, text=None):
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def change(tmp_path, copy_project):
    """Make one of the changes in a copy of the project; returns what its commands print."""

    def make(name):
        copy_project(tmp_path)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        printed = ""
        for kind, text in STEPS[name]:
            if kind == "diff":
                run(["git", "apply", "-"], tmp_path, text)
            else:
                printed += run(["bash", "-euo", "pipefail", "-c", text], tmp_path)
        return printed

    return make


def test_each_change_has_diffs_and_commands():
    assert list(STEPS) == ["A row", "A metric", "A table", "A corpus"]
    assert all({kind for kind, _ in steps} == {"diff", "sh"} for steps in STEPS.values())


@pytest.mark.workflow
def test_a_row(change):
    printed = change("A row")
    assert "| ende   | A-h2 " in printed
    assert re.search(r"^train +\d+$", printed, re.MULTILINE)


@pytest.mark.workflow
def test_a_metric(change):
    printed = change("A metric")
    assert "[100%]" in printed
    assert re.search(r"^score +\d+$", printed, re.MULTILINE)


@pytest.mark.workflow
def test_a_table(change):
    printed = change("A table")
    assert re.search(r"^write_learning_rates +1$", printed, re.MULTILINE)
    assert "| base " in printed
    assert "**Learning rates**" in printed


@pytest.mark.workflow
def test_a_corpus(change, tmp_path):
    for part in ("train", "dev", "test"):
        for language in ("en", "de"):
            (tmp_path / f"{part}.{language}").write_text(f"{part} {language} one .\n")
    printed = change("A corpus")
    assert '"description": "Proverbs, English with their German translations"' in printed
    assert re.search(r"^train +1$", printed, re.MULTILINE)
