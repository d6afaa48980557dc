import pytest
import torch

from transformer.support.files import InputError
from transformer.support.tensors import write_tensors
from transformer.training.average import average


def test_the_average_is_the_mean(tmp_path):
    values = [torch.randn(4, 5) for _ in range(5)]
    paths = [tmp_path / f"step-{i}" for i in range(5)]
    for path, value in zip(paths, values, strict=True):
        write_tensors(path, {"weight": value}, {})
    mean = average(paths)["weight"]
    assert mean.dtype == torch.float32
    torch.testing.assert_close(mean, torch.stack(values).mean(0))


def test_the_average_of_one_is_itself(tmp_path):
    weight = torch.randn(3, 4)
    write_tensors(tmp_path / "one", {"weight": weight}, {})
    assert torch.equal(average([tmp_path / "one"])["weight"], weight)


@pytest.mark.parametrize("other", [{"weight": torch.zeros(3)}, {"bias": torch.zeros(2)}, {}])
def test_checkpoints_of_other_shapes_are_not_averaged(tmp_path, other):
    write_tensors(tmp_path / "a", {"weight": torch.zeros(2)}, {})
    write_tensors(tmp_path / "b", other, {})
    with pytest.raises(InputError, match=f"{tmp_path}/b: its tensors differ from those of {tmp_path}/a; average"):
        average([tmp_path / "a", tmp_path / "b"])
