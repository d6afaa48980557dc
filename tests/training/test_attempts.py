import pytest

from transformer.training.attempts import attempt, devices, kept_attempts, read_attempts, unlike

MEANS = {"software": {"torch": "8"}, "device": "abacus", "threads": 1, "micro_batch_tokens": 4096, "compiled": False}


def go_on(path, start, steps, **means):
    with attempt(path, start, MEANS | means) as reached:
        for step in steps:
            reached(step)


def spans(path):
    return [(each["from"], each["to"], each["steps_redone"]) for each in read_attempts(path)]


def test_an_attempt_tells_its_means_its_flops_its_steps_and_its_seconds(tmp_path):
    go_on(tmp_path / "state/attempts", 0, [1, 2, 3])
    [only] = read_attempts(tmp_path / "state/attempts")
    assert 0 <= only.pop("seconds") < 60
    assert 1e8 < only.pop("sustained_flops") < 1e14
    assert only == MEANS | {"from": 0, "to": 3, "steps_redone": 0}


def test_steps_beyond_the_start_of_the_next_attempt_count_as_redone(tmp_path):
    for start, steps in ((0, [1, 2, 3, 4]), (2, []), (2, [3, 4, 5]), (5, [6]), (9, [10])):
        go_on(tmp_path / "attempts", start, steps)  # a power failure lost the steps 7 to 9 of the fourth line
    assert spans(tmp_path / "attempts") == [(0, 4, 2), (2, 2, 0), (2, 5, 0), (5, 6, 0), (9, 10, 0)]


@pytest.mark.parametrize("spoilt", [bytes(32), b'{"device": "aba', b'{"device": "abacus"}\n', b"5\n"])
def test_a_damaged_line_is_skipped(tmp_path, spoilt):
    go_on(tmp_path / "attempts", 0, [4])
    with (tmp_path / "attempts").open("ab") as file:
        file.write(spoilt)
    go_on(tmp_path / "attempts", 3, [4])
    assert spans(tmp_path / "attempts") == [(0, 4, 1), (3, 4, 0)]


def test_means_are_compared_with_those_of_the_attempt_that_reached_the_first_step(tmp_path):
    path = tmp_path / "attempts"
    assert unlike(path, 0, MEANS) == ""
    go_on(path, 0, [1, 2, 3])
    go_on(path, 3, [4], threads=2)  # this attempt saved nothing
    assert unlike(path, 3, MEANS | {"compiled": True}) == "compiled: True, not False,"
    assert unlike(path, 3, MEANS | {"software": {"torch": "9", "commit": "a"}}) == "torch 9, not 8,"
    assert unlike(path, 3, MEANS | {"micro_batch_tokens": 9}) == "9 subwords a pass, not 4096,"
    assert unlike(path, 3, MEANS | {"threads": 2}) == "2 thread(s), not 1,"
    assert unlike(path, 4, MEANS | {"device": "slide rule"}) == "slide rule, not abacus, and 1 thread(s), not 2,"


def test_a_record_without_attempts_is_one_attempt():
    record = {"seconds": 100.0, "devices": 8, "device": "abacus"}
    assert kept_attempts(record) == [record]
    assert devices(record) == "8 x abacus"


def test_attempts_of_which_no_step_was_kept_do_not_count():
    record = {"devices": 8, "device": "abacus"}
    steps = [(0, 9, 4, "computer"), (5, 7, 2, "slide rule"), (5, 12, 0, "computer"), (12, 13, 0, "abacus")]
    attempts = [{"from": a, "to": b, "steps_redone": redone, "device": name} for a, b, redone, name in steps]
    record["attempts"] = attempts
    assert [(one["from"], one["to"]) for one in kept_attempts(record)] == [(0, 9), (5, 12), (12, 13)]
    assert devices(record) == "8 x computer, then 8 x abacus"
