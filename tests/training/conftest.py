import pytest
import torch

from transformer.training.loop import Trainer


@pytest.fixture
def start(tmp_path, run_config, encoded):
    """Make a trainer in the folder of the given name, with some keys of the config, or dev, changed."""

    def make(folder="state", micro=48, dev=None, **changes):
        given = (run_config(**changes), 40, encoded("train"), dev or encoded("dev"), tmp_path / folder)
        return Trainer(*given, torch.device("cpu"), micro_batch_tokens=micro)

    return make
