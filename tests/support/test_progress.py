from transformer.support.progress import Progress


def lines(capsys):
    return capsys.readouterr().err.splitlines()


def test_a_log_gets_a_line_from_time_to_time_and_one_at_the_end(capsys):
    progress = Progress("ende base", 4, "step", seconds=60)
    for _ in range(3):
        progress.update(1)
    assert lines(capsys) == []
    progress.update(1, "loss 2.5")
    progress.close()
    (line,) = lines(capsys)
    assert line.startswith("ende base: 4 steps, ")
    assert line.endswith("/s, 100 % of 4, 0 s left  loss 2.5")


def test_work_that_was_done_earlier_is_counted_but_does_not_raise_the_speed(capsys, monkeypatch):
    monkeypatch.setattr("transformer.support.progress.time.monotonic", iter([0.0, 10.0]).__next__)
    Progress("ende base", 200, "step", done=100).update(20)
    assert lines(capsys) == ["ende base: 120 steps, 2/s, 60 % of 200, 40 s left"]
