"""What a trial says: paired or not, after one look or several, in its table and its figure."""

import csv
import json
import math
from pathlib import Path
from statistics import fmean, stdev
from types import SimpleNamespace

import pytest
import yaml

from transformer.evaluation.metrics import number_of
from transformer.support.files import InputError
from transformer.support.strict import as_yaml, plain
from workflow.dag.trial import look
from workflow.experiment.config import read_experiment
from workflow.experiment.trial import archives, released
from workflow.jobs import judge_trial
from workflow.jobs.judge_trial import main
from workflow.results.claims.verdicts import MEASURES
from workflow.results.tables.trial import RESULTS

SMALL = Path(__file__).parents[3] / "config/small.yaml"


@pytest.fixture
def experiment(tmp_path):
    """`small` with a trial and with some seeds."""

    def make(seeds=(1, 2, 3, 4, 5), **values):
        overlay = {"seeds": list(seeds), "models": {"mine": {"d_ff": 3072} | values}, "trial": {"row": "mine"}}
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(overlay))
        return read_experiment([SMALL, tmp_path / "mine.yaml"])

    return make


@pytest.fixture
def judge(results, experiment, tmp_path):
    """Judge a row whose scores are those of base with `better` more BLEU and `less` percent less perplexity."""

    def run(seeds=(1, 2, 3, 4, 5), better=0.0, less=0.0, control=0.0, data=None, **trained):
        made = experiment(seeds)
        known = released(made, "base", archives())

        def scored(seed, bleu, percent):
            scores = json.loads(json.dumps(known[seed].scores))
            scores["paper_bleu"]["score"] += bleu
            scores["perplexity"] *= 1 - percent / 100
            return scores

        wave = {seed: math.sin(3 * seed) / 20 for seed in seeds}
        package = json.loads(json.dumps(known[seeds[0]].package))
        package["training"] |= {"device": "a Xeon", **({"data_sha256": data} if data else {}), **trained}
        steps = {"flops": 3e9, "others": [0.1] * 10, "precision": "float32", "compiled": False}
        rows = [
            {"task": "ende", "model": "mine", "parameters": 700_000, "seconds": [0.12, 0.13] * 5} | steps,
            {"task": "ende", "model": "base", "parameters": 542_208, "seconds": [0.10, 0.11] * 5} | steps,
        ]
        times = {"rounds": 10, "steps": 10, "device": "a Xeon", "threads": 1, "software": {"commit": "c0ffee" * 6}}
        job = SimpleNamespace(
            input=SimpleNamespace(
                row=[
                    results.write(f"mine.{seed}.json", scored(seed, better + wave[seed], less + wave[seed]))
                    for seed in seeds
                ],
                control=[results.write("base.json", scored(seeds[0], control, control))],
                control_package=[results.write("package.json", package)],
                times=results.write("times.json", times | {"rows": rows}),
                config=results.write("experiment.yaml", as_yaml(plain(made))),
                released=archives(),
            ),
            output=[results.write("answer.json", "")],
            params=SimpleNamespace(looks=str(tmp_path / "looks.json")),
            log=[str(tmp_path / "log")],
        )
        main(job)
        return json.loads(Path(job.output[0]).read_text())

    return run


def test_a_control_that_is_equal_pairs_the_seeds(judge):
    answer = judge(better=1.5, less=2)
    assert answer["paired"]
    assert answer["measures"]["bleu"]["verdict"] == "better"
    assert answer["measures"]["perplexity"]["verdict"] == "better, by less than the margin"
    first, second = answer["sentences"]
    assert first.startswith(
        "mine against base (+: in its favour; intervals of 98 %): better, by less than the margin in perplexity (+2."
    )
    assert first.endswith("; 5 seeds, look 1.")
    assert "(base, seed 1) equals the released run to five digits" in second


@pytest.mark.parametrize(("moved", "paired"), [(3e-5, True), (-3e-5, True), (0.2, False), (-0.2, False)])
def test_a_perplexity_that_is_summed_in_another_order_is_still_equal(judge, moved, paired):
    assert judge(control=moved)["paired"] is paired  # in percent of the perplexity


def test_a_control_that_differs_is_told_and_the_seeds_are_not_paired(judge):
    answer = judge(better=0.3, less=1, control=-0.4)
    assert not answer["paired"]
    assert answer["measures"]["bleu"]["verdict"] == "undecided"
    first, second = answer["sentences"]
    assert "undecided in BLEU (+0.3, " in first
    assert "; 5 seeds could have shown " in first
    assert "differs from the released run: perplexity -0.4 % and BLEU -0.4 (a Xeon, bfloat16 here, AMD EPYC, " in second


def test_on_the_same_device_a_control_that_differs_is_code_that_changed_base_and_nothing_is_judged(judge, results):
    same = {"device": "AMD EPYC"}
    with pytest.raises(
        InputError, match=r"base of seed 1, .* \(perplexity -0.4 % and BLEU -0.4\), .*: your code changed it"
    ):
        judge(control=-0.4, **same)
    assert not (results.folder / "answer.json").read_text().strip('\n"')
    for other in ({"precision": "float32"}, {"threads": 2}, {"software": {"torch": "3.0"}}, {"software": {}}):
        assert not judge(control=-0.4, **same | other)["paired"]
    assert judge(**same)["paired"]


