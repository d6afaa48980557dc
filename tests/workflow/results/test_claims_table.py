"""The table of claims, the notes below it, and its figure."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr, t

from tests.workflow.claims import planned
from workflow.results.claims import figure, table, verdicts

HEADS = ("A-h1", "base")
THREE = {"A-h1": (15.0, 16.1, 16.9), "base": (20.0, 21.0, 22.0)}  # what three seeds score
ONE = {"A-h1": (20.0,), "base": (21.0,)}


@pytest.fixture
def made(results):
    """Write the table and draw the figure of some claims; give the rows by the claims' names, the notes, the SVG."""

    def make(claims, scores, metric="bleu", longer=None, equal=(), times=None, beside=None):
        """`claims`: name -> rows, and perhaps keys. `scores`: model -> what each seed scores in the metric.

        `longer`: model -> the perplexity of pairs of 21 to 40 subwords, where training has up to 20. `equal`: models
        that are the same as another one at this scale. `times`: model -> the seconds of a step. `beside`: scores on
        dev, where test decides.
        """

        def write(model, seed, score, part):
            task, _, name = model.rpartition("/")
            keys = {"bleu": {"paper_bleu": {"score": score, "signature": "s"}}, "perplexity": {"perplexity": score}}
            keys |= {"both": {**keys["bleu"], "perplexity": 100 / score}, "f1": {"brackets": {"f1": score}}}
            return results.run(task or "ende", name, seed, part, **keys[metric])

        runs, dev = (
            {model: [write(model, seed, one, part) for seed, one in enumerate(each, 1)] for model, each in of.items()}
            for part, of in (("test" if beside else "dev", scores), ("dev", beside or {}))
        )
        for model, each in (longer or {}).items():
            for run in runs[model]:
                results.lengths(
                    run, (1, 20, 9, 90, 5.0), (21, 30, 2, 50, each), (31, 40, 1, 40, each), (41, 80, 1, 60, 99)
                )

        def plan(name, rows, changes):
            kept = [row for row in rows if row not in equal]
            files = [[[run.scores for run in of.get(row, ())] for row in kept] for of in (runs, dev)]
            if changes.get("metric") == "step_time":
                files, changes = [[[f"ende/{row}"] if times else [] for row in kept], []], {"part": None, **changes}
            own = {"metric": metric} if metric in ("perplexity", "f1") else {}
            return planned(*rows, name=name, scores=files[0], beside=files[1] if dev else (), **{**own, **changes})

        told = [plan(name, rows, changes[0] if changes else {}) for name, (rows, *changes) in claims.items()]
        every = [run for each in runs.values() for run in each]
        given = {"claims": list(map(asdict, told)), "longest": 20}
        given |= {"table3": [run.scores for run in every if run.task == "ende"]}
        given["inputs"] = results.step_times("ende", **times) if times else {}
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


KEYS = {"base": (20.0, 20.1, 20.2), "B-dk16": (10.0, 10.2, 10.1)}


@pytest.mark.parametrize(
    ("middle", "equal", "verdict"),
    [
        (15.0, (), "reproduced: trend"),
        (25.0, (), "reproduced: trend, not in order"),
        (25.0, ("B-dk32",), "reproduced"),  # rows that are one model count once
    ],
)
def test_a_row_out_of_its_place_is_told(made, middle, equal, verdict):
    rows, _, _ = made({"keys": [("B-dk16", "B-dk32", "base")]}, KEYS | {"B-dk32": (middle,) * 3}, equal=equal)
    assert (rows["keys"]["Verdict"], rows["keys"]["In favour, ours"]) == (verdict, "+10.0")


TIME = {"metric": "step_time"}


def test_claims_about_time_are_not_counted_with_the_others_and_stand_below_them(made):
    [alone] = made({"heads": [HEADS]}, THREE)[0].values()
    times = {"base": [0.1, 0.1, 0.11], "A-h1": [0.2, 0.2, 0.21]}
    claims = {"absent": [("big", "base")], "slow": [HEADS, TIME], "heads": [HEADS]}
    rows, _, picture = made(claims, THREE, times=times)
    assert list(rows) == ["heads", "slow", "absent"]
    first, last, _ = rows.values()
    assert first == alone
    assert (last["Measure"], last["Verdict"], last["Seeds"]) == ("time of a step", "reproduced", "3 rounds")
    assert last["p, alone"] == last["p, corrected"] == last["p, family"] == last["Could show"] == ""
    assert "<!-- % less time of a step; 3 rounds -->" in picture


