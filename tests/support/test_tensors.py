import json

import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from transformer.support.arrays import DamagedFileError, read_metadata
from transformer.support.tensors import read_tensors, write_tensors

TENSORS = {
    "float": torch.randn(3, 4),
    "double": torch.randn((), dtype=torch.float64),
    "half": torch.randn(5).half(),
    "bytes": torch.arange(7, dtype=torch.uint8),
    "steps": torch.tensor(12),
    "flags": torch.tensor([True, False]),
    "turned": torch.arange(6.0).view(2, 3).t(),
    "nothing": torch.zeros(0, 3),
}


@pytest.fixture
def path(tmp_path):
    write_tensors(tmp_path / "step-1.safetensors", TENSORS, {"step": "1", "config": "{}"})
    return tmp_path / "step-1.safetensors"


def test_tensors_and_texts_that_are_written_and_read_are_unchanged(path):
    tensors, metadata = read_tensors(path)
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)
    assert metadata["step"] == "1"
    assert read_metadata(path) == metadata


@given(share=st.floats(0, 1))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_cut_short_is_refused(path, share):
    whole = path.read_bytes()
    damaged = path.with_name("cut")
    damaged.write_bytes(whole[: int(share * (len(whole) - 1))])
    with pytest.raises(DamagedFileError, match="cut: damaged"):
        read_tensors(damaged)


@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_changed_bit_is_noticed(path, share, bit):
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 1 << bit
    damaged = path.with_name("flipped")
    damaged.write_bytes(content)
    with pytest.raises(DamagedFileError, match="flipped: damaged"):
        read_tensors(damaged)


@pytest.mark.agreement(witness="safetensors")
def test_the_safetensors_library_reads_our_files_and_finds_the_numbers_that_it_writes(path):
    texts = {"texts": json.dumps(read_metadata(path))}
    own = {name: tensor.contiguous() for name, tensor in TENSORS.items()}
    theirs = safetensors.torch.load(safetensors.torch.save(own, texts))
    ours = safetensors.torch.load(path.read_bytes())
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert path.stat().st_size % 8 == (sum(tensor.nbytes for tensor in own.values())) % 8  # the header is aligned


def test_the_same_tensors_make_the_same_file(path):
    again = path.with_name("again")
    write_tensors(again, dict(reversed(TENSORS.items())), {"step": "1", "config": "{}"})
    assert again.read_bytes() == path.read_bytes()
