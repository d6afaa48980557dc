from dataclasses import asdict

import pytest

from tests.pages import ROOT
from tests.workflow.claims import planned
from workflow.experiment.config import read_experiment
from workflow.results.claims.replication import outcome
from workflow.results.claims.same_way import read_released
from workflow.results.claims.verdicts import MEASURES

FIRST = """Section,Claim,Measure,Rows,"In favour, ours","In favour, interval",Verdict
6.2 A,One head is worse,"BLEU, dev",A-h1 < base,+1.0,+0.5 to +1.5,reproduced: trend
6.2 B,Small keys are worse,"BLEU, dev",A-h1 < base,+0.1,-0.5 to +0.7,undecided
6.2 C,Few layers are worse,"BLEU, dev",A-h1 < base,not run,,not run
6.2 D,Dropout helps,"BLEU, dev",A-h1 < base,-0.1,-0.7 to +0.5,undecided
6.2 E,Positions are alike,"BLEU, dev",A-h1 ≈ base (within 0.5),base 0.1 better,base 0.0 to 0.2 better,reproduced
"""


@pytest.mark.parametrize(
    ("first", "now", "expected"),
    [
        ("reproduced", "reproduced", "replicated"),
        ("contrary", "contrary", "replicated"),
        ("reproduced", "undecided", "not replicated"),
        ("reproduced", "contrary", "reversed"),
        ("undecided", "reproduced", "reproduced now"),
        ("undecided", "undecided", "still undecided"),
        (None, "undecided", "new: undecided"),
    ],
)
def test_two_verdicts_have_an_outcome(first, now, expected):
    assert outcome(first, now) == expected


@pytest.fixture
def replicated(results, tmp_path):
    """The rows and the notes of the table, from what some seeds of two rows score."""
    (tmp_path / "first.csv").write_text(FIRST)

    def make(**scores):
        runs = {
            model: [
                results.run("ende", model, seed, paper_bleu={"score": score, "signature": "s"})
                for seed, score in enumerate(each, 6)
            ]
            for model, each in scores.items()
        }
        files = [[run.scores for run in each] for each in runs.values()]
        claims = [
            planned(*scores, scores=files, name=words, section=f"6.2 {letter}", claim=words, family=family, **bound)
            for letter, words, family, bound in [
                ("A", "One head is worse", "decided", {}),
                ("C", "Few layers are worse", "new", {}),
                ("B", "Small keys are worse", "decided", {}),
                ("D", "Dropout helps", "new", {"least": 0.5}),
                ("E", "Positions are alike", "new", {"margin": 1.0}),
            ]
        ]
        given = {"claims": list(map(asdict, claims)), "table3": [], "longest": 20}
        every = [run for each in runs.values() for run in each]
        rows, [text, *_] = results.table("replication", every, inputs={"first": str(tmp_path / "first.csv")}, **given)
        return rows, text

    return make


def test_fresh_verdicts_stand_beside_the_first_ones(replicated):
    """Every claim is the same pair of rows; what the first experiment said of it differs, and at the end its bound."""
    rows, text = replicated(**{"A-h1": (15.0, 16.1, 16.9), "base": (20.0, 21.0, 22.0)})
    new = ["new: reproduced", "new: reproduced", "new: contrary"]
    assert [row["Outcome"] for row in rows] == ["replicated", "reproduced now", *new]
    assert [row["First, verdict"] for row in rows] == ["reproduced: trend", "undecided", "", "undecided", "reproduced"]
    assert [row["Fresh, difference"] for row in rows] == ["+5.0"] * 4 + ["base 5.0 better"]
    assert [row["Family"] for row in rows] == ["decided"] * 2 + ["new"] * 3
    assert "Family decided, claims 2: replicated 1, not replicated 0, reversed 0, reproduced now 1." in text
    assert "Family new, claims 3: new: reproduced 2, new: contrary 1." in text


def test_the_claims_that_small_decided_have_its_verdicts_and_its_rows():
    known = read_released(ROOT / "results/released/small/tables/claims.csv")
    claims = read_experiment([ROOT / "config/replication.yaml"]).claims.values()
    decided = [claim for claim in claims if claim.family == "decided"]
    assert decided
    for claim in decided:
        first = known[claim.section, claim.claim, MEASURES[claim.metric].heading]
        assert first["Rows"] == " < ".join(row.removeprefix("ende/") for row in claim.rows)
        assert first["Verdict"].partition(":")[0] == "reproduced"
