from transformer.training.attempts import attempt, interruptions


def go_on(path, start, steps):
    with attempt(path, start) as reached:
        for step in steps:
            reached(step)


def test_a_run_in_one_go_was_not_interrupted(tmp_path):
    go_on(tmp_path / "state/attempts", 0, [1, 2, 3])
    assert interruptions(tmp_path / "state/attempts") == (0, 0)


def test_what_each_attempt_did_beyond_the_start_of_the_next_was_done_again(tmp_path):
    for start, steps in ((0, [1, 2, 3, 4]), (2, []), (2, [3, 4, 5]), (5, [6])):
        go_on(tmp_path / "attempts", start, steps)
    assert interruptions(tmp_path / "attempts") == (3, 2)


def test_a_line_that_a_power_failure_spoilt_is_passed_over(tmp_path):
    go_on(tmp_path / "attempts", 0, [4])
    with (tmp_path / "attempts").open("ab") as file:
        file.write(bytes(32))
    go_on(tmp_path / "attempts", 3, [4])
    assert interruptions(tmp_path / "attempts") == (1, 1)
