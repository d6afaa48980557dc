import numpy as np
import torch

from transformer.cli.main import main
from transformer.export.float16 import to_float16
from transformer.package.loading import load_package
from transformer.support.arrays import read_arrays

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
