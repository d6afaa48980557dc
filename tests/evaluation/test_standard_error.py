"""The standard error of a mean."""

from pathlib import Path

import numpy as np
import pytest

from transformer.evaluation.standard_error import standard_error


def test_two_values_err_by_half_their_distance():
    assert standard_error(np.array([1.0, 4.0])) == pytest.approx(1.5)


def test_its_formula_is_written_once():
    files = (Path(__file__).parents[2] / "transformer").rglob("*.py")
    assert [path.name for path in files if ".std(ddof=1) / len(" in path.read_text()] == ["standard_error.py"]
