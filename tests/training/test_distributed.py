"""Several processes, joined by Gloo, train like a single one."""

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

from transformer.support.files import InputError
from transformer.support.strict import write_config
from transformer.support.tensors import read_tensors
from transformer.text.tokens import Pairs
from transformer.training import distributed
from transformer.training.distributed import process_group
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
    ids=["one micro-batch each", "many micro-batches", "processes without any", "recurrent", "convolutional"],
)
def test_several_processes_train_to_the_same_weights_as_one(together, start, tmp_path, size, changes):
    # The gradient of the keys' biases is only rounding. A larger epsilon keeps Adam from amplifying it.
    changes |= {"P_drop": 0.0, "epsilon": 1e-3}
    alone = start("alone", **changes)
    alone.train()
    codes, _ = together(size, **changes)
    assert codes == [0] * size
    tensors, state, history = saved(tmp_path / "state")
    assert not torch.equal(*tensors["random.cpu"][:2])  # each process draws its own dropout
    alone_tensors, alone_state, alone_history = saved(tmp_path / "alone")
    for name in alone.model.state_dict():
        torch.testing.assert_close(tensors[f"model.{name}"], alone_tensors[f"model.{name}"], rtol=1e-3, atol=1e-5)
    assert state == pytest.approx(alone_state)
    assert np.array(history, float) == pytest.approx(np.array(alone_history, float), rel=1e-4, nan_ok=True)


def test_an_interrupted_run_with_a_damaged_state_ends_with_the_same_bits(together, tmp_path):
    together(3, "whole")
    for rank, step in ((2, 4), (0, 7)):
        codes, said = together(3, act=(rank, step, signal.SIGTERM))
        assert codes == [7] * 3
    assert "resuming at step 4\n" in said[0]
    assert not any(said[1:])
    state = tmp_path / "state/state.safetensors"
    state.write_bytes(state.read_bytes()[:-100])
    codes, said = together(3)
    assert codes == [0] * 3
    assert "resuming at step 4\n" in said[0].partition("damaged")[2]
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


def test_a_run_resumed_by_another_number_of_processes_says_so(together):
    together(3, act=(0, 5, signal.SIGTERM))
    codes, said = together(2)
    assert codes == [0] * 2
    assert "resuming at step 5 with 2 process(es) instead of 3; dropout will differ\n" in said[0]


@pytest.mark.parametrize(
    ("act", "changes", "codes", "told"),
    [
        ((0, 5, InputError("the disk is full")), {}, [1, 1], "error: the disk is full"),
        ((1, 5, InputError("the disk is full")), {}, [1, 1], "error: the disk is full"),
        ((0, 5, signal.SIGKILL), {}, [-signal.SIGKILL, 1], "error: a process of this run has died (noticed by process"),
        (None, {"learning_rate": 1e30}, [1, 1], "is not finite at step"),
    ],
    ids=["error of the first", "error of another", "a killed process", "a loss that is not finite"],
)
def test_a_failure_of_one_process_ends_all_and_is_printed_once(together, act, changes, codes, told):
    found, said = together(2, act=act, **changes)
    assert found == codes
    assert sum(text.count("error: ") for text in said) == "".join(said).count(told) == 1


def test_no_process_outlives_torchrun_and_the_state_is_saved(tmp_path, run_config, encoded, subwords):
    """It starts the command with two processes, like the rule `train`."""
    write_config(tmp_path / "config.yaml", run_config(steps=5000))
    tokens = Path(encoded("train").ids.filename).parent
    options = {"config": tmp_path / "config.yaml", "subwords": subwords, "tokens": tokens, "threads": 1}
    line = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    line += ["-m", "transformer", "train", "--output-dir", tmp_path / "run"]
    line += [word for name, value in options.items() for word in (f"--{name}", value)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(list(map(str, line)), env=environment, text=True, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (tmp_path / "run/state/history.csv").exists():
            time.sleep(0.01)
        ranks = psutil.Process(process.pid).children()
        process.kill()
        said = process.stderr.read()  # until all processes have closed it
    psutil.wait_procs(ranks, SECONDS)
    assert not any(rank.is_running() for rank in ranks)
    assert said.splitlines().count("interrupted by SIGTERM; the state is saved: start the command again to resume") == 1
    assert (tmp_path / "run/state/state.safetensors").exists()


PLACE = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "0"}
PLACE |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"WORLD_SIZE": "two"}, "RANK=0 WORLD_SIZE=two .* is no place"),
        ({"LOCAL_RANK": "2"}, "LOCAL_RANK=2 .* is no place"),
        ({"RANK": "1"}, "MASTER_ADDR=127.0.0.1 MASTER_PORT=1: process 1 of 2 met no others"),
    ],
)
def test_variables_that_lead_to_no_other_processes_are_named(monkeypatch, capfd, changes, message):
    monkeypatch.setattr(distributed, "MEETING", timedelta(seconds=1))
    for name, value in (PLACE | changes).items():
        monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=f"{message}.*start the command with torchrun"), process_group():
        pass
    assert "frame" not in capfd.readouterr().err
