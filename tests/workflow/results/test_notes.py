"""The notes below tables: what our numbers are made of, and by what means."""

import json
from pathlib import Path

import pytest


def remade(run, **changes):
    """Change what a run's package says of its training."""
    path = Path(run.package)
    training = json.loads(path.read_text())["training"]
    path.write_text(json.dumps({"training": training | changes}))
    return run


def test_notes_say_in_each_format_how_the_numbers_were_made(results):
    runs = [results.run("ende", model) for model in ("base", "A-h1")]
    runs.append(results.run("ende", "big", decoding={"sample": 1, "precision": "float32"}))
    _, texts = results.table("table3", runs)
    for said in (
        "Not comparable: another text.",
        "213 million",
        "One seed: small differences mean nothing. ende: 900 sentences of dev, beam 4, length penalty 0.6, checkpoints",
        "; ende: 900 sentences of dev, drawn with seed 1, checkpoints averaged: 1.",
    ):
        assert [said in " ".join(text.split()) for text in texts] == [True] * 3


@pytest.mark.parametrize("table", ["table3", "table4"])
def test_notes_say_if_runs_were_trained_by_different_means(results, table):
    task, models = ("wsj", ["parser", "mine", "other"]) if table == "table4" else ("ende", ["base", "big", "A-h1"])
    runs = [results.run(task, model, part="test" if task == "wsj" else "dev") for model in models]
    _, texts = results.table(table, runs, trained_on={"wsj": "trees"})
    assert not any("made alike" in text for text in texts)
    other = {"precision": "bfloat16", "threads": 4, "device": "a GPU"}
    remade(runs[1], **other, software={"commit": "cd" * 20, "torch": "2.14.0"})
    _, texts = results.table(table, runs, trained_on={"wsj": "trees"})
    assert all(text.count("Not all runs are made alike, most with commit") == 1 for text in texts)
    for means, theirs, others in (
        ("commit", "cdcdcdcdcdcd", "abababababab-dirty"),
        ("device", "2 x a GPU", "2 x a CPU"),
        ("threads", "4", "1"),
        ("precision", "bfloat16", "float32"),
        ("versions", "torch 2.14.0", "torch 2.13.0"),
    ):
        assert all(f"{means} {others}; {theirs}: {task} {models[1]} 1" in text for text in texts)


def test_notes_say_if_attempts_of_a_run_differ(results):
    runs = [results.run("ende", model) for model in ("base", "big", "A-h1")]
    steps = [(0, 9, 4, 1), (5, 7, 2, 3), (5, 12, 0, 2)]  # of the second nothing was kept
    attempts = [
        {"from": start, "to": to, "steps_redone": redone, "threads": threads, "seconds": 5.0}
        for start, to, redone, threads in steps
    ]
    remade(runs[2], attempts=attempts, threads=2)
    _, (md, _, _) = results.table("table3", runs)
    assert "most with threads 1; 2: ende A-h1 1 (in part)." in md


def test_a_run_on_two_devices_names_both_and_costs_the_sum(results):
    run = results.run("ende", "base", training={"seconds": 300.0, "devices": 1, "device": "a GPU"})
    # Half of the first attempt's steps are kept, so it counts for 100 of the 300 seconds.
    first = {"from": 0, "to": 8, "steps_redone": 4, "devices": 2, "device": "a CPU", "sustained_flops": 5e10}
    second = {"from": 4, "to": 12, "steps_redone": 0, "devices": 1, "device": "a GPU", "sustained_flops": 1e13}
    remade(run, attempts=[{**one, "seconds": 300.0} for one in (first, second)])
    [row], _ = results.table("runs", [run])
    assert (row["Device"], row["Hours"]) == ("2 x a CPU, then 1 x a GPU", "0.08")
    rows, (md, _, _) = results.table("table2", [run])
    costs = {row["Training cost (FLOPs), ours, estimated"] for row in rows}
    assert "2.0e+15" in costs  # 100 x 2 x 5e10 + 200 x 1e13
    assert "- a CPU, 5.0e+10 FLOP/s sustained; a GPU, 1.0e+13 FLOP/s sustained; " in md


def test_the_runs_say_what_made_each(results):
    runs = [results.run("ende", "base"), results.run("wsj", "parser")]
    rows, _ = results.table("runs", runs)
    assert [(row["Task"], row["Model"], row["Seed"]) for row in rows] == [("ende", "base", "1"), ("wsj", "parser", "1")]
    assert (rows[0]["Config"], rows[0]["Commit"]) == ("c0ffee012345", "abababababab-dirty")
    assert (rows[0]["Device"], rows[0]["Precision"], rows[0]["Hours"]) == ("2 x a CPU", "float32", "0.06")
    assert (rows[0]["Resumed"], rows[0]["Steps again"]) == ("2", "1,250")
