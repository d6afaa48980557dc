import errno
import fcntl
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from transformer.support import device
from transformer.support.files import InputError, read_lines
from transformer.support.tensors import read_tensors
from transformer.training import loop, run
from transformer.training.run import train_run
from transformer.training.signals import Interrupted

CPU = torch.device("cpu")
VOCABULARY = 40


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def arguments(tmp_path, run_config, encoded):
    return run_config(), VOCABULARY, encoded("train"), encoded("dev"), tmp_path / "1", CPU


@pytest.fixture(autouse=True)
def known_speed(monkeypatch):
    """Do not measure this machine's FLOP/s: that takes longer than training such a model. `trained` did so once."""
    monkeypatch.setattr(device, "sustained_flops", lambda *_: 1e9)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, run_config, encoded):
    """The folder of a run that has ended."""
    folder = tmp_path_factory.mktemp("trained") / "1"
    train_run(run_config(), VOCABULARY, encoded("train"), encoded("dev"), folder, CPU)
    return folder


@pytest.fixture
def finished(tmp_path, arguments, trained):
    """The arguments of a run that has ended."""
    shutil.copytree(trained, tmp_path / "1")
    return arguments


class Writer:
    """Stands in for TensorBoard's writer."""

    def __init__(self, folder, purge_step):
        self.folder, self.purge_step, self.scalars = folder, purge_step, []
        self.made.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def add_scalar(self, name, value, step):
        self.scalars.append((step, name, value))
        if self.act and (step, name) == (self.act[0], "loss"):
            self.act[1]()


@pytest.fixture
def writer(monkeypatch):
    """The class of TensorBoard's writers: `made` lists them, and `act` is (step, what to do when it is done)."""
    monkeypatch.setattr(Writer, "made", [], raising=False)
    monkeypatch.setattr(Writer, "act", None, raising=False)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=Writer))
    return Writer


def fail(error):
    raise error


def note_other_code(folder):
    """Let the files of a run say that other code trained it."""
    for path in (folder / "training.json", folder / "state/finished.json", folder / "state/attempts"):
        if path.exists():
            path.write_text(re.sub(r'"code": "\w{12}', '"code": "changed00000', path.read_text()))


def contents(folder):
    """The files of a run with their bytes; the history and the record have times, which training would change."""
    return {name: (folder / name).read_bytes() for name in files(folder)}


def replace(path, content):
    """Write a file anew: what is linked to the old one stays."""
    path.unlink()
    path.write_bytes(content)


def test_a_run_publishes_checkpoints_history_and_record_and_keeps_them_in_its_state(trained):
    checkpoints = [f"step-{step}.safetensors" for step in (12, 6, 9)]
    kept = ["attempts", "finished.json", "history.csv", *checkpoints]
    assert files(trained) == [
        *(f"checkpoints/{name}" for name in checkpoints),
        "history.csv",
        "state.lock",
        *(f"state/{name}" for name in kept),
        "training.json",
    ]
    for name in checkpoints:
        assert (trained / "state" / name).samefile(trained / "checkpoints" / name)
    record = json.loads((trained / "training.json").read_text())
    assert (record["task"], record["model"], record["seed"], record["steps"]) == ("ende", "base", 1, 12)
    weights, _ = read_tensors(trained / "checkpoints/step-12.safetensors")
    assert record["parameters"] == sum(tensor.numel() for tensor in weights.values())
    assert all(record[key] > 0 for key in ("seconds", "sustained_flops", "flops", "target_tokens", "devices"))
    assert record["precision"] == "float32"
    assert {"commit", "python", "torch", "sentencepiece"} <= record["software"].keys()


def test_a_run_s_record_counts_the_pairs_that_are_left_out(tmp_path, run_config, encoded):
    train = encoded("train")
    train_run(run_config(longest_pair=6), VOCABULARY, train, encoded("dev"), tmp_path / "1", CPU)
    record = json.loads((tmp_path / "1/training.json").read_text())
    kept = train.lengths.max(1) <= 6
    assert (record["pairs"], record["left_out"], record["longest_pair"]) == (kept.sum(), (~kept).sum(), 6)
    assert 0 < record["left_out"] < len(train)


