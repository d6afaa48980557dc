"""The first changes of CONTRIBUTING.md: its diffs apply to a copy of the project, and its commands succeed there."""

import re
import shutil

import pytest

from tests.pages import ROOT, follow, sections

STEPS = sections("CONTRIBUTING.md", "Your first change")


@pytest.fixture
def change(tmp_path, copy_project):
    """Make one of the changes in a copy of the project; returns what its commands print."""

    def make(name):
        copy_project(tmp_path)
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        return follow(STEPS[name], tmp_path)

    return make


def test_each_change_has_diffs_and_commands():
    assert list(STEPS) == ["A row", "A metric", "A table"]
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
    assert re.search(r"^write_warmups +1$", printed, re.MULTILINE)
    assert "| base " in printed
    assert "**Warmups**" in printed
