from collections import Counter

import pytest

from workflow.results.replication import counted, outcome

FIRST = """Section,Claim,Measure,"In favour, ours","In favour, interval",Verdict
6.2 A,One head is worse,"BLEU, dev",+1.0,+0.5 to +1.5,reproduced: trend
6.2 B,Small keys are worse,"BLEU, dev",+0.1,-0.5 to +0.7,undecided
6.2 C,Few layers are worse,"BLEU, dev",not run,,not run
"""


@pytest.mark.parametrize(
    ("first", "now", "expected"),
    [
        ("reproduced", "reproduced", "replicated"),
        ("contrary", "contrary", "replicated"),
        ("reproduced", "undecided", "not replicated"),
        ("reproduced", "contrary", "reversed"),
        ("contrary", "reproduced", "reversed"),
        ("undecided", "reproduced", "reproduced now"),
        ("undecided", "undecided", "still undecided"),
        (None, "undecided", "new: undecided"),
    ],
)
def test_two_verdicts_have_an_outcome(first, now, expected):
    assert outcome(first, now) == expected


def test_what_did_not_happen_is_counted_too():
    assert counted(Counter({"replicated": 2, "new: undecided": 1})) == (
        "replicated 2, not replicated 0, reversed 0, new: undecided 1"
    )
    assert counted(Counter({"reproduced now": 1, "still undecided": 2})) == "reproduced now 1, still undecided 2"


def test_fresh_verdicts_stand_beside_the_first_ones(results, tmp_path):
    """Every claim is the same pair of rows; what the first experiment said of it differs."""
    (tmp_path / "first.csv").write_text(FIRST)
    scores = {"A-h1": (15.0, 16.1, 16.9), "base": (20.0, 21.0, 22.0)}
    runs = {
        model: [
            results.run("ende", model, seed, paper_bleu={"score": score, "signature": "s"})
            for seed, score in enumerate(each, 6)
        ]
        for model, each in scores.items()
    }
    claim = {"metric": "bleu", "part": "both", "group": "printed", "judged": True}
    claim |= {"rows": ["ende/A-h1", "ende/base"], "runs": [("ende", "A-h1"), ("ende", "base")], "ways": ["", ""]}
    claim["scores"] = [[run.scores for run in each] for each in runs.values()]
    told = [
        {**claim, "name": name, "section": f"6.2 {letter}", "claim": words, "seeds": [6, 7, 8], "family": family}
        for name, letter, words, family in [
            ("heads", "A", "One head is worse", "decided"),
            ("layers", "C", "Few layers are worse", "new"),
            ("keys", "B", "Small keys are worse", "decided"),
        ]
    ]
    every = [run for each in runs.values() for run in each]
    rows, [text, *_] = results.table(
        "replication", every, claims=told, table3=[], longest=20, inputs={"first": str(tmp_path / "first.csv")}
    )
    assert [row["Outcome"] for row in rows] == ["replicated", "reproduced now", "new: reproduced"]
    assert [row["First, verdict"] for row in rows] == ["reproduced: trend", "undecided", ""]
    assert {row["Fresh, difference"] for row in rows} == {"+5.0"}
    assert [row["Family"] for row in rows] == ["decided", "decided", "new"]
    assert "Family decided, claims 2: replicated 1, not replicated 0, reversed 0, reproduced now 1." in text
    assert "Family new, claims 1: new: reproduced 1." in text
