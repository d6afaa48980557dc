"""What `make reproduce` says before a run and after it."""

import csv
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml

from workflow.experiment import plan
from workflow.experiment.config import read_experiment
from workflow.results import load, summary
from workflow.results.selection import Selection


def printed(name):
    """The columns of a table that are printed after a run."""
    return next(result for _, result in load() if result.rule == f"write_{name}").printed


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Two trainings, in a folder of its own."""
    monkeypatch.setattr(plan, "cores", lambda: 3)
    overlay = {
        "results": str(tmp_path),
        "tasks": {"ende": {"models": ["base", "big"]}, "enfr": {"models": []}, "wsj": {"models": []}},
    }
    overlay["tasks"]["semi"] = {"models": []}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(overlay))
    return read_experiment([tmp_path / "own.yaml"])


def test_before_a_run_it_says_what_is_made_how_long_and_where_to_look(experiment, tmp_path):
    lines = summary.before(experiment).splitlines()
    assert lines[0].startswith("quick: 2 models, ")
    assert "tables" in lines[0]
    assert lines[1].startswith("Estimated time: ")
    assert "3 CPU cores" in lines[1]
    assert f"{tmp_path}/quick/logs" in lines[2]


def test_the_estimated_time_is_that_of_the_trainings_left_with_their_share_of_decoding(
    experiment, tmp_path, monkeypatch
):
    hours = {("ende", "base"): 1, ("ende", "big"): 3}
    monkeypatch.setattr(summary, "costs", lambda *_: {run: SimpleNamespace(hours=(hours[run],)) for run in hours})
    monkeypatch.setattr(summary, "decoded", lambda *_: [SimpleNamespace(hours=(0.25,)), SimpleNamespace(hours=(0.75,))])
    assert "Estimated time: 5.0 hours, on 3 CPU cores" in summary.before(experiment)
    record = tmp_path / "quick/runs/ende/base/1/training.json"
    record.parent.mkdir(parents=True)
    record.touch()
    assert "Estimated time: 3.5 hours, on 3 CPU cores" in summary.before(experiment)
    hours["ende", "big"] = 6
    assert "Estimated time: 6.5 hours, on 3 CPU cores" in summary.before(experiment)


def test_given_packages_are_named_and_not_trained(experiment, tmp_path):
    given = replace(experiment, packages=f"{tmp_path}/given")
    _, second, third, _ = summary.before(given).splitlines()
    assert second == f"Nothing is trained: the models are those in {tmp_path}/given."
    assert third.startswith("Tables, figures ")
    assert f"Trained models: {tmp_path}/given\n" in summary.after(given)


def test_an_interrupted_run_says_what_is_left(experiment, tmp_path):
    for model, line in (("base", "Trainings finished: 1, left: 1."), ("big", "Trainings finished: 2, left: 0.")):
        record = tmp_path / f"quick/runs/ende/{model}/1/training.json"
        record.parent.mkdir(parents=True)
        record.touch()
        assert summary.before(experiment).splitlines()[1].startswith(line)
    assert "Estimated" not in summary.before(experiment)


def write(path, columns, *rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *rows])


def test_after_a_run_tables_and_claims_are_text(experiment, tmp_path):
    tables = tmp_path / "quick/tables"
    lines = ["en-de", "ByteNet", "23.75", "", ""], ["en-de", "Transformer (base model)", "27.3", "20.1", "9"]
    write(tables / "table2.csv", [*printed("table2"), "Steps"], *lines)
    claims = [
        ["reproduced", "6.1", "Big is better", "BLEU", "reproduced", "+1.1", "+1.5"],
        ["not run", "6.2", "Keys", "BLEU", "", "+0.7", "not run"],
        ["undecided", "6.3", "Trees", "F1", "", "+1.4", "+1.7"],
    ]
    write(tables / "claims.csv", printed("claims"), *claims)
    said = summary.after(experiment)
    assert ["en-de", "Transformer", "(base", "model)", "27.3", "20.1"] in map(str.split, said.splitlines())
    assert "ByteNet" not in said
    assert "Claims that were tested: 2 (1 reproduced, 1 undecided)." in said
    assert "seeds" not in said
    assert f"Tables: {tables}" in said


@pytest.mark.parametrize("seeds", ["one seed", "two seeds"])
@pytest.mark.parametrize(
    "others", [[], [["contrary", "3.2.2", "Eight heads are as fast", "time of a step", "", "", "-40 %"]]]
)
def test_with_too_few_seeds_for_verdicts_it_says_what_they_are_for_and_what_comes_from_few_steps(
    experiment, tmp_path, seeds, others
):
    row = [f"undecided: {seeds}", "6.2 C", "More layers are better", "BLEU, dev", "reproduced", "+1.8", "-1.7"]
    write(tmp_path / "quick/tables/claims.csv", printed("claims"), row, *others)
    said = " ".join(summary.after(experiment).split())
    assert ("Claims about the time of a step: 1 (1 contrary)." in said) == bool(others)
    assert "were tested" not in said
    assert "Claims that need at least 3 seeds for a verdict: 1. What fewer seeds are for: " in said
    assert "Two results against the paper may come from training for only 640 steps." in said
    assert said.index("640 steps") < said.index("Tables: ")


def test_a_run_ends_with_the_comparison_that_has_a_command_of_its_own(experiment, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(Selection, "released", lambda _, name: tmp_path / "released" / name / "tables")
    for table in (tmp_path / "quick/tables", tmp_path / "released/quick/tables"):
        write(table / "table2.csv", printed("table2"), ["en-de", "Transformer", "27.3", "20.1"])
    assert summary.after(experiment).endswith("\n\n" + summary.compare(experiment))
    summary.main("compare", str(tmp_path / "own.yaml"))
    said = capsys.readouterr().out.splitlines()
    assert "table2  equal to the last digit" in said
    assert said[-1] == "All other numbers that both have are equal to the last digit."


def test_without_released_tables_the_comparison_is_one_line(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(Selection, "released", lambda _, name: tmp_path / "released" / name / "tables")
    write(tmp_path / "quick/tables/table2.csv", printed("table2"), ["en-de", "Transformer", "27.3", "20.1"])
    *_, before, last = summary.after(experiment).splitlines()
    assert before == ""
    assert last.startswith(
        f"Nothing to compare with the released results: {tmp_path}/released/quick/tables has no table"
    )


def test_after_a_run_a_model_that_overfits_is_named(experiment, tmp_path):
    package = tmp_path / "quick/runs/ende/base/1/average-1/package"
    perplexities = enumerate([9, 5, 6, 7, 8], 1)
    write(package / "history.csv", ["step", "dev_perplexity"], *((100 * i, each) for i, each in perplexities))
    assert "overfits" not in summary.after(experiment)  # its package is not finished
    (package / "config.json").write_text('{"training": {"task": "ende", "model": "base"}}')
    said = " ".join(summary.after(experiment).split())
    assert "ende base overfits: perplexity on dev was best, 5.00, at step 200 of 500, and ended at 8.00." in said


def test_a_table_of_an_earlier_config_is_not_shown(experiment, tmp_path):
    write(tmp_path / "quick/tables/table4.csv", printed("table4"), ["trees", "ours", "91.3", "87.4"])
    assert "87.4" not in summary.after(experiment)


@pytest.mark.parametrize("name", ["table2", "table3", "table4"])
def test_the_columns_printed_are_columns_of_the_table(results, name):
    rows, _ = results.table(name, [], trained_on={})
    assert set(printed(name)) <= set(rows[0])