def test_a_control_with_another_text_is_refused(judge):
    with pytest.raises(InputError, match="text of this experiment is not that of the released scores"):
        judge(data="ab" * 32)


def test_rows_are_alike_within_the_margins_of_the_claims():
    margins = {(claim.metric, claim.margin) for claim in read_experiment([]).claims.values() if claim.margin}
    assert set(judge_trial.MARGINS.items()) == {each for each in margins if each[0] in judge_trial.MARGINS}


def test_rows_that_have_learnt_nothing_are_not_called_alike(judge, monkeypatch):
    bleu = MEASURES["bleu"].key
    monkeypatch.setattr(judge_trial, "number_of", lambda scores, key: 0.0 if key == bleu else number_of(scores, key))
    answer = judge()
    assert answer["measures"]["bleu"]["verdict"] == "undecided, every score is 0"
    assert "undecided, every score is 0 in BLEU" in answer["sentences"][0]
    assert answer["measures"]["perplexity"]["verdict"] == "alike"


def test_more_seeds_are_another_look_and_the_same_seeds_are_the_same_look(judge):
    levels = [judge(seeds)["level"] for seeds in ((1, 2, 3), (3, 2, 1), (1, 2, 3, 4, 5), (1, 2, 3))]
    assert levels == pytest.approx([0.04, 0.04, 0.008, 0.04])
    assert judge(better=0.2)["looks"] == [[1, 2, 3], [1, 2, 3, 4, 5]]


def test_a_row_with_other_values_has_looks_of_its_own_and_a_damaged_record_is_named(experiment, tmp_path):
    record = tmp_path / "looks.json"
    assert look(record, experiment()) == look(record, experiment(d_ff=1024)) == [[1, 2, 3, 4, 5]]
    record.write_text("{")
    with pytest.raises(InputError, match=r"looks\.json: not JSON"):
        look(record, experiment())


def test_the_table_has_the_sentences_the_scores_and_the_costs(judge, results):
    answer = judge(better=1.5, less=2)
    table, figure = RESULTS
    output = {kind: [str(results.folder / f"trial.{kind}")] for kind in ("csv", "md", "html", "tex")}
    table.make(results.job(output=output, inputs={"answer": str(results.folder / "answer.json")}))
    rows = list(csv.DictReader((results.folder / "trial.csv").read_text().splitlines()))
    found = {row["Measure"]: row for row in rows}
    assert list(found) == ["perplexity", "BLEU", "parameters", "FLOPs of a step", "milliseconds of a step"]
    assert found["BLEU"]["Verdict"] == "better"
    bleu, cells = answer["measures"]["bleu"], found["BLEU"]
    low, high = bleu["interval"]
    assert (cells["In favour, mean"], cells["In favour, interval"]) == ("+1.5", f"{low:+.1f} to {high:+.1f}")
    assert cells["mine"] == f"{fmean(bleu['row']):.2f} ± {stdev(bleu['row']):.2f}"
    assert (cells["p, differ"], cells["p, alike"], cells["Margin"]) == ("< 0.0001", "1.0000", "0.5")
    assert cells["Could show"] == f"{bleu['smallest']:.1f}"
    assert (
        found["perplexity"]["Could show"] == f"{100 * -math.expm1(-answer['measures']['perplexity']['smallest']):.1f} %"
    )
    assert (found["parameters"]["mine"], found["parameters"]["base"]) == ("700,000", "542,208")
    assert found["parameters"]["More, mean"] == "+29.1 %"
    assert found["FLOPs of a step"]["More, mean"] == "+0.0 %"
    time = found["milliseconds of a step"]
    assert (time["mine"], time["base"], time["More, mean"]) == (
        "125.0",
        "105.0",
        "+19.1 %",
    )  # of 0.12/0.10 and 0.13/0.11
    assert time["More, interval"] == "+18.4 % to +19.8 %"
    assert all(each in (results.folder / "trial.md").read_text() for each in answer["sentences"])
    svg = {"trial": [str(results.folder / "trial.svg")]}
    figure.make(results.job(output=svg, inputs={"answer": str(results.folder / "answer.json")}))
    assert "points of BLEU, in favour of the row" in (results.folder / "trial.svg").read_text()


def test_without_a_trial_nothing_changes_and_with_one_its_runs_are_in_no_other_result(select):
    without = select()
    assert without.runs.tried == {}
    values = {"models": {"mine": {"d_ff": 3072}}, "trial": {"row": "mine"}}
    found = select(seeds=[1, 2, 3], **values)
    targets = {result.rule: result.target for _, result, _ in found.planned}
    assert [rule for rule, target in targets.items() if target == "trial"] == ["write_trial", "draw_trial"]
    assert found.runs.tried == {"mine": [1, 2, 3], "base": [1]}
    assert not [path for path in found.scored if "/mine/" in path]
    assert ("ende", "mine", "dev") in found.decoded
