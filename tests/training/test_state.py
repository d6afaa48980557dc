import errno

import pytest
import torch

from transformer.support import arrays
from transformer.support.files import InputError
from transformer.training.state import StateWriter, newest_state


def test_a_state_that_cannot_be_read_now_is_kept(tmp_path, monkeypatch):
    with StateWriter(tmp_path) as writer:
        writer.write({"number": torch.tensor(1)}, {})

    def too_many(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(arrays, "safe_open", too_many)
    with pytest.raises(InputError, match=r"state\.safetensors: cannot be read \(.*Too many open files\)"):
        newest_state(tmp_path)
    assert (tmp_path / "state.safetensors").exists()
