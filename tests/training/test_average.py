import numpy as np
import pytest

from transformer.support.arrays import write_arrays
from transformer.support.files import InputError
from transformer.training.average import average


@pytest.mark.parametrize("other", [{"weight": np.zeros(3)}, {"bias": np.zeros(2)}, {}])
def test_checkpoints_of_other_shapes_are_not_averaged(tmp_path, other):
    write_arrays(tmp_path / "a", {"weight": np.zeros(2)}, {})
    write_arrays(tmp_path / "b", other, {})
    with pytest.raises(InputError, match=f"{tmp_path}/b: its tensors differ from those of {tmp_path}/a; average"):
        average([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize(
    ("values", "mean"), [([2.5], 2.5), ([1.0, 2.0, 6.0], 3.0), ([1e8, 1, -1e8], np.float32(1 / 3))]
)
def test_the_average_is_the_mean_of_sums_in_float64(tmp_path, values, mean):
    for value in values:
        write_arrays(tmp_path / f"{value}", {"weight": np.array([value], np.float32)}, {})
    found = average([tmp_path / f"{value}" for value in values])["weight"]
    assert (found, found.dtype) == (mean, np.float32)
