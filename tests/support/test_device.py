import re
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from transformer.support import device
from transformer.support.device import auto_precision, can_compile, choose_device
from transformer.support.files import InputError

CPU = torch.device("cpu")


def pretend(replace, folder, gpus, **more):
    """Pretend that PyTorch finds GPUs with these UUIDs. Their locks are in `folder`. `more` is of torch.cuda, too."""
    replace(tempfile, "tempdir", str(folder))
    pretended = {
        "is_available": lambda: bool(gpus),
        "device_count": lambda: len(gpus),
        "get_device_properties": lambda number: SimpleNamespace(uuid=gpus[number]),
        "get_arch_list": list,
        "set_device": lambda _: None,
    }
    for name, function in (pretended | more).items():
        replace(torch.cuda, name, function)


@pytest.fixture
def with_gpus(monkeypatch, tmp_path):
    """Pretend that PyTorch finds GPUs with these UUIDs. This process gives them back when the test ends."""
    device._taken.cache_clear()
    yield lambda *gpus, folder=tmp_path, **more: pretend(monkeypatch.setattr, folder, gpus, **more)
    device._taken.cache_clear()


@pytest.mark.parametrize(("visible", "warned"), [(None, True), ("0", True), ("", False)])
def test_a_gpu_that_pytorch_cannot_use_is_reported(with_gpus, monkeypatch, capsys, visible, warned):
    with_gpus()
    monkeypatch.setattr(Path, "exists", lambda path: path == Path("/dev/nvidia0"))
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert choose_device() == choose_device(1, 2) == CPU
    assert capsys.readouterr().err.count("PyTorch cannot use it") == warned


@pytest.mark.parametrize(
    ("built", "capability", "refused"),
    [
        (["sm_75", "sm_90a", "sm_120", "compute_120"], (7, 0), True),
        (["sm_75", "sm_90a", "sm_120", "compute_120"], (7, 5), False),
        (["sm_120"], (9, 0), True),
        (["gfx942"], (9, 4), False),
    ],
)
def test_a_gpu_that_pytorch_is_not_built_for_is_refused(with_gpus, built, capability, refused):
    described = {"get_device_capability": lambda _: capability, "get_device_name": lambda _: "An old GPU"}
    with_gpus("a", get_arch_list=lambda: built, **described)
    if refused:
        with pytest.raises(InputError, match=r"An old GPU has CUDA capability \d.0, but PyTorch .* older CUDA"):
            choose_device()
    else:
        assert choose_device().type == "cuda"


def choose(folder, gpus, place, messages, pipe):
    """Choose among GPUs with these UUIDs, send the number of the chosen one, and live until killed."""
    sys.stderr = messages.open("w", buffering=1)
    pretend(setattr, folder, gpus)
    pipe.send(choose_device(*place).index)
    time.sleep(60)


@pytest.fixture
def choosing(tmp_path, forkserver):
    """Start a process that chooses among GPUs.

    Returns the process, a function that waits for the GPU's number, and the file of its messages.
    """
    processes = []

    def start(*gpus, place=()):
        pipe, other = forkserver.Pipe()
        messages = tmp_path / f"{len(processes)}.err"
        process = forkserver.Process(target=choose, args=(tmp_path, gpus, place, messages, other))
        process.start()
        processes.append(process)

        def chosen():
            assert pipe.poll(30), messages.read_text()
            return pipe.recv()

        return process, chosen, messages

    yield start
    for process in processes:
        process.kill()
        process.join()


def waiting(messages):
    """Wait until a process prints a message, and return the message."""
    end = time.monotonic() + 30
    while not (messages.exists() and messages.read_text()) and time.monotonic() < end:
        time.sleep(0.01)
    return messages.read_text()


def test_each_process_takes_a_gpu_of_its_own_and_one_too_many_waits_until_another_is_killed(choosing):
    first, chosen, _ = choosing("a", "b")
    number = chosen()
    assert {number, choosing("a", "b")[1]()} == {0, 1}
    _, chosen, messages = choosing("a", "b")
    assert waiting(messages) == "all 2 GPUs are taken by other commands of yours; waiting until one is free\n"
    first.kill()
    assert chosen() == number


