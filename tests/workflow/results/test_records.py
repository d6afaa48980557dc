import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.support.files import InputError
from workflow.results.common.csv_files import read_csv
from workflow.results.common.records import estimated_flops

TRAINING = {"seconds": 100.0, "devices": 8, "device": "abacus", "sustained_flops": 3.0}


def attempt(start, to, redone, seconds, **means):
    return {"from": start, "to": to, "steps_redone": redone, "seconds": seconds, **means}


@given(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_the_cost_of_a_run_in_one_attempt_is_the_product_to_the_last_bit(whole, of_attempt):
    training = {**TRAINING, "seconds": whole}
    assert estimated_flops(training) == whole * 8 * 3.0
    assert estimated_flops({**training, "attempts": [attempt(0, 7, 0, of_attempt)]}) == whole * 8 * 3.0


def test_each_attempt_costs_its_own_devices_for_its_part_of_the_seconds():
    quick = {"devices": 2, "device": "computer", "sustained_flops": 50.0}
    attempts = [attempt(0, 6, 0, 30.0, **quick), attempt(6, 9, 3, 9.0), attempt(6, 12, 3, 20.0), attempt(9, 12, 0, 0.0)]
    training = {**TRAINING, "seconds": 20.0, "attempts": attempts}
    assert estimated_flops(training) == 15 * 2 * 50 + 5 * 8 * 3


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not CSV"),
        ("a,b\n1\n2,3,4\n", "not CSV"),
        ("a\n1\n", "not CSV with numbers: has no column b"),
        ("a,b\n1,\n2,x\n", "not CSV with numbers: .*x"),
    ],
)
def test_a_damaged_csv_is_named(tmp_path, text, fault):
    path = tmp_path / "history.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=f"history.csv: {fault}.*; make it again"):
        read_csv(path, "a", "b")
