import math
import os
import time

import pytest

from transformer.evaluation import turns
from transformer.evaluation.turns import busy, in_turns, used_by_others


@pytest.fixture
def statistics(tmp_path, monkeypatch):
    """Linux's count of busy time: every reading adds some seconds to each core."""
    path = tmp_path / "stat"
    monkeypatch.setattr(turns, "STATISTICS", path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 2})

    def write(busy_seconds, idle=0):
        ticks = round(busy_seconds * os.sysconf("SC_CLK_TCK"))
        line = f" {ticks} 0 0 {idle} {idle} 0 0 0 {ticks} 0\n"  # user, nice, system, idle, iowait, ..., guest
        path.write_text("".join(f"{name}{line}" for name in ("cpu", "cpu0", "cpu1", "cpu2")) + "intr 12 0 1\n")

    return write


def test_every_second_round_runs_backwards_and_each_time_is_that_of_its_work():
    done = []
    works = [lambda number: done.append(("a", number)), lambda number: done.append(("b", number))]
    times = in_turns(works, 3, lambda: sum({"a": 1, "b": 2}[name] for name, _ in done))
    assert done == [("a", 0), ("b", 0), ("b", 1), ("a", 1), ("a", 2), ("b", 2)]
    assert times.tolist() == [[1, 2]] * 3


def test_busy_time_is_that_of_the_cores_that_this_process_may_use(statistics):
    statistics(7, idle=1000)
    assert busy() == 14


def test_a_program_does_not_count_itself_nor_the_processes_that_work_for_it(statistics, monkeypatch):
    now = iter([100.0, 110.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(now))
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    statistics(0)
    assert used_by_others(lambda: statistics(10) or 5.0) == pytest.approx(1.5)  # 2 x 10 s in 10 s, 5 of them our own


def test_where_linux_does_not_tell_the_load_is_unknown(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "STATISTICS", tmp_path / "absent")
    assert math.isnan(used_by_others(lambda: 0.0))
