import numpy as np
import pytest
import torch

from transformer.cli.main import main
from transformer.export.float16 import to_float16
from transformer.package.config import HASHED
from transformer.package.loading import load_package
from transformer.support.arrays import read_arrays, write_arrays
from transformer.support.files import InputError, sha256

CPU = torch.device("cpu")


def test_a_package_in_float16_is_half_as_large_and_each_weight_is_rounded_once(ours, tmp_path):
    half = tmp_path / "half"
    assert main(["export", "--package", str(ours), "--to", "float16", "--output", str(half)]) == 0
    before, after = (load_package(folder, CPU) for folder in (ours, half))
    stored = read_arrays(half / "model.safetensors")[0]
    assert {array.dtype for array in stored.values()} == {np.dtype("float16")}
    assert sum(array.nbytes for array in stored.values()) * 2 == sum(
        array.nbytes for array in read_arrays(ours / "model.safetensors")[0].values()
    )
    weights = before.model.state_dict()
    for name, tensor in after.model.state_dict().items():
        assert tensor.dtype == torch.float32
        assert torch.equal(tensor, weights[name].half().float())


def test_all_but_the_weights_of_a_package_in_float16_is_as_before(ours, tmp_path):
    half = tmp_path / "half"
    to_float16(ours, half)
    assert sorted(path.name for path in half.iterdir()) == sorted(path.name for path in ours.iterdir())
    for name in ("subwords.model", "history.csv", "README.md"):
        assert (half / name).read_bytes() == (ours / name).read_bytes()
    configs = [vars(load_package(folder, CPU).config) for folder in (ours, half)]
    assert {key for key in configs[0] if configs[0][key] != configs[1][key]} == {"sha256"}


def test_a_weight_beyond_float16_is_refused_and_nothing_is_written(ours, tmp_path, change_package):
    path = ours / "model.safetensors"
    arrays, texts = read_arrays(path)
    arrays["embedding"][3, 2] = 7e4
    write_arrays(path, arrays, texts)
    change_package(ours, sha256={name: sha256(ours / name) for name in HASHED})
    with pytest.raises(InputError, match="embedding has numbers beyond float16"):
        to_float16(ours, tmp_path / "half")
    assert not (tmp_path / "half").exists()