def test_a_run_resumed_with_other_threads_says_that_bits_may_differ(tmp_path, arguments, writer, capsys):
    writer.act = (5, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted):
        train_run(*arguments, tensorboard=tmp_path)
    torch.set_num_threads(2)
    train_run(*arguments)
    said = "ende base: resumes with 2 thread(s), not 1, so the result may not be the same to the bit\n"
    assert capsys.readouterr().err.count(said) == 1
    record = json.loads((tmp_path / "1/training.json").read_text())
    assert [each["threads"] for each in record["attempts"]] == [1, 2]
    assert (record["resumed"], record["steps_redone"], record["threads"]) == (1, 0, 2)


def test_an_interrupted_run_begins_anew_under_other_code_and_its_state_is_set_aside(
    tmp_path, arguments, writer, monkeypatch, capsys
):
    state = tmp_path / "1/state"
    for number, step in enumerate((5, 8), 1):
        writer.act = (step, lambda: os.kill(os.getpid(), signal.SIGTERM))
        with pytest.raises(Interrupted):
            train_run(*arguments, tensorboard=tmp_path)
        before = contents(state)
        for module in (run, loop):
            monkeypatch.setattr(module, "digest", lambda _, number=number: f"{number}" * 64)
        writer.act = (1, lambda: fail(SystemExit))
        with pytest.raises(SystemExit):
            train_run(*arguments, tensorboard=tmp_path)
        assert contents(tmp_path / f"1/state.{number}") == before
        told = f"warning: ende base: other code trained it to step {step + 1}; that state is now in {state}.{number}"
        assert capsys.readouterr().err.count(told) == 1
    writer.act = None
    train_run(*arguments)
    record = json.loads((tmp_path / "1/training.json").read_text())
    assert [each["from"] for each in record["attempts"]] == [0, 0]
    assert {each["code"] for each in record["attempts"]} == {"222222222222"}


PUBLISHED = ["training.json", "history.csv", "checkpoints/step-9.safetensors"]
HARM = {
    "missing": lambda path: path.unlink(),
    "cut short": lambda path: replace(path, path.read_bytes()[:-20]),
    "another": lambda path: replace(path, (path.parent / "step-6.safetensors").read_bytes()),
}
# Without a record, other code has to train again.
REPAIRED = [("training.json", "missing", False), *((name, "cut short", True) for name in PUBLISHED)]
REPAIRED += [("history.csv", "missing", True), *((PUBLISHED[2], harm, False) for harm in HARM)]


@pytest.mark.parametrize(("name", "harm", "other_code"), REPAIRED)
def test_a_finished_run_that_lost_a_published_file_is_published_again_without_training(
    tmp_path, finished, capsys, name, harm, other_code
):
    if other_code:
        note_other_code(tmp_path / "1")
    made = contents(tmp_path / "1")
    HARM[harm](tmp_path / "1" / name)
    if name == "history.csv":
        shutil.rmtree(tmp_path / "1/checkpoints")
    train_run(*finished)
    assert contents(tmp_path / "1") == made
    assert "ende base: already finished; published again from" in capsys.readouterr().err


@pytest.mark.parametrize("other_code", [False, True])
@pytest.mark.parametrize("lost", ["nothing", "finished.json", "history.csv", "step-9.safetensors", "attempts", "all"])
def test_a_finished_run_stays_as_it_is_whatever_is_lost_of_its_state(tmp_path, finished, capsys, lost, other_code):
    folder = tmp_path / "1"
    if other_code:
        note_other_code(folder)
    if lost == "all":
        shutil.rmtree(folder / "state")
    elif lost != "nothing":
        (folder / "state" / lost).unlink()
    made = contents(folder)
    train_run(*finished)
    assert contents(folder) == made
    by = " (by other code)" if other_code else ""
    assert capsys.readouterr().err == f"ende base: already finished{by}; remove {folder} to train it again\n"


