"""The table of the time of a training step."""

import numpy as np
import pytest
from scipy.stats import t


def test_times_stand_beside_flops_and_both_are_compared_with_base(results, published):
    times = {"base": [0.1, 0.2, 0.3], "aop1": [0.2, 0.4, 0.6], "recurrent": [0.1, 0.1, 0.4]}
    rows, (text, *_) = results.table("step_time", inputs=results.step_times("ende", **times))
    base, aop1, recurrent = rows
    half = t.isf(0.025, 2) * 100 / 3**0.5
    assert base["Milliseconds a step, interval"] == f"{200 - half:.1f} to {200 + half:.1f}"
    assert (base["Time, x base, ours"], base["Time, x base, interval"]) == ("1.00", "")
    hours = {row["model"]: row["hours"] for row in published["appendix"]}
    assert aop1["Time, x base, published"] == f"{hours['aop1'] / hours['base']:.2f}"
    assert (aop1["Time, x base, ours"], aop1["Time, x base, interval"]) == ("2.00", "2.00 to 2.00")
    assert float(recurrent["Time, x base, ours"]) == pytest.approx(np.cbrt(1 / 2 * 4 / 3), abs=0.005)
    assert "3 rounds of 10, on abacus with 1 CPU thread, in float32, not compiled." in text
    assert "Cores that other programs used: 0.2, at most 0.2." in text
    assert "takes its place" not in text


def test_without_base_the_first_row_takes_its_place_and_what_is_unknown_or_not_compiled_is_told(results):
    given = results.step_times("ende", A=[0.1, 0.1], B=[0.3, 0.3])
    path = results.folder / "step_time/ende.json"
    path.write_text(path.read_text().replace("0.25", "null").replace("false", "true", 1))
    rows, (text, *_) = results.table("step_time", inputs=given)
    assert [row["Time, x base, ours"] for row in rows] == ["1.00", "3.00"]
    assert "Base is not timed in ende: there, A takes its place." in text
    assert "in float32, compiled but for B. Cores that other programs used: unknown." in text
