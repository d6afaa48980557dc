"""Test which Python `make` accepts, and how `make .venv/installed` calls pip. Fakes replace all programs."""

import shlex
import shutil
import subprocess
import sys

import pytest

from tests.pages import ROOT

PYTHON = f"""#!/bin/sh
case "$1 $2 $3" in
    "-I workflow/cli/install.py .venv") exec {shlex.quote(sys.executable)} "$@" ;;
    "-m venv .venv") mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
    "-m pip config") cat pip.conf ;;
    "-m pip install") echo "$*" >> calls; cat said; case "$*" in *"$(cat fails)"*) exit 1 ;; esac ;;
esac
"""
LINES = [
    "installing the packages of requirements.txt and PyTorch into .venv: 1.5 GB (5 GB with CUDA), a few minutes; "
    "log: .venv/install.log",
    "  installed in 0 s",
    "no NVIDIA driver: PyTorch without CUDA (docs/install.md says how to install it with CUDA)",
    "  installed in 0 s",
    "  installed in 0 s",
]
CPU = "--no-deps --index-url https://download.pytorch.org/whl/cpu --requirement requirements-torch.txt"


@pytest.fixture
def install(tmp_path):
    """Runs `make .venv/installed` in a folder. Returns what it did, and the calls of pip.

    Pip says `said`, and fails if `fails` is among its arguments.
    """

    def run(system="Linux", tools=(), config="", said="", fails="nothing"):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("mkdir", "cp", "cat", "grep", "touch"):
            (folder / name).symlink_to(shutil.which(name))
        programs = {"python3": PYTHON, "uname": f"#!/bin/sh\necho {system}\n", **dict.fromkeys(tools, "")}
        for name, text in programs.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        shutil.copy(ROOT / "Makefile", tmp_path)
        for name in ("requirements.txt", "requirements-torch.txt"):
            (tmp_path / name).touch()
        (tmp_path / "pip.conf").write_text(config)
        (tmp_path / "said").write_text(said)
        (tmp_path / "fails").write_text(fails)
        (tmp_path / "workflow/cli").mkdir(parents=True)
        shutil.copy(ROOT / "workflow/cli/install.py", tmp_path / "workflow/cli")
        call = [shutil.which("make"), ".venv/installed"]
        made = subprocess.run(call, cwd=tmp_path, env={"PATH": str(folder)}, capture_output=True, text=True)
        assert (tmp_path / ".venv/installed").exists() == (made.returncode == 0)
        return made, (tmp_path / "calls").read_text().splitlines()

    return run


@pytest.mark.parametrize("fails", ["nothing", "pytorch.org"])
def test_linux_without_a_gpu_installs_the_pins_and_then_torch_without_cuda(install, tmp_path, fails):
    said = "Collecting sympy==1.14.0\n  Downloading sympy-1.14.0-py3-none-any.whl (6.3 MB)\n"
    made, (pins, torch, from_pypi) = install(fails=fails, said=said)
    assert pins.endswith("--requirement requirements.txt")
    assert "--timeout 5 --retries 0" in torch
    assert CPU in torch
    assert from_pypi.endswith("--requirement requirements-torch.txt")
    assert made.returncode == 0
    assert (tmp_path / ".venv/install.log").read_text() == 3 * said
    if fails == "nothing":
        assert (made.stdout.splitlines(), made.stderr) == (LINES, "")
    else:
        assert "PyTorch's index cannot be used: PyTorch as PyPI has it" in made.stdout


def test_what_pip_said_is_shown_if_it_fails(install):
    said = "".join(f"Collecting package-{number}\n" for number in range(99))
    made, _ = install(tools=["sbatch"], said=said, fails="requirements.txt")
    assert made.returncode == 2
    assert made.stdout.splitlines() == LINES[:1]
    shown = made.stderr.splitlines()
    assert [shown[0], shown[40]] == ["Collecting package-59", "pip failed; all of its messages: .venv/install.log"]


@pytest.mark.parametrize(
    "machine",
    [
        {"system": "Darwin"},
        {"tools": ["nvidia-smi"]},
        {"tools": ["sbatch"]},
        {"config": ":env:.index-url='https://example.org/simple'\n"},
        {"config": "global.find-links='/wheels'\n"},
    ],
    ids=str,
)
def test_other_machines_let_pip_choose_the_build_of_torch(install, machine):
    _, calls = install(**machine)
    assert [call.split()[-2:] for call in calls] == [
        ["--requirement", name] for name in ("requirements.txt", "requirements-torch.txt")
    ]


@pytest.mark.parametrize(("version", "accepted"), [((3, 10, 9), False), ((3, 13, 9), True), ((3, 14, 0), False)])
def test_a_version_of_python_that_the_pins_do_not_support_is_refused(tmp_path, version, accepted):
    python = tmp_path / "python"
    check = f'exec {shlex.quote(sys.executable)} -c "import sys; sys.version_info = {version}; exec(sys.argv[1])" "$2"'
    python.write_text(f'#!/bin/sh\n[ "$1" = -c ] && {check}\necho "$@"\n')
    python.chmod(0o755)
    made = subprocess.run(["make", "report", f"PYTHON={python}"], cwd=ROOT, capture_output=True, text=True)
    assert ("-m workflow.cli.reproduce report" in made.stdout.splitlines()) == accepted
    needed = "Python 3.11, 3.12 or 3.13 is needed: make PYTHON=python3.13"
    assert (needed in made.stderr.splitlines()) == (not accepted)


def test_the_page_on_installation_has_the_pinned_torch():
    pin = (ROOT / "requirements-torch.txt").read_text().strip()
    assert f"    pip install {pin} --no-deps --index-url" in (ROOT / "docs/install.md").read_text()
