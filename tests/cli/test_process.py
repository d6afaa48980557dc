"""Commands as processes: their interrupts, their standard streams and their environment."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from commands import arguments, in_a_process

from transformer.cli.main import main

ROOT = Path(__file__).parents[2]
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
LINES = "the cat .\na dog\n"


def in_a_shell(line, redirections, text=LINES, **environment):
    """Run a command with redirections. Returns the finished process."""
    command = [sys.executable, "-m", "transformer", *line]
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirections}', "bash", *command],
        input=text,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def translated(house):
    """The finished command that translates the lines of `in_a_shell`. It prints a message about empty translations."""
    return in_a_shell([*arguments("translate", package=house.package), "--nbest"], "")


def workers_at_work(process):
    """The processes of workers, when they have started."""
    workers = []
    while len(workers) < 2 and process.poll() is None:
        children = psutil.Process(process.pid).children()
        workers = [each for each in children if "spawn_main" in " ".join(each.cmdline())]
        time.sleep(0.01)
    return workers


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["the command", "its group"])
def test_an_interrupt_ends_workers_in_the_middle_of_their_lines(house, to):
    line = arguments("translate", package=house.package, workers=2, beam=200)
    with in_a_process(line, **PIPES, start_new_session=True) as process:
        process.stdin.write("the cat . a dog . the cat . a dog .\n" * 4000)
        process.stdin.close()
        workers = workers_at_work(process)
        while any(worker.cpu_times().user < 2 for worker in workers):
            time.sleep(0.01)
        start = time.monotonic()
        to(process.pid, signal.SIGINT)
        output, errors = process.stdout.read(), process.stderr.read()  # until the workers have closed them
    assert time.monotonic() - start < 5
    assert (process.returncode, output) == (130, "")
    assert errors.splitlines()[-1] == "interrupted"
    assert "Traceback" not in errors
    assert not any(worker.is_running() for worker in workers)


def test_a_killed_worker_ends_the_command_with_one_line(house):
    line = arguments("translate", package=house.package, workers=2, beam=200)
    with in_a_process(line, **PIPES) as process:
        process.stdin.write("the cat . a dog . the cat . a dog .\n" * 4000)
        process.stdin.close()
        workers_at_work(process)[0].kill()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert errors == "error: --workers 2: a process was ended by SIGKILL, perhaps because memory ran out; use fewer\n"


def test_an_interrupt_before_the_work_ends_the_command_with_one_line(house):
    with in_a_process(arguments("describe", package=house.package), **PIPES) as process:
        while not any("libtorch" in each.path for each in psutil.Process(process.pid).memory_maps()):
            time.sleep(0.001)  # until PyTorch is loading
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    "redirections", ["2>&-", "2>/dev/full", "2> >(true)"], ids=["closed", "full", "without reader"]
)
def test_work_goes_on_without_standard_error(house, tmp_path, translated, redirections):
    """The command prints a message, and has open files that could get it."""
    assert translated.stderr
    outputs = {"attention": tmp_path / "page.html", "record": tmp_path / "record.json"}
    finished = in_a_shell([*arguments("translate", package=house.package, **outputs), "--nbest"], redirections)
    assert (finished.returncode, finished.stdout) == (0, translated.stdout)
    assert all(path.stat().st_size for path in outputs.values())
    finished = in_a_shell(arguments("translate", package=tmp_path), redirections)
    assert (finished.returncode, finished.stdout) == (1, "")


def test_messages_do_not_get_into_translations_if_standard_error_is_closed(house, tmp_path):
    line = arguments("encode", subwords=house.subwords, **house.sides("dev"), output=tmp_path / "dev")
    line += ["--threads", "2"]
    assert in_a_shell(line, "<&- >&- 2>&-").returncode == 0
    assert main(arguments("encode", subwords=house.subwords, **house.sides("dev"), output=tmp_path / "same")) == 0
    assert (tmp_path / "dev.ids.npy").read_bytes() == (tmp_path / "same.ids.npy").read_bytes()


@pytest.mark.parametrize("command", ["describe", "translate", "perplexity"])
def test_closed_standard_output_is_told_before_the_work(house, command):
    sides = house.sides("dev") if command == "perplexity" else {}
    finished = in_a_shell(arguments(command, package=house.package, **sides), ">&-")
    assert finished.stderr == "error: standard output is closed; open it, or redirect it with > FILE\n"
    assert finished.returncode == 1


def test_closed_standard_input_is_told_although_other_streams_are_closed_too(house, tmp_path):
    finished = in_a_shell(arguments("translate", package=house.package, record=tmp_path / "record"), "<&-")
    assert finished.stderr == "error: standard input is closed; give the lines with < FILE\n"
    assert in_a_shell(arguments("translate", package=house.package), "<&- >&- 2>&-").returncode == 1
    assert not list(tmp_path.iterdir())


def test_help_that_cannot_be_written_is_told():
    for redirection, message in ((">&-", "is closed"), (">/dev/full", "cannot be written (No space left on device)")):
        finished = in_a_shell(["--help"], redirection)
        assert finished.stderr.startswith(f"error: standard output{':' * ('full' in redirection)} {message}")
        assert finished.returncode == 1


@pytest.mark.parametrize(
    "environment",
    [
        {"OMP_NUM_THREADS": "all"},
        {"PYTHONOPTIMIZE": "2"},
        {"PYTHONWARNINGS": "error"},
        {"PYTHONUNBUFFERED": "1", "COLUMNS": "x", "TERM": "dumb", "TMPDIR": "/nowhere"},
    ],
    ids=str,
)
def test_the_environment_changes_neither_translations_nor_messages(house, translated, environment):
    finished = in_a_shell([*arguments("translate", package=house.package), "--nbest"], "", **environment)
    same = (translated.returncode, translated.stdout, translated.stderr)
    assert (finished.returncode, finished.stdout, finished.stderr) == same


def test_a_missing_package_is_named_with_the_remedy():
    """Without site-packages (-S), Python finds none of our packages."""
    command = [sys.executable, "-S", "-m", "transformer", "translate", "--package", "none"]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert run.returncode == 1
    assert re.fullmatch(r"error: No module named '\w+': .* lacks it; activate the environment .*\n", run.stderr)


PROGRAM = "import sys\nfrom transformer.cli.main import main\nif __name__ == '__main__':\n    sys.exit(main())\n"


@pytest.mark.parametrize("installed", [False, True])
def test_files_of_the_working_folder_take_the_place_of_no_module(house, tmp_path, translated, installed):
    """Neither in the command nor in its workers. PYTHONPATH ends with a colon, which means the working folder, too."""
    early = subprocess.check_output([sys.executable, "-c", "import runpy, sys; print(*sys.modules)"], text=True).split()
    every = {*sys.stdlib_module_names, *(path.stem for path in Path(pytest.__file__).parents[1].iterdir())}
    (folder := tmp_path / "folder").mkdir()
    for name in every - {*early}:
        (folder / f"{name}.py").write_text("raise SystemExit(f'{__file__} was imported')")
    assert {"numpy", "copy", "email", "sentencepiece", "random", "tempfile"} <= {path.stem for path in folder.iterdir()}
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, *([tmp_path / "program.py"] if installed else ["-m", "transformer"])]
    command += [*arguments("translate", package=house.package, workers=2), "--nbest"]
    places = {"PYTHONPATH": f"{ROOT}" + ":" * (not installed), "OMP_NUM_THREADS": "1"}
    text = {"input": LINES, "capture_output": True, "text": True}
    run = subprocess.run(command, cwd=folder, env=os.environ | places, **text)
    assert (run.returncode, run.stdout, run.stderr) == (0, translated.stdout, translated.stderr)


def test_the_clone_is_a_working_folder_whatever_its_name(tmp_path):
    """Nothing else says where our modules are."""
    (tmp_path / "clone").symlink_to(ROOT)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for folder in (ROOT, tmp_path / "clone"):
        command = [sys.executable, "-m", "transformer", "--help"]
        assert subprocess.run(command, cwd=folder, env=environment, capture_output=True).returncode == 0


def test_a_working_folder_that_was_removed_is_told(tmp_path, monkeypatch, refused):
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    refused(arguments("describe", package="package"), "the working folder was removed")


def test_a_number_of_threads_that_openmp_would_complain_about_is_left_out():
    code = "import os; from transformer.cli.process import prepare; prepare(); print(os.environ.get('OMP_NUM_THREADS'))"
    for kept in ("1", "16", "4,2"):
        environment = {**os.environ, "OMP_NUM_THREADS": kept}
        assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment).decode() == f"{kept}\n"
    for value in ("", "0", "all", "-1", "1.5", "1;2", "2,", ",2", "4,0", "9" * 30):
        environment = {**os.environ, "OMP_NUM_THREADS": value}
        assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment) == b"None\n"


def test_help_is_the_same_if_python_drops_docstrings(tmp_path):
    for line in (["--help"], ["translate", "--help"]):
        whole = in_a_shell(line, "", PYTHONPYCACHEPREFIX=str(tmp_path))
        assert in_a_shell(line, "", PYTHONOPTIMIZE="2", PYTHONPYCACHEPREFIX=str(tmp_path)).stdout == whole.stdout
        assert "Translate standard input to standard output" in whole.stdout


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (
            "-n 10",
            "error: --workers 2: cannot start: too many open files; raise the limit (ulimit -n), or give --workers 1\n",
        ),
        ("-v 300000", "memory ran out; free some, or raise the limit (ulimit -v)\n"),
    ],
)
def test_a_limit_of_the_system_is_named_with_its_remedy(house, tmp_path, limit, message):
    """The open record is not blamed."""
    line = arguments("translate", package=house.package, workers=2, record=tmp_path / "record")
    command = [sys.executable, "-m", "transformer", *line]
    finished = subprocess.run(
        ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *command],
        input="the cat .\na dog .\n",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert finished.returncode == 1
    assert finished.stderr.endswith(message)
    assert len(finished.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())
