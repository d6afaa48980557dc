"""What pytest says of tests of agreement, in one process and in several, what runs again, and what `.ci/run` prints."""

import os
import re
import shutil
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

@pytest.mark.agreement(witness="SciPy")
def test_d():
    if SKIPPED:
        pytest.importorskip("no_such_package")

@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize("number", [1, 2])
def test_b(number):
    if SKIPPED:
        pytest.skip("PyTorch is ill")

def test_c():
    if SKIPPED:
        pytest.skip("this is no test of agreement")

def test_e():
    pass
"""
FILE = """
import pytest

if SKIPPED:
    pytest.importorskip("no_such_package")

def test_f():
    pass
"""
MAKE = """#!/bin/sh
echo "make $1"
if [ "$1" = test-skipped ]; then echo "all 3 tests of agreement ran"; echo "4 passed"; fi
[ "$1" != "$FAILS" ]
"""


@pytest.fixture
def lines(tmp_path):
    """The lines that pytest prints for TESTS."""

    def run(skipped, processes, *options):
        (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = agreement\n")
        (tmp_path / "test_it.py").write_text(f"SKIPPED = {skipped}\n{TESTS}")
        (tmp_path / "test_file.py").write_text(f"SKIPPED = {skipped}\n{FILE}")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "agreement", f"-n{processes}", *options]
        given = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
        done = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("processes", [0, 2])
def test_skipped_tests_of_agreement_are_named_with_the_reason(lines, processes):
    found = lines(skipped=True, processes=processes)
    assert "tests that ran: EVALB 1" in found
    [line] = [line for line in found if "tests of agreement ran" in line]
    head, _, named = line.partition("; agreement not tested: ")
    assert head == "1 of 4 tests of agreement ran"
    missing = "could not import 'no_such_package': No module named 'no_such_package'"
    assert set(named.split("; ")) == {
        "test_it.py::test_b (2 times: PyTorch is ill)",
        f"test_it.py::test_d ({missing})",
    }


def test_tests_of_agreement_that_all_ran_are_counted(lines):
    found = lines(skipped=False, processes=2)
    assert "tests that ran: EVALB 1, PyTorch 2, SciPy 1" in found
    assert "all 4 tests of agreement ran" in found


@pytest.mark.parametrize("processes", [0, 2])
def test_what_was_skipped_and_the_tests_of_agreement_can_be_run_after_all_others(lines, processes):
    assert lines(True, processes)[-1].startswith("2 passed, 5 skipped")
    assert lines(False, processes, "--skipped")[-1].startswith("6 passed")  # not test_e
    assert lines(False, processes, "--skipped")[-1].startswith("4 passed")  # nothing was skipped


def test_tests_that_need_another_implementation_are_marked_and_no_whole_file_is_skipped():
    needs = re.compile(r"importorskip\(\"(transformers|x_transformers)")
    paths = (ROOT / "tests").rglob("test_*.py")
    parts = ((path, part) for path in paths for part in re.split(r"\n\n\n", path.read_text()))
    needing = [(path, part) for path, part in parts if needs.search(part)]
    assert needing
    for path, part in needing:
        assert "def test_" in part, path
        assert part.startswith("@pytest.mark.agreement(witness="), path


def test_witnesses_are_pinned_beside_the_other_pins():
    witnesses, *others = (
        dict(line.split("==") for line in (ROOT / name).read_text().splitlines() if not line.startswith("#"))
        for name in ("tests/witnesses.txt", "requirements.txt", "docs/requirements.txt")
    )
    assert {"transformers", "x-transformers", "ctranslate2"} <= witnesses.keys()
    assert not witnesses.keys() & others[0].keys()
    assert all(others[1].get(name, version) == version for name, version in witnesses.items())


@pytest.fixture
def ci(tmp_path):
    """Runs `.ci/run` with fakes of all programs. Returns its exit status and what it prints."""

    def run(fails="", user=0):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("bash", "dirname", "grep", "mktemp", "rm", "tail", "tee"):
            (folder / name).symlink_to(shutil.which(name))
        programs = {"make": MAKE, "id": f"#!/bin/sh\necho {user}\n", "apt-get": '#!/bin/sh\necho "apt-get $*"\n'}
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        given = {"PATH": str(folder), "FAILS": fails, "TRANSFORMER_MIRROR": "mirror"}
        done = subprocess.run([shutil.which("bash"), ROOT / ".ci/run"], env=given, capture_output=True, text=True)
        return done.returncode, done.stdout.splitlines()

    return run


def test_ci_runs_the_tests_of_a_fresh_clone_before_it_installs_more_and_ends_with_which_agreement_was_tested(ci):
    status, lines = ci()
    assert status == 0
    made = [line for line in lines if line.startswith("make")]
    targets = ("lint", "test", "site", ".venv/witnesses", "test-skipped", "test-cluster")
    assert made == [f"make {target}" for target in targets]
    assert lines[-2:] == ["make test-cluster", "all 3 tests of agreement ran"]


def test_ci_goes_on_if_packages_cannot_be_had_and_says_so(ci):
    status, lines = ci(fails=".venv/witnesses", user=1000)
    assert (status, lines[-1]) == (0, "all 3 tests of agreement ran")
    assert "the packages of tests/witnesses.txt cannot be installed" in lines
    assert not any("apt-get" in line for line in lines)


def test_as_root_ci_installs_a_browser_and_a_compiler_after_the_tests_of_a_fresh_clone(ci):
    status, lines = ci()
    assert status == 0
    install = "apt-get --quiet install --yes --no-install-recommends chromium g++ python3-dev"
    assert lines.index("make test") < lines.index(install) < lines.index("make test-skipped")


@pytest.mark.parametrize("target", ["lint", "site", "test", "test-skipped", "test-cluster"])
def test_ci_fails_with_each_of_its_parts(ci, target):
    status, lines = ci(fails=target)
    assert status != 0
    assert lines[-1] != "all 3 tests of agreement ran"
