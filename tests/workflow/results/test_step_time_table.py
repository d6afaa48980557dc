"""The table of the time of a training step."""


def test_without_base_the_first_row_takes_its_place_and_what_is_unknown_or_not_compiled_is_told(results):
    given = results.step_times("ende", A=[0.1, 0.1], B=[0.3, 0.3])
    path = results.folder / "step_time/ende.json"
    path.write_text(path.read_text().replace("0.25", "null").replace("false", "true", 1))
    rows, (text, *_) = results.table("step_time", inputs=given)
    assert [row["Time, x base, ours"] for row in rows] == ["1.00", "3.00"]
    assert "Base is not timed in ende: there, A takes its place." in text
    assert "in float32, compiled but for B. Cores that other programs used: unknown." in text