def test_processes_that_see_different_gpus_under_the_same_number_do_not_wait_for_each_other(choosing):
    assert [choosing(gpu)[1]() for gpu in ("a", "b")] == [0, 0]
    assert waiting(choosing("b")[2]) == "the GPU is taken by other commands of yours; waiting until it is free\n"


def test_a_training_on_several_gpus_takes_all_of_them(choosing):
    for rank in (1, 0):
        assert choosing("a", "b", "c", place=(rank, 2))[1]() == rank
    assert choosing("a", "b", "c")[1]() == 2
    for place in ((), (0, 2)):
        assert "taken" in waiting(choosing("a", "b", "c", place=place)[2])


def test_a_message_says_what_to_do(with_gpus, tmp_path, monkeypatch):
    with_gpus("a", "b")
    with pytest.raises(InputError, match="3 processes need a GPU each, but PyTorch finds 2; start fewer"):
        choose_device(0, 3)
    with_gpus("a", folder=tmp_path / "missing")
    with pytest.raises(InputError, match=r"gpu-a.lock: cannot be written \(No such file .*\); set TMPDIR to another"):
        choose_device()
    with_gpus()
    monkeypatch.setattr(Path, "exists", lambda path: path == Path("/dev/nvidia0"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setenv("SLURM_GPUS_ON_NODE", "1")
    with pytest.raises(InputError, match=r"or this PyTorch has no CUDA; see docs/install\.md, or set gpu: 0"):
        choose_device()


@pytest.mark.parametrize("place", [(), (0, 2)])
def test_what_wants_a_gpu_alone_waits_for_all_that_share_it_and_then_keeps_them_away(choosing, place):
    (first, one, _), (second, other, _) = (choosing("a", place=(0, 1, 2)) for _ in range(2))
    assert one() == other() == 0
    first.kill()
    _, chosen, messages = choosing(*"ab"[: place[1] if place else 1], place=place)
    assert "taken" in waiting(messages)
    second.kill()
    assert chosen() == 0
    assert "taken" in waiting(choosing("a", place=(0, 1, 2))[2])


def test_trainings_that_share_gpus_spread_over_them_and_take_no_more_than_the_whole(choosing):
    assert [choosing("b", "c", place=(0, 1, 2))[1]() for _ in range(3)] == [0, 1, 0]
    assert [choosing("a", place=(0, 1, trainings))[1]() for trainings in (2, 3)] == [0, 0]
    for trainings in (2, 3):  # 1/2 and 1/3 leave 1/6
        assert "taken" in waiting(choosing("a", place=(0, 1, trainings))[2])
    assert choosing("a", place=(0, 1, 6))[1]() == 0


@pytest.mark.parametrize("able", [False, True])
def test_precision_depends_on_what_the_hardware_multiplies_and_not_on_a_timing(monkeypatch, able):
    wanted = "bfloat16" if able else "float32"
    monkeypatch.setattr(device, "cpu_precision", lambda: wanted)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0) if able else (7, 5))
    monkeypatch.setattr(time, "perf_counter", None)
    for kind in ("cpu", "cuda"):
        assert auto_precision(torch.device(kind)) == wanted


@pytest.mark.parametrize(
    ("programs", "headers", "said"),
    [
        ({"gcc"}, True, ""),
        ({"gcc"}, False, r"no .*/Python\.h found, so"),
        (set(), False, r"no C compiler and no .*/Python\.h found, so"),
    ],
)
def test_what_is_missing_to_compile_is_reported_in_one_line(monkeypatch, tmp_path, capsys, programs, headers, said):
    (tmp_path / "Python.h").touch()
    monkeypatch.setattr(device.sysconfig, "get_path", lambda *_: str(tmp_path if headers else tmp_path / "missing"))
    monkeypatch.setattr(device.shutil, "which", lambda name: name if name in programs else None)
    can_compile.cache_clear()
    assert [can_compile() for _ in range(2)] == [not said] * 2
    can_compile.cache_clear()
    error = capsys.readouterr().err
    assert re.match(said, error)
    assert error.count("\n") == error.count("apt-get install gcc python3-dev") == (1 if said else 0)
