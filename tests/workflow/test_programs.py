import os
import subprocess

import pytest

from workflow.lib.programs import find_first_in


@pytest.fixture
def folder(tmp_path):
    """A folder with a program `python`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "python").write_text("#!/bin/sh\necho ours\n")
    (folder / "python").chmod(0o755)
    return folder


@pytest.mark.parametrize("hidden_by", ["PATH", "BASH_ENV", "BASH_FUNC_python%%"])
def test_jobs_find_programs_whatever_the_environment_hides(folder, tmp_path, monkeypatch, hidden_by):
    other = tmp_path / "other"
    other.mkdir()
    (other / "python").write_text("#!/bin/sh\necho other\n")
    (other / "python").chmod(0o755)
    (tmp_path / "file").write_text(f"PATH={other}:$PATH")
    values = {"PATH": f"{other}:{os.environ['PATH']}", "BASH_ENV": tmp_path / "file"}
    monkeypatch.setenv("PATH", os.environ["PATH"])  # so that it is restored
    monkeypatch.setenv(hidden_by, str(values.get(hidden_by, "() { echo other; }")))
    assert subprocess.check_output(["bash", "-c", "python"]) == b"other\n"
    find_first_in(folder)
    assert subprocess.check_output(["bash", "-c", "python"]) == b"ours\n"