def test_time_is_compared_within_each_round(made, published):
    times = {"base": [1.0, 1.5, 3.0], "aop1": [2.0, 2.0, 6.0]}
    rows, _, _ = made({"slow": [("aop1", "base"), TIME]}, {"aop1": (20.0,), "base": (20.0,)}, times=times)
    hours = {row["model"]: row["hours"] for row in published["appendix"]}
    assert rows["slow"]["In favour, paper"] == f"{100 * (1 - hours['base'] / hours['aop1']):+.0f} %"
    assert rows["slow"]["In favour, each seed"] == "+50 % +25 % +50 %"
    assert rows["slow"]["In favour, ours"] == "+43 %"  # 1 - cbrt(1/2 * 3/4 * 1/2)


@pytest.mark.parametrize(
    ("slower", "verdict", "alike"),
    [
        (1.2, "reproduced", "contrary"),
        (1.05, "undecided: less than 10 % apart", "reproduced"),
        (0.8, "contrary", "contrary"),
        (1.1, "undecided", "undecided"),
        (None, "not run", "not run"),
    ],
)
def test_a_row_is_faster_if_the_other_one_takes_at_least_a_tenth_longer(made, slower, verdict, alike):
    times = slower and {"base": [1.0, 1.0, 1.0], "A-h1": [0.99 * slower, slower, 1.01 * slower]}
    rows, _, _ = made({"faster": [HEADS, TIME], "alike": [HEADS, TIME | {"margin": 10}]}, ONE, times=times)
    assert [rows[name]["Verdict"] for name in ("faster", "alike")] == [verdict, alike]


def test_groups_stand_apart_and_are_corrected_apart(made):
    """A claim of another group changes nothing. Within a group, rows are in the order of the paper's sections."""
    [alone] = made({"heads": [HEADS]}, THREE)[0].values()
    told = {"mine": [HEADS, {"group": "own", "section": "own"}], "later": [HEADS, {"section": "6.3"}]}
    rows, _, picture = made(told | {"chosen": [HEADS, {"group": "implied"}], "heads": [HEADS]}, THREE)
    assert list(rows) == ["heads", "later", "chosen", "mine"]
    assert rows["chosen"] | {"Group": "printed", "p, family": "printed"} == alone
    assert all(f"<!-- {heading} -->" in picture for heading in figure.GROUPS.values())


@pytest.mark.parametrize(
    ("ahead", "said"), [(0.9, "similar"), (5.0, "larger"), (0.3, "smaller"), (-0.05, "smaller"), (-5.0, "opposite")]
)
def test_the_size_is_compared_with_the_papers_by_the_interval(made, ahead, said):
    """The paper's difference is 0.9, and half of our interval is 0.25. It has no number of rotary positions."""
    scores = {"base": (20 + ahead, 20.1 + ahead, 19.9 + ahead), "A-h1": (20, 20, 20), "E-rotary": (20, 20, 20)}
    rows, _, _ = made({"heads": [HEADS], "rotary": [("E-rotary", "base")]}, scores)
    assert (rows["heads"]["Size"], rows["rotary"]["Size"]) == (said, "")


def test_where_test_decides_dev_stands_beside_it(made):
    dev = {"base": (20.0, 21.0, 22.0), "A-h1": (21.0, 22.0, 23.0)}
    heads = made({"heads": [HEADS, {"part": "both"}]}, THREE, beside=dev)[0]["heads"]
    assert (heads["Measure"], heads["In favour, ours"], heads["In favour, dev"]) == ("BLEU, test", "+5.0", "-1.0")
    assert heads["In favour, paper"] == "+0.9"  # on dev, because the paper has no other number of these rows


def test_the_note_of_a_claim_is_told_with_its_verdict(made):
    rows, text, picture = made({"heads": [HEADS, {"note": "heads of 64 were not tried"}]}, THREE)
    assert rows["heads"]["Verdict"] == "reproduced: see note"
    assert "One head is worse: heads of 64 were not tried." in text
    assert "One head is worse: heads of 64 were not tried" in picture


def alike(metric):
    return verdicts.Tested(planned("one", "other", margin=1, metric=metric))


