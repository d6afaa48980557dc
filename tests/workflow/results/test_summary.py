"""What `make reproduce` says before a run and after it."""

import csv
from types import SimpleNamespace

import pytest
from overlays import only

from tests.pages import ROOT
from workflow.experiment import plan
from workflow.results import load, summary
from workflow.results.selection import Selection

PRINTED = {result.name: result.printed for _, result in load() if result.category == "Tables"}


@pytest.fixture
def found(select, tmp_path, monkeypatch):
    """Two trainings, in a folder of its own."""
    monkeypatch.setattr(plan, "cores", lambda: 3)
    return select(results=str(tmp_path), tasks=only(ende=["base", "big"]))


@pytest.fixture
def write(tmp_path):
    """Write a table of the experiment, or of the released ones."""

    def make(name, *rows, folder="quick/tables", columns=None):
        path = tmp_path / folder / f"{name}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([columns or PRINTED[name], *rows])

    return make


def finish(folder, model):
    record = folder / f"quick/runs/ende/{model}/1/training.json"
    record.parent.mkdir(parents=True)
    record.touch()


def test_before_a_run_it_says_what_is_made_and_how_long_what_is_left_takes(found, tmp_path, monkeypatch):
    hours = {("ende", "base"): 1, ("ende", "big"): 3}
    monkeypatch.setattr(summary, "costs", lambda *_: {run: SimpleNamespace(hours=(hours[run],)) for run in hours})
    monkeypatch.setattr(summary, "decoded", lambda *_: [SimpleNamespace(hours=(0.25,)), SimpleNamespace(hours=(0.75,))])
    first, second, third, _ = summary.before(found).splitlines()
    assert first.startswith("quick: 2 models, ")
    assert second.startswith("Estimated time: 5.0 hours, on 3 CPU cores")
    assert f"{tmp_path}/quick/logs" in third
    finish(tmp_path, "base")
    _, second, third, *_ = summary.before(found).splitlines()
    assert second == "Trainings finished: 1, left: 1."
    assert third.startswith("Estimated time: 3.5 hours")  # with half of decoding
    finish(tmp_path, "big")
    assert "Trainings finished: 2, left: 0.\nTables" in summary.before(found)


def test_after_a_run_tables_and_claims_are_text_without_rows_that_are_not_run(found, tmp_path, write):
    lines = ["en-de", "ByteNet", "23.75", "", ""], ["en-de", "Transformer (base model)", "27.3", "20.1", "9"]
    write("table2", *lines, columns=[*PRINTED["table2"], "Steps"])
    write("table4", ["trees", "ours", "91.3", "87.4"])  # of an earlier config
    claims = [
        ["reproduced", "6.1", "Big is better", "BLEU", "reproduced", "+1.1", "+1.5"],
        ["not run", "6.2", "Keys", "BLEU", "", "+0.7", "not run"],
        ["undecided", "6.3", "Trees", "F1", "", "+1.4", "+1.7"],
    ]
    write("claims", *claims)
    said = summary.after(found)
    assert ["en-de", "Transformer", "(base", "model)", "27.3", "20.1"] in map(str.split, said.splitlines())
    assert not [each for each in ("ByteNet", "87.4", "seeds") if each in said]
    assert "Claims that were tested: 2 (1 reproduced, 1 undecided)." in said
    assert f"Tables: {tmp_path}/quick/tables" in said


def test_a_run_ends_with_the_comparison_that_has_a_command_of_its_own(found, tmp_path, write, monkeypatch, capsys):
    monkeypatch.setattr(Selection, "released", lambda _, name: tmp_path / "released" / name / "tables")
    write("table2", ["en-de", "Transformer", "27.3", "20.1"])
    assert summary.after(found).splitlines()[-1].startswith("Nothing to compare with the released results: ")
    write("table2", ["en-de", "Transformer", "27.3", "20.1"], folder="released/quick/tables")
    assert summary.after(found).endswith("\n\n" + summary.compare(found))
    monkeypatch.setattr(summary, "PUBLISHED", ROOT / "config/published.yaml")
    summary.main("compare", str(tmp_path / "overlay.yaml"))
    said = capsys.readouterr().out.splitlines()
    assert "table2  equal to the last digit" in said
    assert said[-1] == "All other numbers that both have are equal to the last digit."
