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

from transformer.decoding.translate import LINES

ROOT = Path(__file__).parents[2]
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
FULL = "error: standard output: cannot be written (No space left on device)"
TEXT = "the cat . a dog . the cat . a dog .\n" * 4000


def in_a_shell(line, redirections):
    """Run a command with redirections. Returns the finished process."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirections}', "bash", sys.executable, "-m", "transformer", *line],
        input="the cat .\na dog\n",
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def workers_at_work(process):
    """The processes of workers, when they have started."""
    workers = []
    while len(workers) < 2 and process.poll() is None:
        children = psutil.Process(process.pid).children()
        workers = [each for each in children if "spawn_main" in " ".join(each.cmdline())]
        time.sleep(0.01)
    return workers


def test_ctrl_c_ends_workers_in_the_middle_of_their_lines(house):
    line = arguments("translate", package=house.package, workers=2, beam=200)
    with in_a_process(line, **PIPES, start_new_session=True) as process:
        process.stdin.write(TEXT)
        process.stdin.close()
        workers = workers_at_work(process)
        while any(worker.cpu_times().user < 2 for worker in workers):
            time.sleep(0.01)
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        output, errors = process.stdout.read(), process.stderr.read()  # until the workers have closed them
    assert time.monotonic() - start < 5
    assert (process.returncode, output) == (130, "")
    assert errors.splitlines()[-1] == "interrupted"
    assert "Traceback" not in errors
    assert not any(worker.is_running() for worker in workers)


def test_an_interrupt_before_the_work_ends_the_command_with_one_line(house):
    with in_a_process(arguments("describe", package=house.package), **PIPES) as process:
        while not any("libtorch" in each.path for each in psutil.Process(process.pid).memory_maps()):
            time.sleep(0.001)  # until PyTorch is loading
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert (process.returncode, output, errors) == (130, "", "interrupted\n")


def test_an_interrupt_ends_translation_with_one_line_after_the_finished_lines(house, tmp_path):
    line = [*arguments("translate", package=house.package, beam=1, log_probabilities=tmp_path / "logp"), "--nbest"]
    with in_a_process(line, **PIPES) as process:
        process.stdin.write("the cat .\n" + "\n" * (LINES - 1) + "a dog\n")
        process.stdin.flush()
        finished = [process.stdout.readline() for _ in range(LINES)]
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert [line.split(" ||| ")[0] for line in finished] == [str(number) for number in range(1, LINES + 1)]
    assert (rest, errors) == ("", "interrupted\n")
    assert not list(tmp_path.iterdir())


def test_lines_that_a_person_types_are_translated_one_by_one(house):
    keyboard, terminal = os.openpty()
    with in_a_process(arguments("translate", package=house.package, beam=1), **PIPES | {"stdin": terminal}) as process:
        for line in (b"the cat .\n", b"a dog\n"):
            os.write(keyboard, line)
            assert process.stdout.readline().endswith("\n")
        os.write(keyboard, b"\x04")  # Ctrl-D
        rest, errors = process.communicate(timeout=30)
    os.close(keyboard)
    os.close(terminal)
    assert (process.returncode, rest, errors) == (0, "", "Type a sentence and press Enter. Ctrl-D ends.\n")


@pytest.mark.parametrize(
    ("redirections", "message"),
    [
        (">/dev/full", f"{FULL}; free space or choose another folder\n"),
        ("> >(exec true)", ""),  # a reader that ends ends the command silently
        ("<text >>text", "error: standard input and standard output are one file; name another file after >\n"),
        ("<text --record text", "error: --record: text is also standard input or output; name another file\n"),
        (">text --record text", "error: --record: text is also standard input or output; name another file\n"),
    ],
)
def test_streams_that_cannot_be_used_end_translation(house, tmp_path, monkeypatch, redirections, message):
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("the cat .\n")
    outputs = [] if "--record" in redirections else ["--record", "record"]
    finished = in_a_shell([*arguments("translate", package=house.package), *outputs], redirections)
    told = [line for line in finished.stderr.splitlines(keepends=True) if not line.startswith("ende base: ")]
    assert (finished.returncode, "".join(told), finished.stdout) == (1, message, "")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]
    assert Path("text").read_text() == ("" if ">text --" in redirections else "the cat .\n")


def test_a_missing_package_is_named_with_the_remedy():
    """Without site-packages (-S), Python finds none of our packages."""
    command = [sys.executable, "-S", "-m", "transformer", "translate", "--package", "none"]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert run.returncode == 1
    assert re.fullmatch(r"error: No module named '\w+': .* lacks it; activate the environment .*\n", run.stderr)


PROGRAM = "from transformer.cli.main import run\nif __name__ == '__main__':\n    run()\n"


@pytest.mark.parametrize("installed", [False, True])
def test_files_of_the_working_folder_take_the_place_of_no_module(house, tmp_path, installed):
    """Neither in the command nor in its workers. PYTHONPATH ends with a colon, which means the working folder, too."""
    early = subprocess.check_output([sys.executable, "-c", "import runpy, sys; print(*sys.modules)"], text=True).split()
    every = {*sys.stdlib_module_names, *(path.stem for path in Path(pytest.__file__).parents[1].iterdir())}
    (folder := tmp_path / "folder").mkdir()
    for name in every - {*early}:
        (folder / f"{name}.py").write_text("raise SystemExit(f'{__file__} was imported')")
    assert {"numpy", "copy", "email", "sentencepiece", "random", "tempfile"} <= {path.stem for path in folder.iterdir()}
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, *([tmp_path / "program.py"] if installed else ["-m", "transformer"])]
    command += arguments("translate", package=house.package, workers=2)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}" + ":" * (not installed), "OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=folder, env=environment, input="the cat .\n", capture_output=True, text=True)
    assert (run.returncode, run.stdout.count("\n")) == (0, 1), run.stderr
