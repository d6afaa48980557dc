"""Several processes, joined by Gloo, train like a single one."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode

from transformer.support.files import InputError
from transformer.support.strict import write_config
from transformer.support.tensors import read_tensors
from transformer.text.tokens import Pairs
from transformer.training import distributed, update
from transformer.training.distributed import World, process_group, replicate
from transformer.training.loop import Trainer
from transformer.training.signals import Interrupted

CPU = torch.device("cpu")
VOCABULARY = 40
SECONDS = 60  # all processes have to end within this time


def member(rank, size, port, folder, config, tokens, micro, act):
    """Train as one of `size` processes. `act` is (rank, step, the signal or error that this rank gets at this step)."""
    torch.set_num_threads(1)
    os.fsync = lambda _: None
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size)}
    os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(size)}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    sys.stderr = (folder.parent / f"{folder.name}.{rank}.err").open("a", buffering=1)
    try:
        with process_group() as world:
            train, dev = (Pairs.read(tokens / part) for part in ("train", "dev"))
            trainer = Trainer(config, VOCABULARY, train, dev, folder, CPU, world, micro)
            step = trainer.step

            def wrapped(batches):
                if act and (rank, trainer.state.step + 1) == act[:2]:
                    happen(act[2])
                step(batches)

            trainer.step = wrapped
            try:
                trainer.train()
            except Interrupted:
                sys.exit(7)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


def happen(what):
    if isinstance(what, Exception):
        raise what
    os.kill(os.getpid(), what)


@pytest.fixture
def together(tmp_path, run_config, encoded, forkserver):
    """Train in `size` processes. Returns their exit statuses and their standard errors."""
    tokens = Path(encoded("train").ids.filename).parent

    def start(size, name="state", act=None, micro=48, **changes):
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        folder = tmp_path / name
        members = [
            forkserver.Process(
                target=member, args=(rank, size, store.port, folder, run_config(**changes), tokens, micro, act)
            )
            for rank in range(size)
        ]
        for each in members:
            each.start()
        end = time.monotonic() + SECONDS
        for each in members:
            each.join(max(0, end - time.monotonic()))
        codes = [each.exitcode for each in members]
        for each in members:
            each.kill()
        return codes, [(tmp_path / f"{name}.{rank}.err").read_text() for rank in range(size)]

    return start


@pytest.fixture
def alone(tmp_path, run_config, encoded):
    """A trainer that has trained in one process."""

    def train(micro=48, **changes):
        pairs, folder = (encoded("train"), encoded("dev")), tmp_path / "alone"
        trainer = Trainer(run_config(**changes), VOCABULARY, *pairs, folder, CPU, micro_batch_tokens=micro)
        trainer.train()
        return trainer

    return train


def saved(folder):
    """The tensors of a state, and its texts without the times."""
    tensors, metadata = read_tensors(folder / "state.safetensors")
    state = json.loads(metadata["state"])
    history = [row[:4] + row[5:] for row in state.pop("history")]
    return tensors, {key: value for key, value in state.items() if "seconds" not in key}, history


@pytest.mark.parametrize(
    ("size", "changes"),
    [
        (2, {}),
        (2, {"batch_tokens": 300, "micro": 40}),
        (3, {"batch_tokens": 24}),  # one or two pairs a step, so some processes have none
        (2, {"network": "recurrent", "N": 2}),
        (2, {"network": "convolutional", "positions": "learned"}),
    ],
    ids=[
        "one micro-batch each",
        "many micro-batches",
        "processes without any",
        "a recurrent network",
        "a convolutional network",
    ],
)
def test_several_processes_train_to_the_same_weights_as_one(together, alone, tmp_path, size, changes):
    # The gradient of the keys' biases is only rounding. A larger epsilon keeps Adam from amplifying it.
    changes |= {"P_drop": 0.0, "epsilon": 1e-3}
    one = alone(**changes)
    codes, _ = together(size, **changes)
    assert codes == [0] * size
    tensors, state, history = saved(tmp_path / "state")
    alone_tensors, alone_state, alone_history = saved(tmp_path / "alone")
    for name in one.model.state_dict():
        torch.testing.assert_close(tensors[f"model.{name}"], alone_tensors[f"model.{name}"], rtol=1e-3, atol=1e-5)
    assert state == pytest.approx(alone_state)
    assert np.array(history, float) == pytest.approx(np.array(alone_history, float), rel=1e-4, nan_ok=True)


@pytest.mark.parametrize("size", [2, 3])
def test_an_interrupted_run_ends_with_the_same_bits(together, tmp_path, size):
    together(size, "whole")
    for rank, step in ((size - 1, 4), (0, 7)):
        codes, said = together(size, act=(rank, step, signal.SIGTERM))
        assert codes == [7] * size
    assert "resuming at step 4\n" in said[0]
    assert not any(said[1:])
    codes, _ = together(size)
    assert codes == [0] * size
    (tensors, *rest), (whole, *whole_rest) = saved(tmp_path / "state"), saved(tmp_path / "whole")
    assert tensors.keys() == whole.keys()
    for name, tensor in tensors.items():
        assert torch.equal(tensor, whole[name]), name
    assert rest == whole_rest
    resumed, whole = (
        {path.name: path.read_bytes() for path in (tmp_path / name).glob("step-*")} for name in ("state", "whole")
    )
    assert len(whole) == 3
    assert resumed == whole


def test_each_process_draws_its_own_dropout(together, tmp_path):
    together(2)
    random = saved(tmp_path / "state")[0]["random.cpu"]
    assert len(random) == 2
    assert not torch.equal(*random)


@pytest.mark.parametrize("sizes", [(1, 2), (3, 2)])
def test_a_run_resumed_by_another_number_of_processes_says_so(together, tmp_path, sizes):
    before, after = sizes
    together(before, act=(0, 5, signal.SIGTERM))
    codes, said = together(after)
    assert codes == [0] * after
    assert f"resuming at step 5 with {after} process(es) instead of {before}; dropout will differ\n" in said[0]
    assert saved(tmp_path / "state")[1]["step"] == 12


def test_a_damaged_state_falls_back_in_all_processes(together, tmp_path):
    for step in (4, 7):
        together(2, act=(1, step, signal.SIGTERM))
    state = tmp_path / "state/state.safetensors"
    state.write_bytes(state.read_bytes()[:-100])
    codes, said = together(2)
    assert codes == [0, 0]
    assert "damaged" in said[0]
    assert "resuming at step 4\n" in said[0].partition("damaged")[2]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_in_one_process_ends_all_and_is_printed_once(together, rank):
    codes, said = together(2, act=(rank, 5, InputError("the disk is full")))
    assert codes == [1, 1]
    assert said[rank].endswith("error: the disk is full\n")
    assert "error" not in said[1 - rank]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_others_with_a_reason(together, rank):
    codes, said = together(2, act=(rank, 5, signal.SIGKILL))
    assert codes[rank] == -signal.SIGKILL
    assert codes[1 - rank] == 1
    assert said[1 - rank].splitlines()[-1].startswith("error: a process of this run has died (noticed by process")


def test_a_loss_that_is_not_finite_is_noticed_in_all_processes(together):
    codes, said = together(2, learning_rate=1e30)
    assert codes == [1, 1]
    assert sum("is not finite at step" in text for text in said) == 1


class Noted(torch.nn.Module):
    """A linear map that records its inputs and whether autocast was on."""

    def __init__(self, device="cpu"):
        super().__init__()
        self.weight, self.calls = torch.nn.Parameter(torch.ones(3, device=device)), []

    def forward(self, *inputs):
        self.calls.append((*inputs, torch.is_autocast_enabled("cpu")))
        return torch.nn.functional.dropout(self.weight).sum()


def test_a_first_pass_under_autocast_leaves_the_random_state_as_it_was():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        before, module = torch.get_rng_state(), Noted()
        replicate(module, torch.autocast("cpu", torch.bfloat16), "a batch", 0.1)
    finally:
        dist.destroy_process_group()
    assert module.calls == [("a batch", 0.1, True)]
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch._dynamo.config.optimize_ddp


class Replica:
    """Stands in for DistributedDataParallel, since there is no GPU."""

    def __init__(self, group):
        self.group = group

    def __call__(self):
        return torch.zeros((), requires_grad=True)


def test_gpus_exchange_gradients_through_nccl_and_wait_ten_minutes(monkeypatch):
    groups = []
    monkeypatch.setattr(dist, "new_group", lambda **options: groups.append(options) or "a group")
    monkeypatch.setattr(distributed, "DistributedDataParallel", lambda _, process_group, **__: Replica(process_group))
    monkeypatch.setattr(torch.random, "fork_rng", contextlib.nullcontext)
    with FakeTensorMode():
        replica = replicate(Noted("cuda"), contextlib.nullcontext())
    assert replica.group == "a group"
    [group] = groups
    assert group["backend"] == "nccl"
    assert timedelta(minutes=2) < group["timeout"] < timedelta(minutes=30)


def test_the_first_pass_is_over_a_batch_of_training(tmp_path, run_config, encoded, monkeypatch):
    examples = []

    def noted(module, autocast, *example):
        examples.append((autocast, *example))
        return module

    monkeypatch.setattr(update, "replicate", noted)
    monkeypatch.setattr(World, "gather", lambda _, mine: mine[None])
    monkeypatch.setattr(World, "of_first", lambda _, value: value)
    config = run_config(precision="bfloat16")
    trainer = Trainer(config, VOCABULARY, encoded("train"), encoded("dev"), tmp_path, CPU, World(0, 2))
    _, _, batches = next(trainer.batches.from_position(0, 0))
    trainer.step(batches)
    [(autocast, batch, eps_ls, *_)] = examples
    with autocast:
        assert torch.is_autocast_enabled("cpu")
    assert batch is batches[0]
    assert eps_ls == config.training.eps_ls


@pytest.fixture
def torchrun(tmp_path, run_config, encoded, subwords):
    """Start the command with two processes, like the rule `train`."""

    def start(**changes):
        write_config(tmp_path / "config.yaml", run_config(**changes))
        tokens = Path(encoded("train").ids.filename).parent
        options = {"config": tmp_path / "config.yaml", "subwords": subwords, "tokens": tokens, "threads": 1}
        line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        line += ["-m", "transformer", "train", "--output-dir", tmp_path / "run"]
        line += [word for name, value in options.items() for word in (f"--{name}", value)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.Popen(list(map(str, line)), env=environment, text=True, stderr=subprocess.PIPE)

    return start


def when_training(process, folder):
    """Wait for the first row of the history. Returns the process ids of the ranks."""
    while process.poll() is None and not (folder / "run/state/history.csv").exists():
        time.sleep(0.01)
    return [rank.pid for rank in psutil.Process(process.pid).children()]


def test_torchrun_trains_and_publishes_once(torchrun, tmp_path):
    with torchrun() as process:
        _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, said
    assert sum(line.startswith("ende base: 12 steps") for line in said.splitlines()) == 1
    assert json.loads((tmp_path / "run/training.json").read_text())["devices"] == 2
    left = ["checkpoints", "history.csv", "state", "state.lock", "training.json"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == left


def test_sigterm_to_torchrun_saves_and_ends_all(torchrun, tmp_path):
    with torchrun(steps=5000) as process:
        ranks = when_training(process, tmp_path)
        process.terminate()
        _, said = process.communicate(timeout=SECONDS)
    assert process.returncode
    assert said.splitlines().count("interrupted by SIGTERM; the state is saved: start the command again to resume") == 1
    assert not any(map(psutil.pid_exists, ranks))
    _, metadata = read_tensors(tmp_path / "run/state/state.safetensors")
    assert json.loads(metadata["state"])["step"] > 0


def test_under_torchrun_a_killed_process_ends_all_and_names_the_cause(torchrun, tmp_path):
    with torchrun(steps=5000) as process:
        ranks = when_training(process, tmp_path)
        os.kill(ranks[1], signal.SIGKILL)
        _, said = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert f"Signal 9 (SIGKILL) received by PID {ranks[1]}" in said
    assert sum(line.startswith("error: ") for line in said.splitlines()) <= 1
    assert not any(map(psutil.pid_exists, ranks))


def test_no_process_outlives_torchrun_and_the_state_is_saved(torchrun, tmp_path):
    with torchrun(steps=5000) as process:
        ranks = when_training(process, tmp_path)
        process.kill()
        said = process.stderr.read()  # until all processes have closed it
    psutil.wait_procs([psutil.Process(rank) for rank in ranks if psutil.pid_exists(rank)], SECONDS)
    assert said.splitlines().count("interrupted by SIGTERM; the state is saved: start the command again to resume") == 1
    assert "Traceback" not in said
    assert not any(map(psutil.pid_exists, ranks))
    assert (tmp_path / "run/state/state.safetensors").exists()


PLACE = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0"}
PLACE |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.fixture
def place(monkeypatch):
    """Set the variables of PLACE that are given, and those that change."""

    def change(names, **changes):
        for name, value in PLACE.items():
            if name in names:
                monkeypatch.setenv(name, value)
            else:
                monkeypatch.delenv(name, raising=False)
        for name, value in changes.items():
            monkeypatch.setenv(name, value)

    return change


@pytest.mark.parametrize("value", ["", "abc", "0", "-1", "1.5", " 1", "²", "99999999999"])
def test_an_impossible_number_of_processes_is_named(place, value):
    place((), WORLD_SIZE=value)
    message = f"WORLD_SIZE={value} is not a whole number from 1 to 1,000,000; start the command with torchrun, "
    with pytest.raises(InputError, match=message), process_group():
        pass


@pytest.mark.parametrize("missing", [name for name in PLACE if name != "WORLD_SIZE"])
def test_a_variable_that_is_missing_or_impossible_is_named(place, missing):
    place(PLACE.keys() - {missing})
    with (
        pytest.raises(InputError, match=f"{missing} is not set, but WORLD_SIZE is 2; start the command with"),
        process_group(),
    ):
        pass
    if missing != "MASTER_ADDR":
        place(PLACE, **{missing: "70000"})
        with pytest.raises(InputError, match=f"{missing}=70000 is not a whole number from"), process_group():
            pass


@pytest.mark.parametrize("size", [{}, {"WORLD_SIZE": "1"}])
def test_a_rank_beyond_a_single_process_is_named(place, size):
    place((), RANK="1", **size)
    size = size.get("WORLD_SIZE", "not set")
    with (
        pytest.raises(InputError, match=rf"RANK=1 is not 0 \(WORLD_SIZE is {size}\); start the command"),
        process_group(),
    ):
        pass


def test_one_process_trains_alone_whatever_the_other_variables_say(place):
    place((), WORLD_SIZE="1", RANK="0", LOCAL_RANK="7", MASTER_ADDR="nowhere")
    with process_group() as world:
        assert world is distributed.ALONE


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"MASTER_ADDR": "nowhere.invalid"}, "MASTER_ADDR=nowhere.invalid MASTER_PORT=1: no such address"),
        ({"RANK": "1"}, "MASTER_ADDR=127.0.0.1 MASTER_PORT=1: process 1 of 2 met no others"),
    ],
)
def test_processes_that_cannot_meet_say_so(place, monkeypatch, capfd, changes, message):
    monkeypatch.setattr(distributed, "MEETING", timedelta(seconds=1))
    place(PLACE, **changes)
    with pytest.raises(InputError, match=message), process_group():
        pass
    assert "frame" not in capfd.readouterr().err
