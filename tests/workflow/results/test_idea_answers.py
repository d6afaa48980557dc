"""What is answered of an idea, what the ledger keeps, and how often ideas that change nothing win."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
import yaml

from transformer.evaluation.statistics import unpaired
from transformer.support.files import InputError
from transformer.support.strict import as_yaml, plain
from workflow.experiment.config import read_experiment
from workflow.experiment.tasks import FRESH
from workflow.results.ideas import check, judge, ledger, tell
from workflow.results.ideas.released import archives, released
from workflow.results.ideas.table import RESULTS, differences

ROOT = Path(__file__).parents[3]
SMALL = ROOT / "config/small.yaml"
SCHEMA = json.loads((ROOT / "ideas/schema.json").read_text())
SAME = {"device": "AMD EPYC"}  # that of the released runs


@pytest.fixture
def experiment(tmp_path):
    """`small` with an idea."""

    def make(**values):
        overlay = {"models": {"mine": {"d_ff": 3072} | values}, "trial": {"row": "mine"}}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(overlay))
        return read_experiment([SMALL, tmp_path / "mine.yaml"])

    return make


@pytest.fixture
def book(tmp_path):
    return tmp_path / "ideas/ledger.csv"


@pytest.fixture
def judged(results, experiment, book):
    """Judge an idea whose scores are those of base with `better` more BLEU and `less` percent less perplexity.

    The control is better by `control`, and was trained as the released runs, but for `trained`.
    """

    def run(better=0.0, less=0.0, control=0.0, confirming=False, d_ff=3072, data=None, **trained):
        made = experiment(d_ff=d_ff)
        known, seeds = released(made, "base", archives()), [*(FRESH if confirming else made.seeds)]

        def scored(seed, bleu, percent):
            scores = json.loads(json.dumps(known[seed].scores))
            scores["paper_bleu"]["score"] += bleu
            scores["perplexity"] *= 1 - percent / 100
            return scores

        package = json.loads(json.dumps(known[1].package))
        package["training"] |= trained | ({"data_sha256": data} if data else {})
        package["training"]["software"] = {"commit": "c0ffee", **trained.get("software", {"torch": "2.13.0+cpu"})}
        rows = [{"model": "mine", "seconds": [0.12, 0.13]}, {"model": "base", "seconds": [0.10, 0.11]}]
        wave = {seed: math.sin(3 * seed) / 20 for seed in seeds}
        job = SimpleNamespace(
            input=SimpleNamespace(
                row=[
                    results.write(f"mine.{seed}.json", scored(seed, better + wave[seed], less + wave[seed]))
                    for seed in seeds
                ],
                packages=[results.write("package.json", package)] * len(seeds),
                control=[results.write("base.json", scored(1, control, control))],
                control_package=[results.write("package.json", package)],
                times=results.write("times.json", {"rows": rows}),
                config=results.write("experiment.yaml", as_yaml(plain(made))),
                released=archives(),
            ),
            output=[results.write("answer.json", "")],
            params=SimpleNamespace(ledger=str(book), confirming=confirming),
        )
        judge.main(job)
        answer = json.loads(Path(job.output[0]).read_text())
        jsonschema.validate(answer, SCHEMA)
        return answer

    return run


def test_a_screening_says_what_the_seeds_show_and_what_a_confirmation_would_and_never_better(judged, book):
    answer = judged(better=1.5, less=2, **SAME)
    assert (answer["status"], answer["seeds"], answer["k"], answer["unfit"]) == ("screened", [1, 2, 3, 4, 5], 1, "")
    bleu = answer["measures"]["bleu"]
    assert bleu["mean"] == pytest.approx(1.5, abs=0.02)
    assert bleu["low"] < 1.5 < bleu["high"]
    told = " ".join(answer["sentences"])
    assert "mine is screened against small/base: perplexity +2.0 % (+" in told
    assert "the control (seed 1) scores as released" in told
    assert "This is no win: only a confirmation is one." in told
    assert "better" not in told
    chances = {key: [round(each, 2) for each in value.values()] for key, value in answer["power"].items()}
    assert chances == {"1": [0.96, 0.98], "3": [0.83, 0.9], "10": [0.54, 0.65]}
    assert "k = 3: 0.83 and 0.90" in told
    assert [line["event"] for line in ledger.read(book)] == ["screened"]


def test_the_same_idea_is_the_same_line_and_another_value_another_one(judged, book):
    judged(less=1, **SAME)
    judged(less=1, **SAME)
    judged(less=1, d_ff=1024, **SAME)
    first, second = ledger.states(ledger.read(book))
    assert (first["what"], second["what"]) == ("d_ff 3072", "d_ff 1024")
    assert len(ledger.read(book)) == 2


def test_an_idea_is_known_by_its_code_and_not_by_its_name_or_comments(experiment, tmp_path):
    placebo, other = ROOT / "ideas/placebo.py", tmp_path / "other.py"
    other.write_text("# Mine.\n" + placebo.read_text())
    files = ("ideas/placebo.py", str(other), "ideas/rms_norm.py")
    one, two, three = (ledger.entry_of(experiment(idea=path)) for path in files)
    assert one["digest"] == two["digest"] != three["digest"]
    assert three["what"] == "RMSNorm in place of LayerNorm: it subtracts no mean and has no bias"
    assert three["source"].startswith("Zhang and Sennrich 2019, Root Mean Square")


def test_a_confirmation_that_was_begun_wins_or_does_not_and_is_counted(judged, experiment, book):
    for number, (d_ff, less) in enumerate([(3072, 0.5), (1024, 4), (512, 4)]):
        ledger.begin(book, ledger.entry_of(experiment(d_ff=d_ff)))
        answer = judged(less=less, confirming=True, d_ff=d_ff, **SAME)
        assert answer["status"] == ("confirmed" if less == 4 else "not confirmed")
        assert (answer["k"], answer["seeds"]) == ((1, 2, 2)[number], [*FRESH])
        assert (answer["measures"]["perplexity"]["low"] > 0) == (less == 4)  # the interval is as wide as the level
        assert answer["level"] == pytest.approx({1: 0.05 / 4, 2: 0.05 / 12}[answer["k"]])
    again = judged(less=4, confirming=True, **SAME)  # a second result of a confirmation is none
    assert again["k"] == 1
    assert [line["status"] for line in ledger.states(ledger.read(book))] == ["not confirmed", "confirmed", "confirmed"]


def test_on_the_same_device_a_control_that_differs_is_code_that_changed_base_and_nothing_is_judged(
    judged, book, monkeypatch, results
):
    monkeypatch.setattr(judge, "changed_code", lambda: ["transformer/model/layers.py"])
    answer = judged(control=-0.4, **SAME)
    assert (answer["status"], answer["measures"]) == ("cannot be judged", {})
    assert "your code changed base: base with seed 1, trained again, differs" in answer["reason"]
    assert "(perplexity -0.4 %, BLEU -0.4)" in answer["reason"]
    assert "Files that differ from the last commit: transformer/model/layers.py." in answer["reason"]
    assert not book.exists()
    job = SimpleNamespace(input=SimpleNamespace(answer=results.write("answer.json", answer)), log=[])
    with pytest.raises(InputError, match="mine cannot be judged: your code changed base"):
        tell.main(job)
    for other in ({"precision": "float32"}, {"threads": 2}, {"software": {"torch": "3.0"}}, {"device": "a Xeon"}):
        assert judged(control=-0.4, **SAME | other)["status"] == "screened"
    assert judged(control=3e-5, **SAME)["status"] == "screened"  # perplexity that is summed in another order is equal
    assert "text of this experiment" in judged(data="ab" * 32, **SAME)["reason"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"device": "a Xeon", "control": -0.4},
            "the control does not score as released (perplexity -0.4 %, BLEU -0.4)",
        ),
        ({"precision": "float32"}, "a confirmation needs precision bfloat16, not float32"),
        ({"software": {"torch": "3.0"}}, "a confirmation needs torch 2.13.0+cpu, not 3.0"),
        ({}, "it was not begun"),
    ],
)
def test_a_confirmation_needs_what_the_release_had_and_its_number(judged, experiment, book, changes, why):
    if changes:
        ledger.begin(book, ledger.entry_of(experiment()))
    answer = judged(less=4, confirming=True, **SAME | changes)
    assert answer["status"] == "cannot be judged"
    assert why in answer["reason"]
    assert [line["status"] for line in ledger.states(ledger.read(book))] == ["withdrawn"] * bool(changes)


def test_nothing_is_confirmed_that_was_not_screened_here_with_these_values(judged, experiment, tmp_path):
    path = tmp_path / "answer.json"
    with pytest.raises(InputError, match="mine: is not screened yet"):
        check.check_screened(experiment(), path)
    judged(**SAME)
    check.check_screened(experiment(), path)
    with pytest.raises(InputError, match="mine: is not screened yet"):
        check.check_screened(experiment(d_ff=1024), path)
    judged(control=0.4, device="a Xeon")
    with pytest.raises(InputError, match="mine: cannot be confirmed here: the control does not score as released"):
        check.check_screened(experiment(), path)


def test_a_line_of_the_ledger_that_is_damaged_is_named(book, experiment):
    ledger.begin(book, ledger.entry_of(experiment()))
    whole = book.read_text()
    for damaged in (whole + "2026", whole.partition("\n")[2], whole.replace("begun", "begun,")):
        book.write_text(damaged)
        with pytest.raises(InputError, match=r"ledger.csv, line \d: is no line of a ledger"):
            ledger.read(book)


# Ideas that change nothing.


def ledgers(generator, ideas=40, best=20, count=150, flat=False):
    """The share of ledgers with a false win: of identical models, those that screened best are confirmed."""
    false = 0
    for _ in range(count):
        screened = generator.normal(size=(ideas, 5)).mean(1)
        base = generator.normal(size=(2, len(FRESH)))
        entries = []
        for digest in map(str, np.argsort(-screened)[:best]):
            k, _ = ledger.number(entries, digest)
            entries.append({"digest": digest, "event": "begun", "k": str(k)})
            level = 0.05 if flat else ledger.tail(k)
            if any(unpaired(generator.normal(size=len(FRESH)), each).above(0) < level for each in base):
                entries.append({"digest": digest, "event": "confirmed"})
        false += "confirmed" in [entry["event"] for entry in entries]
    return false / count


def test_few_ledgers_of_ideas_that_change_nothing_have_a_false_win():
    """With 4,000 ledgers it is 3 in 100. At a flat 5 % most would have one."""
    assert ledgers(np.random.default_rng(1), count=400) < 0.05
    assert ledgers(np.random.default_rng(1), count=40, flat=True) > 0.5


def test_one_run_of_an_identical_model_is_better_in_47_of_100_and_the_best_of_20_in_91_by_half_a_point():
    runs = released(read_experiment([SMALL]), "base", archives())
    scores = np.array([each.scores["paper_bleu"]["score"] for each in runs.values()])
    shown = []
    for count in (1, 20):
        apart, chances = differences(scores, count)
        assert chances.sum() == pytest.approx(1)
        shown.append((round(chances[apart > 0].sum(), 2), round(chances @ apart, 1)))
    assert shown == [(0.47, 0.0), (0.91, 0.5)]


# The table and the pictures.


def test_all_ideas_are_shown_with_their_status_and_released_rows_as_known(judged, experiment, results, book):
    ledger.begin(book, ledger.entry_of(experiment(d_ff=1024)))
    judged(less=4, confirming=True, d_ff=1024, **SAME)
    judged(better=1.5, less=2, **SAME)
    ledger.begin(book, ledger.entry_of(experiment(d_ff=512)))
    inputs = {"ledger": [str(book)], "released": archives()}
    table, *figures = RESULTS
    output = {kind: [str(results.folder / f"ideas.{kind}")] for kind in ("csv", "md", "html", "tex")}
    table.make(results.job(output=output, inputs=inputs))
    rows = list(csv.DictReader((results.folder / "ideas.csv").read_text().splitlines()))
    assert {row["Idea"]: row["Status"] for row in rows[:3]} == dict.fromkeys(("E-t5", "E-alibi", "E-rotary"), "known")
    assert rows[0]["Narang et al. (2021)"] == "in all models"
    assert [row["Status"] for row in rows[3:]] == ["confirmed (k = 1)", "screened", "withdrawn (k = 1)"]
    screened = rows[4]
    assert (screened["What"], screened["BLEU, in favour"]) == ("d_ff 3072", "+1.5")
    assert screened["A step is longer by"] == "+19 %"
    for figure in figures:
        output = {name: [str(results.folder / f"{name}.svg")] for name in figure.titles}
        figure.make(results.job(output=output, inputs=inputs))
    assert "mine, withdrawn" in (results.folder / "ideas.svg").read_text()
    assert "91 %" in (results.folder / "one_run.svg").read_text()


def test_without_an_idea_nothing_changes_and_with_one_its_runs_are_in_no_other_result(select):
    assert select().runs.tried == {}
    found = select(seeds=[1, 2, 3], models={"mine": {"d_ff": 3072}}, trial={"row": "mine"})
    assert found.runs.tried == {"mine": [1, 2, 3, *FRESH], "base": [1]}
    assert not [path for path in found.scored if "/mine/" in path]
    assert ("ende", "mine", "dev") in found.decoded
