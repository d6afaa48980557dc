import functools
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from transformer.support import processes
from transformer.support.files import InputError
from transformer.support.processes import ASK_TO_END, prefetch, shared

ROOT = Path(__file__).parents[2]
SECONDS = 30
WORK = "import os, pathlib, time; pathlib.Path(str(os.getpid())).touch(); time.sleep(600)"
PARENT = f"""
import functools
from transformer.support.processes import ASK_TO_END, prefetch, shared
with shared(2, "--workers", functools.partial, exec) as done, prefetch("waiting", map, exec, [{WORK!r}]) as waited:
    list(done([{WORK!r}] * 4))
"""


def test_results_have_the_order_of_the_items():
    with shared(3, "--workers", functools.partial, divmod, 1000) as divided:
        for _ in range(2):
            assert list(divided(range(1, 300))) == [divmod(1000, number) for number in range(1, 300)]


def test_results_wait_for_an_earlier_one_but_not_all_of_them(monkeypatch):
    monkeypatch.setattr(processes, "AHEAD", 2)
    taken = []
    with shared(2, "--workers", functools.partial, time.sleep) as slept:
        next(slept(taken.append(number) or 0.3 * (number == 0) for number in range(50)))
    assert len(taken) <= 6


def test_a_process_starts_when_there_is_an_item_for_it():
    with shared(50, "--workers", functools.partial, abs) as absolute:
        assert list(absolute([])) == []
        assert list(absolute([-1, -2])) == [1, 2]
        assert len(multiprocessing.active_children()) == 2
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(("item", "error"), [("x", ValueError), (None, TypeError)])
def test_an_error_in_a_process_is_raised_here(item, error):
    with pytest.raises(error), shared(2, "--workers", functools.partial, int) as whole:
        list(whole(["1", item, "2"]))
    assert not multiprocessing.active_children()


def test_an_error_of_what_a_process_prepares_is_raised_here():
    with pytest.raises(FileNotFoundError), shared(2, "--workers", open, "/nowhere/file") as read:
        list(read([1]))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_process_that_is_killed_is_told(number):
    message = f"--workers 2: a process was ended by {number.name}, perhaps because memory ran out; use fewer"
    with pytest.raises(InputError, match=message), shared(2, "--workers", functools.partial, exec) as done:
        list(done(["", f"import os; os.kill(os.getpid(), {number})", "import time; time.sleep(600)"]))
    assert not multiprocessing.active_children()


def test_a_process_that_ends_by_itself_is_told():
    with (
        pytest.raises(InputError, match="--workers 2: a process has died"),
        shared(2, "--workers", functools.partial, exec) as done,
    ):
        list(done(["import os; os._exit(3)"]))


def test_a_process_that_closes_its_pipe_but_does_not_end_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(processes, "ENDING", 0.1)
    with (
        pytest.raises(InputError, match="--workers 1: a process has died"),
        shared(1, "--workers", functools.partial, exec) as done,
    ):
        # Without os._exit, the thread that ends it with its parent would end it now if it had not begun to wait.
        list(done(["import os, time; os._exit = time.sleep; os.closerange(3, 10_000); time.sleep(600)"]))
    assert not multiprocessing.active_children()


def full(*_):
    raise OSError(24, "Too many open files")


def test_too_few_open_files_are_told_with_a_remedy(monkeypatch):
    monkeypatch.setattr(multiprocessing.context.SpawnContext, "Pipe", full)
    message = "--workers 2: cannot start: too many open files; raise the limit .*, or give --workers 1"
    with pytest.raises(InputError, match=message), shared(2, "--workers", functools.partial, abs) as absolute:
        list(absolute([1]))


def test_items_of_another_process_come_in_their_order_and_end():
    with prefetch("counting", range, 5000) as items:
        assert list(items) == list(range(5000))
    assert not multiprocessing.active_children()


def test_another_process_goes_on_until_its_items_are_taken(tmp_path):
    with prefetch("counting", map, (tmp_path / "seen").touch, [0o600]) as items:
        end = time.monotonic() + SECONDS
        while not (tmp_path / "seen").exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert (tmp_path / "seen").exists()
        assert list(items) == [None]


def test_items_without_end_end_with_their_context():
    with prefetch("counting", itertools.count) as items:
        assert [next(items) for _ in range(3)] == [0, 1, 2]
    assert not multiprocessing.active_children()


def test_a_process_of_items_holds_what_it_is_given_once():
    size = 2**28
    with prefetch("counting", enumerate, bytes(size)) as items:
        next(items)
        [process] = multiprocessing.active_children()
        assert size < psutil.Process(process.pid).memory_info().rss < 1.8 * size


def test_items_that_are_never_closed_do_not_keep_python_from_ending():
    code = "import itertools; from transformer.support.processes import prefetch; "
    code += "prefetch('counting', itertools.count).__enter__()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=SECONDS)


@pytest.mark.parametrize(("given", "error"), [([0], ZeroDivisionError), (["x"], TypeError), (3, TypeError)])
def test_an_error_of_items_is_raised_here(given, error):
    with pytest.raises(error), prefetch("dividing", map, functools.partial(divmod, 1), given) as items:
        list(items)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("number", sorted(ASK_TO_END))
def test_a_process_of_items_ignores_what_may_reach_all_processes(number):
    with prefetch("counting", itertools.count) as items:
        next(items)
        [process] = multiprocessing.active_children()
        os.kill(process.pid, number)
        assert [next(items) for _ in range(50_000)][-1] == 50_000


def test_a_process_of_items_that_is_killed_is_told():
    message = "counting: a process was ended by SIGKILL, perhaps because main memory ran out; the same command goes on"
    with prefetch("counting", itertools.count) as items:
        multiprocessing.active_children()[0].kill()
        with pytest.raises(InputError, match=message):
            list(items)


def test_too_few_open_files_for_a_process_of_items_are_told(monkeypatch):
    monkeypatch.setattr(multiprocessing.context.SpawnContext, "Pipe", full)
    message = "counting: cannot start a process: too many open files; raise the limit"
    with pytest.raises(InputError, match=message), prefetch("counting", itertools.count):
        pass


def gone(pids):
    """Whether these processes end within a few seconds."""
    end = time.monotonic() + SECONDS
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(map(psutil.pid_exists, pids))


def defaults():
    """A process in the background ignores SIGINT, and one under nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["the parent", "its group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_outlives_its_parent(tmp_path, number, to):
    with subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        preexec_fn=defaults,
        start_new_session=True,
        stderr=subprocess.PIPE,
        text=True,
    ) as parent:
        while len(pids := [int(file.name) for file in tmp_path.iterdir()]) < 3 and parent.poll() is None:
            time.sleep(0.01)
        to(parent.pid, number)
        errors = parent.stderr.read()  # until all processes have closed it
    assert parent.returncode == -number
    assert gone(pids)
    assert len(pids) == 3
    assert errors.count("Traceback") == (number == signal.SIGINT)  # the parent's own
    assert "Process SpawnProcess" not in errors
    assert "leaked" not in errors
