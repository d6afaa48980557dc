"""The table of claims, the notes below it, and its figure."""

from dataclasses import asdict

import pytest
from scipy.stats import spearmanr

from tests.workflow.claims import planned
from workflow.results.claims import table, verdicts

HEADS = ("A-h1", "base")
THREE = {"A-h1": (15.0, 16.1, 16.9), "base": (20.0, 21.0, 22.0)}  # what three seeds score
ONE = {"A-h1": (20.0,), "base": (21.0,)}


@pytest.fixture
def made(results):
    """Write the table and draw the figure of some claims; give the rows by the claims' names, the notes, the SVG."""

    def make(claims, scores, both=False, longer=None):
        """`claims`: name -> rows, and perhaps keys. `scores`: model -> what each seed scores in BLEU.

        With `both`, the perplexity is 100 / BLEU. `longer`: model -> the perplexity of pairs of 21 to 40 subwords,
        where training has up to 20.
        """

        def write(model, seed, score):
            more = {"perplexity": 100 / score} if both else {}
            return results.run("ende", model, seed, paper_bleu={"score": score, "signature": "s"}, **more)

        runs = {model: [write(model, seed, one) for seed, one in enumerate(each, 1)] for model, each in scores.items()}
        for model, each in (longer or {}).items():
            for run in runs[model]:
                results.lengths(
                    run, (1, 20, 9, 90, 5.0), (21, 30, 2, 50, each), (31, 40, 1, 40, each), (41, 80, 1, 60, 99)
                )

        def plan(name, rows, changes):
            return planned(
                *rows, name=name, scores=[[run.scores for run in runs.get(row, ())] for row in rows], **changes
            )

        told = [plan(name, rows, changes[0] if changes else {}) for name, (rows, *changes) in claims.items()]
        every = [run for each in runs.values() for run in each]
        given = {"claims": list(map(asdict, told)), "longest": 20, "table3": [run.scores for run in every]}
        names = [each.planned.name for each in verdicts.decide(results.job(every, **given))]
        rows, [text, *_] = results.table("claims", every, **given)
        [svg, png] = results.figure("claims", every, ("svg", "png"), **given)
        assert png.stat().st_size < 200_000
        return dict(zip(names, rows, strict=True)), text, svg.read_text()

    return make


@pytest.mark.parametrize("text", [r"$\frobnicate{x}$", "{head} & 50 % <b>#1</b> | ~", "", "a\nb", "long " * 2000])
@pytest.mark.filterwarnings("error")
def test_a_claim_in_any_words_is_drawn(made, text):
    made({"x": (HEADS, {"claim": text})}, ONE)


def test_a_claim_is_reproduced_contrary_or_undecided_by_its_seeds(made):
    rows, text, picture = made(
        {
            "heads": [HEADS],
            "turned": [HEADS[::-1]],
            "keys": [("B-dk16", "base")],
            "alike": [("E-learned", "base"), {"margin": 0.5}],
            "absent": [("big", "base")],
        },
        THREE | {"B-dk16": (21.0, 19.0, 22.5), "E-learned": (20.01, 21.0, 22.01)},
    )
    assert [row["Verdict"] for row in rows.values()] == ["reproduced", "contrary", "undecided", "reproduced", "not run"]
    heads = rows["heads"]
    assert (heads["In favour, paper"], heads["In favour, ours"], heads["Seeds"]) == ("+0.9", "+5.0", "3")
    assert heads["In favour, interval"] == "+4.8 to +5.2"
    assert heads["In favour, each seed"] == "+5.0 +4.9 +5.1"
    assert (heads["Rows"], rows["alike"]["Rows"]) == ("A-h1 < base", "E-learned ≈ base (within 0.5)")
    assert rows["absent"]["In favour, ours"] == "not run"
    assert set(table.RESULTS[0].printed) - {"Verdict, released"} <= set(heads)
    assert rows["keys"]["Could show"]
    assert not heads["Could show"]
    assert float(heads["p, alone"]) < float(heads["p, corrected"])
    assert "each seed" not in text.partition("\n- ")[0]  # only the csv has every seed
    for said in (
        "reproduced, larger",
        f"undecided, similar; {rows['keys']['Could show']} points would decide",
        "reproduced, smaller; equal",
        "points of BLEU; 3 seeds",
        "One head is worse  (6.2 A): not run.",
    ):
        assert f"<!-- {said} -->" in picture


