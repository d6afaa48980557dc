import numpy as np
import pytest

from transformer.support.arrays import write_arrays
from transformer.support.files import InputError
from transformer.training.average import average


def test_the_average_is_the_mean(tmp_path):
    values = [np.random.default_rng(seed).standard_normal((4, 5), np.float32) for seed in range(5)]
    paths = [tmp_path / f"step-{i}" for i in range(5)]
    for path, value in zip(paths, values, strict=True):
        write_arrays(path, {"weight": value}, {})
    mean = average(paths)["weight"]
    assert mean.dtype == np.float32
    np.testing.assert_allclose(mean, np.mean(values, 0), rtol=1e-6)


def test_the_sum_is_accumulated_in_float64(tmp_path):
    paths = [tmp_path / f"step-{i}" for i in range(3)]
    for path, value in zip(paths, (1e8, 1, -1e8), strict=True):
        write_arrays(path, {"weight": np.array([value], np.float32)}, {})
    assert average(paths)["weight"] == np.float32(1 / 3)


def test_the_average_of_one_is_itself(tmp_path):
    weight = np.random.default_rng(1).standard_normal((3, 4), np.float32)
    write_arrays(tmp_path / "one", {"weight": weight}, {})
    assert np.array_equal(average([tmp_path / "one"])["weight"], weight)


@pytest.mark.parametrize("other", [{"weight": np.zeros(3)}, {"bias": np.zeros(2)}, {}])
def test_checkpoints_of_other_shapes_are_not_averaged(tmp_path, other):
    write_arrays(tmp_path / "a", {"weight": np.zeros(2)}, {})
    write_arrays(tmp_path / "b", other, {})
    with pytest.raises(InputError, match=f"{tmp_path}/b: its tensors differ from those of {tmp_path}/a; average"):
        average([tmp_path / "a", tmp_path / "b"])
