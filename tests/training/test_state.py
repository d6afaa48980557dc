import errno
import math
import threading

import pytest
import torch

from transformer.support import arrays
from transformer.support.files import InputError
from transformer.support.tensors import read_tensors
from transformer.training import state
from transformer.training.state import StateWriter, newest_state


def test_a_writer_writes_the_tensors_as_they_were_when_it_was_called(tmp_path, monkeypatch):
    changed, write = threading.Event(), state.write_tensors

    def late(*given):
        assert changed.wait(20)
        write(*given)

    monkeypatch.setattr(state, "write_tensors", late)
    weights = torch.zeros(3)
    with StateWriter(tmp_path) as writer:
        writer.write({"weights": weights}, {})
        assert writer.pause == math.inf
        weights.fill_(1)
        changed.set()
    assert 0 < writer.pause < math.inf
    assert torch.equal(read_tensors(tmp_path / "state.safetensors")[0]["weights"], torch.zeros(3))


def test_states_are_written_one_after_the_other(tmp_path):
    with StateWriter(tmp_path) as writer:
        for number in range(5):
            writer.write({"number": torch.tensor(number)}, {})
    for name, number in (("state", 4), ("previous", 3)):
        assert read_tensors(tmp_path / f"{name}.safetensors")[0]["number"] == number


def test_a_state_that_cannot_be_written_raises_at_the_end(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"state\.safetensors: cannot be written"), StateWriter(tmp_path / "file") as w:
        w.write({}, {})


def test_a_state_that_cannot_be_read_now_is_kept(tmp_path, monkeypatch):
    with StateWriter(tmp_path) as writer:
        writer.write({"number": torch.tensor(1)}, {})

    def too_many(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(arrays, "safe_open", too_many)
    with pytest.raises(InputError, match=r"state\.safetensors: cannot be read \(.*Too many open files\)"):
        newest_state(tmp_path)
    assert (tmp_path / "state.safetensors").exists()
