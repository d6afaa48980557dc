import pytest
import torch

from transformer.export.marian import to_marian
from transformer.model.masks import Rows


@pytest.fixture
def save_like_marian(save):
    """Write a package that Marian can express, except for the given changes."""
    like = {"N": 2, "d_model": 16, "h": 2, "d_k": 8, "d_v": 8}
    return lambda name="package", **changes: save(name, **like | changes)


@pytest.fixture
def ours(save_like_marian):
    return save_like_marian("ours", attention_dropout=0.3)


@pytest.fixture
def marian(ours, tmp_path):
    to_marian(ours, tmp_path / "marian")
    return tmp_path / "marian"


@pytest.fixture(scope="session")
def our_logits():
    """The logits of a package."""

    def compute(package, source, target):
        with torch.inference_mode():
            logits = package.model.logits(package.model(Rows.of(source), Rows.of(target)))
        return logits.clone()

    return compute