@pytest.mark.parametrize(("seeds", "verdict"), [(1, "undecided: one seed"), (2, "undecided: two seeds")])
def test_one_or_two_seeds_decide_nothing(made, seeds, verdict):
    rows, _, _ = made({"heads": [HEADS]}, {"base": (20.0, 21.0)[:seeds], "A-h1": (10.0, 11.0)[:seeds]})
    heads = rows["heads"]
    assert (heads["Verdict"], heads["In favour, ours"], heads["In favour, interval"]) == (verdict, "+10.0", "")
    assert heads["Size"] == ""


def test_the_note_of_a_claim_is_told_with_its_verdict(made):
    rows, text, picture = made({"heads": [HEADS, {"note": "heads of 64 were not tried"}]}, THREE)
    assert rows["heads"]["Verdict"] == "reproduced: see note"
    assert "One head is worse: heads of 64 were not tried." in text
    assert "One head is worse: heads of 64 were not tried" in picture


def test_table_3_s_ranks_and_sides_of_base_are_compared_with_the_papers(made, published):
    ours = {"base": 20.0, "A-h1": 21.0, "C-N2": 15.0, "C-N8": 23.0}
    _, text, _ = made({"heads": [HEADS]}, {model: (score,) for model, score in ours.items()}, True)
    # In the paper all three have less BLEU than base; A-h1 and C-N2 have a higher perplexity, and C-N8 has a lower one.
    for heading, key, equal, worse in (("BLEU", "bleu", 1, 3), ("perplexity", "ppl", 2, 2)):
        theirs = {row["model"]: row[key] for row in published["table3"] if key in row}
        numbers = list(ours.values()) if key == "bleu" else [100 / score for score in ours.values()]
        expected = spearmanr([theirs[model] for model in ours], numbers).statistic
        told = f"Table 3, {heading}: correlation of ranks with the paper's 4 rows"
        sides = f"{equal} of 3 rows on the paper's side of base ({worse} are worse in the paper)"
        assert f"{told} {expected:.2f}; {sides}" in text


@pytest.mark.parametrize(
    ("learned", "base", "verdict", "ours"),
    [
        (40.0, 30.0, "undecided: one seed", "+25.0 %"),
        ("", 30.0, "not run: longer than the learned positions", "not run"),
        ("", "", "not run: no pairs of this length", "not run"),
    ],
)
def test_perplexity_beyond_training_is_that_of_pairs_up_to_twice_as_long(made, learned, base, verdict, ours):
    scores, longer = {"E-learned": (20.0,), "base": (20.0,)}, {"E-learned": learned, "base": base}
    far = made({"far": [("E-learned", "base"), {"metric": "longer"}]}, scores, longer=longer)[0]["far"]
    assert (far["Verdict"], far["In favour, ours"], far["In favour, paper"]) == (verdict, ours, "")


def test_a_difference_can_be_positive_and_yet_less_than_the_claim_names(made):
    """The table and the figure say what is claimed."""
    scores = {"base": (20.1, 21.1, 22.2), "D-drop0.0": (20.0, 21.0, 22.0)}
    claim = {"claim": "Dropout is very helpful", "least": 3}
    rows, _, picture = made({"dropout": [("D-drop0.0", "base"), claim]}, scores)
    assert (rows["dropout"]["In favour, ours"], rows["dropout"]["Verdict"]) == ("+0.1", "contrary")
    assert rows["dropout"]["Rows"] == "D-drop0.0 < base (by at least 3)"
    assert "<!-- Dropout is very helpful, by at least 3  (6.2 A) -->" in picture
