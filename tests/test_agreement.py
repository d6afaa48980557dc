"""What `pytest --skipped` runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.agreement(witness="EVALB")
def test_a():
    pass

@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize("number", [1, 2])
def test_b(number):
    if SKIPPED:
        pytest.skip("PyTorch is ill")

def test_c():
    if SKIPPED:
        pytest.skip("this is no test of agreement")

def test_d():
    pass
"""
FILE = """
import pytest

if SKIPPED:
    pytest.importorskip("no_such_package")

def test_e():
    pass
"""


@pytest.mark.parametrize("processes", [0, 2])
def test_what_was_skipped_and_the_tests_of_agreement_can_be_run_after_all_others(tmp_path, processes):
    def lines(skipped, *options):
        (tmp_path / "test_it.py").write_text(f"SKIPPED = {skipped}\n{TESTS}")
        (tmp_path / "test_file.py").write_text(f"SKIPPED = {skipped}\n{FILE}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "agreement", f"-n{processes}", *options]
        given = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
        done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = agreement\n")
    first = lines(True)
    assert first[-1].startswith("2 passed, 4 skipped")
    assert "1 of 3 tests of agreement ran; agreement not tested: test_it.py::test_b (2 times: PyTorch is ill)" in first
    again = lines(False, "--skipped")
    assert again[-1].startswith("5 passed")  # not test_d
    assert "all 3 tests of agreement ran" in again
    assert lines(False, "--skipped")[-1].startswith("3 passed")  # nothing was skipped
