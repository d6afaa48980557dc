import fcntl
import json
import sys
from types import SimpleNamespace

import pytest
import torch

from transformer.support.files import InputError, read_lines
from transformer.training import run
from transformer.training.loop import Trainer
from transformer.training.run import train_run

CPU = torch.device("cpu")
VOCABULARY = 40


def test_a_run_publishes_checkpoints_history_and_record_and_clears_its_state(tmp_path, run_config, encoded):
    for _ in range(2):  # again over what it has published
        train_run(run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)
        published = sorted(str(path.relative_to(tmp_path / "1")) for path in (tmp_path / "1").rglob("*"))
        checkpoints = [f"checkpoints/step-{step}.safetensors" for step in (12, 6, 9)]
        assert published == ["checkpoints", *checkpoints, "history.csv", "training.json"]
    record = json.loads((tmp_path / "1" / "training.json").read_text())
    assert (record["task"], record["model"], record["seed"], record["steps"]) == ("ende", "base", 1, 12)
    assert record["parameters"] == sum(
        t.numel()
        for t in Trainer(
            run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "other", CPU
        ).model.parameters()
    )
    assert all(record[key] > 0 for key in ("seconds", "sustained_flops", "flops", "target_tokens", "devices"))
    assert record["precision"] == "float32"
    assert {"commit", "python", "torch", "sentencepiece"} <= record["software"].keys()


def test_a_config_s_hash_is_the_same_as_long_as_its_numbers_are(tmp_path, run_config, encoded):
    hashes = []
    for number, changes in enumerate([{}, {"micro_batch_tokens": 96}, {"seed": 2}]):
        folder = tmp_path / str(number)
        train_run(run_config(**changes), VOCABULARY, encoded("train"), encoded("dev"), folder, CPU)
        hashes.append(json.loads((folder / "training.json").read_text())["config_sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_how_often_a_run_was_interrupted_stands_in_its_record(tmp_path, run_config, encoded, monkeypatch):
    arguments = (run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)
    log = Trainer.log

    def killed(trainer):
        if trainer.state.step == 5:
            raise SystemExit
        log(trainer)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "log", killed)
        with pytest.raises(SystemExit):
            train_run(*arguments)
    train_run(*arguments)
    record = json.loads((tmp_path / "1/training.json").read_text())
    assert (record["resumed"], record["steps_redone"]) == (1, 4)


class Writer:
    """Stands for TensorBoard's."""

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars = folder, purge_step, []
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_scalar(self, name, value, step):
        self.scalars.append((step, name, value))


def test_the_history_goes_to_tensorboard_when_asked(tmp_path, run_config, encoded, monkeypatch):
    monkeypatch.setattr(Writer, "made", [], raising=False)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    arguments = (run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)
    train_run(*arguments, tensorboard=tmp_path / "board")
    (writer,) = Writer.made
    assert (writer.folder, writer.purge_step) == (tmp_path / "board/ende/base/1", 1)
    names, *rows = [line.split(",") for line in read_lines(tmp_path / "1/history.csv")]
    cells = [
        (int(row[0]), name, float(cell)) for row in rows for name, cell in zip(names[1:], row[1:], strict=True) if cell
    ]
    assert [cell[:2] for cell in writer.scalars] == [cell[:2] for cell in cells]
    assert [cell[2] for cell in writer.scalars] == pytest.approx([cell[2] for cell in cells], rel=1e-6)


def test_without_tensorboard_asking_for_it_says_how_to_get_it(tmp_path, run_config, encoded, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    arguments = (run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)
    with pytest.raises(InputError, match="TensorBoard is not installed; pip install tensorboard"):
        train_run(*arguments, tensorboard=tmp_path / "board")


def test_a_kill_while_publishing_is_made_good(tmp_path, run_config, encoded, monkeypatch):
    arguments = (run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)

    def killed(*_):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(run, "write_json", killed)
        with pytest.raises(SystemExit):
            train_run(*arguments)
    monkeypatch.setattr(Trainer, "step", killed)  # no step is trained again
    train_run(*arguments)
    assert len(list((tmp_path / "1" / "checkpoints").iterdir())) == 3
    assert (tmp_path / "1" / "training.json").exists()


def test_a_run_that_another_process_trains_is_refused(tmp_path, run_config, encoded):
    (tmp_path / "1/state").mkdir(parents=True)
    with (tmp_path / "1/state/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process trains this run"):
            train_run(run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU)