@pytest.mark.parametrize("state", ["cut short, too", "gone"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_finished_run_that_cannot_be_published_again_is_refused_and_left_as_it_is(tmp_path, finished, name, state):
    folder = tmp_path / "1"
    for path in (folder / name, *(folder / "state").glob("*")):
        os.truncate(path, path.stat().st_size // 2)
    if state == "gone":
        shutil.rmtree(folder / "state")
    made = contents(folder)
    said = (
        f"{folder}: has a finished run, but {Path(name).name} is missing or damaged; restore it, or remove {folder} to"
    )
    with pytest.raises(InputError, match=re.escape(said)):
        train_run(*finished)
    assert contents(folder) == made


@pytest.mark.parametrize("share", [None, 0.5], ids=["missing", "cut short"])
@pytest.mark.parametrize("name", ["step-9.safetensors", "history.csv", "finished.json"])
def test_a_run_that_lost_its_published_files_and_one_of_its_state_is_trained_again(
    tmp_path, finished, capsys, name, share
):
    """It is neither published with a damaged file, nor ended by an error again and again."""
    made = (tmp_path / "1/checkpoints/step-9.safetensors").read_bytes()
    shutil.rmtree(tmp_path / "1/checkpoints")
    (tmp_path / "1/training.json").unlink()
    lost = tmp_path / "1/state" / name
    if share is None:
        lost.unlink()
    else:
        os.truncate(lost, int(share * lost.stat().st_size))
    train_run(*finished)
    told = f"ende base: some of its files in {tmp_path}/1/state are missing or damaged, so it is trained again"
    assert (told in capsys.readouterr().err) is ((name, share) != ("finished.json", None))
    assert (tmp_path / "1/checkpoints/step-9.safetensors").read_bytes() == made
    assert len(read_lines(tmp_path / "1/history.csv")) == 13
    assert json.loads((tmp_path / "1/training.json").read_text())["steps"] == 12


@pytest.mark.parametrize("damaged", [True, False])
def test_a_state_that_lost_an_earlier_checkpoint_is_refused_before_it_trains(tmp_path, arguments, writer, damaged):
    """The state cannot make the checkpoint again, so the run could not be published."""
    writer.act = (10, lambda: os.kill(os.getpid(), signal.SIGTERM))
    with pytest.raises(Interrupted):
        train_run(*arguments, tensorboard=tmp_path)
    lost = tmp_path / "1/state/step-6.safetensors"
    os.truncate(lost, 100) if damaged else lost.unlink()
    said = rf"1/state: step-6\.safetensors is missing or damaged, .*; remove {tmp_path}/1/state to start over"
    with pytest.raises(InputError, match=said):
        train_run(*arguments)
    shutil.rmtree(tmp_path / "1/state")
    train_run(*arguments)
    assert (tmp_path / "1/training.json").exists()


def test_a_run_whose_record_is_removed_is_trained_again_by_other_code(tmp_path, finished, writer, capsys):
    """Snakemake removes it, and then other code must not count as this. A training that fails does not, either."""
    note_other_code(tmp_path / "1")
    (tmp_path / "1/training.json").unlink()
    writer.act = (1, lambda: fail(InputError("out of memory")))
    with pytest.raises(InputError, match="out of memory"):
        train_run(*finished, tensorboard=tmp_path)
    assert not (tmp_path / "1/training.json").exists()
    assert "ende base: was trained otherwise (code), so it is trained again" in capsys.readouterr().err
    train_run(*finished)
    assert (tmp_path / "1/training.json").exists()


@pytest.mark.parametrize("state", [True, False], ids=["kept", "gone"])
def test_a_folder_with_a_finished_run_of_another_config_or_text_is_refused(tmp_path, run_config, finished, state):
    if not state:
        shutil.rmtree(tmp_path / "1/state")
    before = {name: (tmp_path / "1" / name).read_bytes() for name in files(tmp_path / "1")}
    config, vocabulary, train, _, *others = finished
    given = (run_config(seed=2), *finished[1:]), (config, vocabulary, train, train, *others)
    refusal = f"{tmp_path}/1: has a finished run of another config or data; remove it"
    for other, said in zip(given, ("seed was 1 and is 2", "data"), strict=True):
        with pytest.raises(InputError, match=refusal) as error:
            train_run(*other)
        assert str(error.value).endswith(f"({said})") is state
    assert {name: (tmp_path / "1" / name).read_bytes() for name in files(tmp_path / "1")} == before


def test_without_file_locks_and_hard_links_a_run_trains_with_a_warning(tmp_path, arguments, monkeypatch, capsys):
    monkeypatch.setattr(fcntl, "flock", lambda *_: fail(OSError(errno.ENOLCK, "No locks available")))
    monkeypatch.setattr(Path, "hardlink_to", lambda *_: fail(OSError(errno.EPERM, "Operation not permitted")))
    train_run(*arguments)
    assert "state.lock: the file system has no locks" in capsys.readouterr().err
    assert json.loads((tmp_path / "1/training.json").read_text())["steps"] == 12
    for name in ("step-12.safetensors", "step-9.safetensors"):
        assert (tmp_path / "1/state" / name).read_bytes() == (tmp_path / "1/checkpoints" / name).read_bytes()


def test_a_model_that_does_not_fit_in_memory_is_refused_in_one_line(tmp_path, arguments):
    config, _, *others = arguments
    with pytest.raises(InputError, match="ende base: out of memory; choose a smaller model or vocabulary"):
        train_run(config, 10**15, *others)  # more bytes than an address can name
    assert files(tmp_path / "1") == ["state.lock"]


def test_the_history_goes_to_tensorboard_when_asked(tmp_path, arguments, writer):
    train_run(*arguments, tensorboard=tmp_path / "board")
    (writer,) = writer.made
    assert (writer.folder, writer.purge_step) == (tmp_path / "board/ende/base/1", 1)
    names, *rows = [line.split(",") for line in read_lines(tmp_path / "1/history.csv")]
    cells = [
        (int(row[0]), name, float(cell)) for row in rows for name, cell in zip(names[1:], row[1:], strict=True) if cell
    ]
    assert [cell[:2] for cell in writer.scalars] == [cell[:2] for cell in cells]
    assert [cell[2] for cell in writer.scalars] == pytest.approx([cell[2] for cell in cells], rel=1e-6)


def test_asking_for_a_missing_tensorboard_says_how_to_install_it(tmp_path, arguments, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(InputError, match="TensorBoard is not installed; install it with `pip install tensorboard`"):
        train_run(*arguments, tensorboard=tmp_path / "board")


@pytest.mark.parametrize(
    ("call", "file"),
    [
        ("replace", "state/finished.json"),
        ("replace", "checkpoints/step-9.safetensors"),
        ("replace", "training.json"),
        ("unlink", "state/state.safetensors"),
    ],
)
def test_a_run_killed_before_it_writes_or_removes_a_file_is_published_by_the_next_start(
    tmp_path, arguments, monkeypatch, call, file
):
    really = getattr(Path, call)

    def killed(path, *given, **named):
        if tmp_path / "1" / file in (path, *given):
            raise SystemExit
        return really(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, call, killed)
        with pytest.raises(SystemExit):
            train_run(*arguments)
    train_run(*arguments)
    assert len(list((tmp_path / "1" / "checkpoints").iterdir())) == 3
    record = json.loads((tmp_path / "1" / "training.json").read_text())
    assert all((each["from"], each["to"]) in ((0, 12), (12, 12)) for each in record["attempts"])  # none trains again
    assert not any((tmp_path / "1/state" / f"{name}.safetensors").exists() for name in ("state", "previous"))


def test_a_run_that_another_process_trains_is_refused(tmp_path, arguments):
    (tmp_path / "1").mkdir()
    with (tmp_path / "1/state.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another process trains this run"):
            train_run(*arguments)