@given(st.sampled_from(["bleu", "perplexity"]), st.floats(1, 99), st.floats(1, 99))
def test_words_say_which_of_two_rows_claimed_to_be_alike_is_better(metric, one, other):
    """They have no sign. In words, exchanged rows differ as before."""
    measure = verdicts.MEASURES[metric]
    effect = measure.value(other) - measure.value(one)
    words = alike(metric).difference(effect)
    exchanged = {"one": "other", "other": "one"}
    assert alike(metric).difference(-effect) == " ".join(exchanged.get(word, word) for word in words.split())
    if words != "equal":
        row, number, *unit = words.split()
        assert row == ("one" if one > other else "other")  # more BLEU is better; more perplexity is just more
        far = 100 * (max(one, other) / min(one, other) - 1) if measure.relative else abs(one - other)
        assert float(number) == pytest.approx(far, abs=0.051)
        assert unit == (["%", "more"] if measure.relative else ["better"])
    else:
        assert abs(effect) <= 0.0501


def test_table_3_s_ranks_and_sides_of_base_are_compared_with_the_papers(made, published):
    ours = {"base": 20.0, "A-h1": 21.0, "C-N2": 15.0, "C-N8": 23.0}
    _, text, _ = made({"heads": [HEADS]}, {model: (score,) for model, score in ours.items()}, "both")
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


def test_less_perplexity_is_better_in_percent(made):
    scores = {"base": (5.0, 5.1), "C-N4": (10.0, 10.2), "C-N2": (20.0, 20.4)}
    rows, _, _ = made({"layers": [("C-N2", "C-N4", "base")]}, scores, "perplexity")
    assert rows["layers"]["In favour, ours"] == "+75.0 %"
    assert rows["layers"]["In favour, paper"] == "+19.5 %"  # 6.11, 5.19, 4.92


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0495, "reproduced"), (1.0505, "contrary")])
def test_a_margin_of_perplexity_is_in_percent(made, ratio, verdict):
    base = (5.0, 5.1, 5.2)
    scores = {"base": base, "E-learned": tuple(ratio * one for one in base)}
    rows, _, _ = made({"alike": [("E-learned", "base"), {"margin": 5}]}, scores, "perplexity")
    assert (rows["alike"]["Rows"], rows["alike"]["Verdict"]) == ("E-learned ≈ base (within 5 %)", verdict)
    assert rows["alike"]["p, alone"] == "< 0.0001"


def test_the_margin_that_could_be_shown_is_in_percent(made):
    """With differences of 6, 7 and 8 % the least margin is that of the upper end of their 90 % interval."""
    scores = {"base": (10, 10, 10), "E-learned": (10.6, 10.7, 10.8)}
    rows, _, _ = made({"alike": [("E-learned", "base"), {"margin": 5}]}, scores, "perplexity")
    each = np.log([1.06, 1.07, 1.08])
    least = each.mean() + t.isf(0.05, 2) * each.std(ddof=1) / 3**0.5
    assert rows["alike"]["Could show"] == f"{100 * np.expm1(least):.0f} %" == "9 %"


def test_the_papers_f1_is_that_of_table_4_and_a_way_of_decoding_has_no_published_number(made):
    scores = {"wsj/parser": (88.0,), "semi/parser": (88.0,)}
    rows, _, _ = made({"more": [("wsj/parser", "semi/parser"), {"part": "test"}]}, scores, "f1")
    assert rows["more"]["In favour, paper"] == "+1.4"
    rows, _, _ = made({"averaging": [("base", "ende/base/averaged")]}, {"base": (20.0,)})
    assert rows["averaging"]["In favour, paper"] == ""


def test_a_difference_can_be_positive_and_yet_less_than_the_claim_names(made):
    """The table and the figure say what is claimed."""
    scores = {"base": (20.1, 21.1, 22.2), "D-drop0.0": (20.0, 21.0, 22.0)}
    claim = {"claim": "Dropout is very helpful", "least": 3}
    rows, _, picture = made({"dropout": [("D-drop0.0", "base"), claim]}, scores)
    assert (rows["dropout"]["In favour, ours"], rows["dropout"]["Verdict"]) == ("+0.1", "contrary")
    assert rows["dropout"]["Rows"] == "D-drop0.0 < base (by at least 3)"
    assert "<!-- Dropout is very helpful, by at least 3  (6.2 A) -->" in picture
