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

from transformer.support.files import InputError
from transformer.support.processes import AHEAD, ASK_TO_END, prefetch, shared

ROOT = Path(__file__).parents[2]
SECONDS = 30
WORK = "import os, pathlib, time; pathlib.Path(str(os.getpid())).touch(); time.sleep(600)"
PARENT = f"""
import functools
from transformer.support.processes import prefetch, shared
more = prefetch("more", "wait", map, exec, [{WORK!r}])
with shared(2, "--workers 2", "use fewer", functools.partial, exec) as done, more:
    list(done([{WORK!r}] * 4))
"""


def two(make, *given):
    return shared(2, "--workers 2", "use fewer", make, *given)


def test_results_have_the_order_of_the_items():
    with two(functools.partial, divmod, 1000) as divided:
        for _ in range(2):
            assert list(divided(range(1, 300))) == [divmod(1000, number) for number in range(1, 300)]


def test_of_items_without_end_a_few_are_taken_ahead():
    taken = []
    with two(functools.partial, abs) as absolute:
        assert next(absolute(taken.append(number) or number for number in itertools.count())) == 0
    assert len(taken) == 2 * AHEAD
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("make", "given", "items", "error"),
    [(functools.partial, int, ["1", "x", "2"], ValueError), (open, "/nowhere/file", [1], FileNotFoundError)],
    ids=["of an item", "of the preparation"],
)
def test_an_error_in_a_process_is_raised_here(make, given, items, error):
    with pytest.raises(error), two(make, given) as function:
        list(function(items))
    assert not multiprocessing.active_children()


@pytest.mark.parametrize("end", [f"os.kill(os.getpid(), {signal.SIGKILL})", "os._exit(3)"], ids=["killed", "ended"])
def test_a_process_that_dies_is_told(end):
    message = "--workers 2: a process has died, perhaps because memory ran out; use fewer"
    with pytest.raises(InputError, match=message), two(functools.partial, exec) as done:
        list(done(["", f"import os; {end}", "import time; time.sleep(600)"]))
    assert not multiprocessing.active_children()


def counting():
    return prefetch("counting", "start again", itertools.count)


def test_a_process_makes_items_ahead_until_the_context_ends():
    with counting() as items:
        assert list(itertools.islice(items, 5000)) == list(range(5000))
    assert not multiprocessing.active_children()


def test_a_process_that_dies_while_it_makes_items_is_told():
    with counting() as items:
        multiprocessing.active_children()[0].kill()
        with pytest.raises(InputError, match=r"counting: a process has died, .*; start again"):
            list(items)


def test_processes_do_not_hear_what_may_reach_all_processes():
    with two(functools.partial, abs) as absolute, counting() as items:
        numbers = absolute(range(100))
        next(numbers)
        for process, number in itertools.product(multiprocessing.active_children(), ASK_TO_END):
            os.kill(process.pid, number)
        assert list(numbers) == list(range(1, 100))
        assert [next(items) for _ in range(50_000)][-1] == 49_999


def defaults():
    """A process in the background ignores SIGINT, and one under nohup SIGHUP."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize("to", [os.kill, os.killpg], ids=["the parent", "its group"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
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
    end = time.monotonic() + SECONDS
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(map(psutil.pid_exists, pids))
    assert "Process SpawnProcess" not in errors
    assert ("leaked" in errors) <= (number != signal.SIGINT)  # else Python tells of semaphores, which it removes
