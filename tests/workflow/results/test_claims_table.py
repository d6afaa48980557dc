"""The table of claims, the notes below it, and its figure."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr, t

from workflow.results.claims import table as claims
from workflow.results.claims import verdicts

CLAIM = {"claim": "One head is worse", "section": "6.2 A", "group": "printed", "metric": "bleu", "part": "dev"}
GROUPS = ("printed", "implied", "own")


@pytest.fixture
def made(results):
    """Write the table from `scores`: (task, model) -> what each seed scores; give its rows by name, and its notes."""

    def make(claims, scores, longer=None, equal=(), times=None, beside=None, **params):
        """`longer`: model -> the perplexity of pairs of 21 to 40 subwords, where training has up to 20.

        `equal`: models that are the same as another one at this scale. `times`: model -> the seconds of a step.
        `beside`: scores on dev, where test decides.
        """
        runs, dev = (
            {
                (task, model): [results.run(task, model, seed, part, **one) for seed, one in enumerate(each, 1)]
                for (task, model), each in numbers.items()
            }
            for part, numbers in (("test" if beside else "dev", scores), ("dev", beside or {}))
        )
        told = []
        for name, changes in claims.items():
            claim = {**CLAIM, "name": name, **changes}
            claim["widths"] = [8]
            claim["runs"] = [tuple(row.split("/")[:2]) for row in claim["rows"]]
            claim["ways"] = ["".join(row.split("/")[2:]) for row in claim["rows"]]
            kept = [key for key in claim["runs"] if key[1] not in equal]
            claim["scores"] = [[run.scores for run in runs.get(key, ())] for key in kept]
            if claim["metric"] == "step_time":
                claim["part"], claim["scores"] = None, [["/".join(key)] if times else [] for key in kept]
            claim["beside"] = [[run.scores for run in dev[key]] for key in kept if key in dev]
            claim["judged"] = all(claim["scores"])
            told.append(claim)
        for key, each in (longer or {}).items():
            for run in runs[key]:
                results.lengths(
                    run, (1, 20, 9, 90, 5.0), (21, 30, 2, 50, each), (31, 40, 1, 40, each), (41, 80, 1, 60, 99)
                )
        every = [run for each in runs.values() for run in each]
        given = {"claims": told, "table3": [run.scores for run in every if run.task == "ende"], "longest": 20, **params}
        given["inputs"] = results.step_times("ende", **times) if times else {}
        rows, [text, *_] = results.table("claims", every, **given)
        pictures = results.figure("claims", every, ("svg", "png"), **given)
        names = [each["name"] for each in sorted(told, key=lambda each: place(each, told))]
        return dict(zip(names, rows, strict=True)), text, pictures

    return make


def place(claim, told):
    """Where a claim stands in the table if all claims are of one section."""
    timed = claim["metric"] == "step_time"
    return GROUPS.index(claim["group"]), not claim["judged"], timed, told.index(claim)


def bleu(*scores):
    return [{"paper_bleu": {"score": score, "signature": "s"}} for score in scores]


def perplexity(*numbers):
    return [{"perplexity": number} for number in numbers]


@pytest.mark.parametrize(
    "text", ["costs $5, not $40", r"$\frobnicate{x}$", "{head} & 50 % <b>#1</b> | ~", "$$", "", "a\nb", "long " * 2000]
)
@pytest.mark.filterwarnings("error")
def test_a_claim_in_any_words_is_drawn(made, text):
    scores = {("ende", "A-h1"): bleu(20), ("ende", "base"): bleu(21)}
    _, _, pictures = made({"x": {"claim": text, "rows": ["ende/A-h1", "ende/base"]}}, scores)
    assert all(path.stat().st_size < 200_000 for path in pictures)


def test_d_k_has_its_subscript_in_the_figure(made):
    scores = {("ende", "A-h1"): bleu(20), ("ende", "base"): bleu(21)}
    claim = {"claim": "Large d_k, for $5, needs scaling", "rows": ["ende/A-h1", "ende/base"]}
    _, _, pictures = made({"x": claim}, scores)
    assert r"<!-- Large $d_k$, for \$5, needs scaling  (6.2 A) -->" in pictures[0].read_text()


def test_a_claim_is_reproduced_contrary_or_undecided_by_its_seeds(made):
    rows, text, pictures = made(
        {
            "heads": {"rows": ["ende/A-h1", "ende/base"]},
            "turned": {"rows": ["ende/base", "ende/A-h1"]},
            "keys": {"rows": ["ende/B-dk16", "ende/base"]},
            "alike": {"rows": ["ende/E-learned", "ende/base"], "margin": 0.5},
            "absent": {"rows": ["ende/big", "ende/base"]},
        },
        {
            ("ende", "base"): bleu(20.0, 21.0, 22.0),
            ("ende", "A-h1"): bleu(15.0, 16.1, 16.9),
            ("ende", "B-dk16"): bleu(21.0, 19.0, 22.5),
            ("ende", "E-learned"): bleu(20.01, 21.0, 22.01),
        },
    )
    assert [row["Verdict"] for row in rows.values()] == ["reproduced", "contrary", "undecided", "reproduced", "not run"]
    heads = rows["heads"]
    assert (heads["In favour, paper"], heads["In favour, ours"], heads["Seeds"]) == ("+0.9", "+5.0", "3")
    assert heads["In favour, interval"] == "+4.8 to +5.2"
    assert heads["In favour, each seed"] == "+5.0 +4.9 +5.1"
    assert heads["Rows"] == "A-h1 < base"
    assert rows["alike"]["Rows"] == "E-learned ≈ base (within 0.5)"
    assert rows["absent"]["In favour, ours"] == "not run"
    assert set(claims.RESULTS[0].printed) - {"Verdict, released"} <= set(heads)
    assert rows["keys"]["Could show"]
    assert not heads["Could show"]
    assert float(heads["p, alone"]) < float(heads["p, corrected"])
    assert "each seed" not in text.partition("\n- ")[0]  # only the csv has every seed
    assert "(Holm)" in text
    assert "over the seeds: printed 5.1 (4 claims, 3 seeds). If a single claim is left undecided, 2.5 times" in text
    drawn = pictures[0].read_text()
    assert "<!-- reproduced, larger -->" in drawn
    assert f"<!-- undecided, similar; {rows['keys']['Could show']} points would decide -->" in drawn
    assert "<!-- reproduced, smaller; equal -->" in drawn
    assert "<!-- points of BLEU; 3 seeds -->" in drawn
    assert "<!-- One head is worse  (6.2 A): not run. -->" in drawn


def test_claims_of_a_family_with_more_seeds_need_less_for_its_first_verdict(made):
    claims = {"few": {"rows": ["ende/A-h1", "ende/A-h4"]}, "more": {"rows": ["ende/A-h16", "ende/base"]}}
    seeds = {"A-h1": bleu(15.0, 16.1, 16.9), "A-h4": bleu(20.0, 21.0, 22.0)}
    seeds |= {"A-h16": bleu(15.0, 16.1, 16.9, 17.0, 18.0), "base": bleu(20.0, 21.0, 22.0, 22.5, 23.5)}
    _, text, _ = made(claims, {("ende", model): each for model, each in seeds.items()})
    few, more = (t.isf(0.05 / 2 / 2, count - 1) / count**0.5 for count in (3, 5))
    assert f"over the seeds: printed {few:.1f} or {more:.1f} (2 claims, 3 or 5 seeds)." in text


def test_less_perplexity_is_better_in_percent(made):
    claim = {"metric": "perplexity", "rows": ["ende/C-N2", "ende/C-N4", "ende/base"]}
    scores = {"base": perplexity(5.0, 5.1), "C-N4": perplexity(10.0, 10.2), "C-N2": perplexity(20.0, 20.4)}
    rows, _, _ = made({"layers": claim}, {("ende", model): each for model, each in scores.items()})
    assert rows["layers"]["In favour, ours"] == "+75.0 %"
    assert rows["layers"]["In favour, paper"] == "+19.5 %"  # 6.11, 5.19, 4.92


def test_one_seed_decides_nothing(made):
    rows, _, pictures = made(
        {"heads": {"rows": ["ende/A-h1", "ende/base"]}},
        {("ende", "base"): bleu(20.0), ("ende", "A-h1"): bleu(10.0)},
    )
    assert rows["heads"]["Verdict"] == "undecided: one seed"
    assert rows["heads"]["In favour, ours"] == "+10.0"
    assert rows["heads"]["In favour, interval"] == ""
    assert "<svg" in pictures[0].read_text()


def test_two_seeds_decide_nothing_either(made):
    rows, text, _ = made(
        {"heads": {"rows": ["ende/A-h1", "ende/base"]}},
        {("ende", "base"): bleu(20.0, 21.0), ("ende", "A-h1"): bleu(10.0, 11.0)},
    )
    assert rows["heads"]["Verdict"] == "undecided: two seeds"
    assert rows["heads"]["In favour, ours"] == "+10.0"
    assert "A verdict needs at least 3 seeds." in text
    assert not any(word in text for word in ("first verdict needs", "Holm", "Could show has"))


def test_two_rows_that_are_one_model_count_once(made):
    """The workflow gives such rows' scores once; then the two rows left are in the claimed order."""
    claim = {"rows": ["ende/B-dk16", "ende/B-dk32", "ende/base"]}
    scores = {"base": (20.0, 20.1, 20.2), "B-dk16": (10.0, 10.2, 10.1)}
    rows, _, _ = made(
        {"keys": claim}, {("ende", model): bleu(*each) for model, each in scores.items()}, equal=["B-dk32"]
    )
    assert rows["keys"]["Verdict"] == "reproduced"
    assert rows["keys"]["In favour, ours"] == "+10.0"


@pytest.mark.parametrize(
    ("middle", "verdict"), [(15.0, "reproduced: trend"), (25.0, "reproduced: trend, not in order")]
)
def test_a_row_out_of_its_place_is_told(made, middle, verdict):
    scores = {"base": (20.0, 20.1, 20.2), "B-dk32": (middle,) * 3, "B-dk16": (10.0, 10.2, 10.1)}
    rows, _, _ = made(
        {"keys": {"rows": ["ende/B-dk16", "ende/B-dk32", "ende/base"]}},
        {("ende", model): bleu(*each) for model, each in scores.items()},
    )
    assert rows["keys"]["Verdict"] == verdict


TIME = {"metric": "step_time", "rows": ["ende/A-h1", "ende/base"]}


def test_claims_about_time_are_not_counted_with_the_others_and_stand_below_them(made):
    scores = {("ende", model): bleu(20.0, 20.0 + step, 20.0) for model, step in (("base", 0.1), ("A-h1", 0.2))}
    heads = {"rows": ["ende/A-h1", "ende/base"]}
    [alone] = made({"heads": heads}, scores)[0].values()
    times = {"base": [0.1, 0.1, 0.11], "A-h1": [0.2, 0.2, 0.21]}
    both, text, pictures = made({"slow": TIME, "heads": heads}, scores, times=times)
    first, last = both.values()
    assert first == alone
    assert (last["Measure"], last["Verdict"], last["Seeds"]) == ("time of a step", "reproduced", "3 rounds")
    assert last["p, alone"] == last["p, corrected"] == last["p, family"] == last["Could show"] == ""
    assert "printed 2.5 (1 claim, 3 seeds)." in text
    assert "Claims about time are not counted with the others" in text
    assert "CPU cores that other programs used meanwhile: 0.2 on average, at most 0.2." in text
    assert "<!-- % less time of a step; 3 rounds -->" in pictures[0].read_text()


def test_time_is_compared_within_each_round(made, published):
    claim = {"metric": "step_time", "rows": ["ende/aop1", "ende/base"]}
    times = {"base": [1.0, 1.5, 3.0], "aop1": [2.0, 2.0, 6.0]}
    scores = {("ende", "aop1"): bleu(20.0), ("ende", "base"): bleu(20.0)}
    rows, _, _ = made({"slow": claim}, scores, times=times)
    hours = {row["model"]: row["hours"] for row in published["appendix"]}
    assert rows["slow"]["In favour, paper"] == f"{100 * (1 - hours['base'] / hours['aop1']):+.0f} %"
    assert rows["slow"]["In favour, each seed"] == "+50 % +25 % +50 %"
    assert rows["slow"]["In favour, ours"] == "+43 %"  # 1 - cbrt(1/2 * 3/4 * 1/2)


@pytest.mark.parametrize(
    ("slower", "verdict", "alike"),
    [
        (1.2, "reproduced", "contrary"),
        (1.05, "undecided: less than 10 % apart", "reproduced"),
        (0.95, "undecided: less than 10 % apart", "reproduced"),
        (0.8, "contrary", "contrary"),
        (1.1, "undecided", "undecided"),
    ],
)
def test_a_row_is_faster_if_the_other_one_takes_at_least_a_tenth_longer(made, slower, verdict, alike):
    times = {"base": [1.0, 1.0, 1.0], "A-h1": [0.99 * slower, slower, 1.01 * slower]}
    scores = {("ende", "A-h1"): bleu(20.0), ("ende", "base"): bleu(20.0)}
    rows, _, _ = made({"faster": TIME, "alike": TIME | {"margin": 10}}, scores, times=times)
    assert [rows[name]["Verdict"] for name in ("faster", "alike")] == [verdict, alike]


def test_time_that_is_not_measured_is_not_run(made):
    scores = {("ende", "A-h1"): bleu(20.0), ("ende", "base"): bleu(20.0)}
    rows, text, _ = made({"slow": TIME}, scores)
    assert rows["slow"]["Verdict"] == "not run"
    assert "Claims about time" not in text


@pytest.mark.agreement(witness="SciPy")
def test_groups_stand_apart_and_are_corrected_apart(made):
    """A claim of another group changes nothing. Within a group, rows are in the order of the paper's sections."""
    heads = {"rows": ["ende/A-h1", "ende/base"]}
    scores = {("ende", "base"): bleu(20.0, 21.0, 22.0), ("ende", "A-h1"): bleu(15.0, 16.1, 16.9)}
    [alone] = made({"heads": heads}, scores)[0].values()
    told = {"mine": heads | {"group": "own", "section": "own"}, "later": heads | {"section": "6.3"}}
    told |= {"chosen": heads | {"group": "implied"}, "heads": heads}
    rows, _, pictures = made(told, scores)
    found = [(row["Group"], row["Section"]) for row in rows.values()]
    assert found == [("printed", "6.2 A"), ("printed", "6.3"), ("implied", "6.2 A"), ("own", "own")]
    chosen = list(rows.values())[2]
    assert chosen | {"Group": "printed", "p, family": "printed"} == alone
    picture = pictures[0].read_text()
    assert all(f"<!-- {heading} -->" in picture for heading in claims.GROUPS.values())


def test_a_family_of_another_name_is_corrected_by_itself(made):
    heads = {"rows": ["ende/A-h1", "ende/base"]}
    scores = {("ende", "base"): bleu(20.0, 21.0, 22.0), ("ende", "A-h1"): bleu(15.0, 16.1, 16.9)}
    _, text, _ = made({"one": heads | {"family": "decided"}, "two": heads | {"family": "new"}}, scores)
    assert "over the seeds: decided 2.5 (1 claim, 3 seeds); new 2.5 (1 claim, 3 seeds)." in text


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (0.9, "similar"),
        (5.0, "larger"),
        (0.3, "smaller"),
        (-0.05, "smaller"),
        (-5.0, "opposite"),
    ],
)
def test_the_size_is_compared_with_the_papers_by_the_interval(made, ahead, said):
    """The paper's difference is 0.9, and half of our interval is 0.25."""
    scores = {("ende", "base"): bleu(20 + ahead, 20.1 + ahead, 19.9 + ahead), ("ende", "A-h1"): bleu(20, 20, 20)}
    rows, _, _ = made({"heads": {"rows": ["ende/A-h1", "ende/base"]}}, scores)
    assert rows["heads"]["Size"] == said


def test_there_is_no_size_without_an_interval_or_a_number_of_the_paper(made):
    heads, rotary = {"rows": ["ende/A-h1", "ende/base"]}, {"rows": ["ende/E-rotary", "ende/base"]}
    scores = {("ende", model): bleu(20.0, 21.0) for model in ("base", "A-h1")}
    assert made({"heads": heads}, scores)[0]["heads"]["Size"] == ""
    scores = {("ende", model): bleu(20.0, 21.0, 21.0) for model in ("base", "E-rotary")}
    assert made({"rotary": rotary}, scores)[0]["rotary"]["Size"] == ""


def test_where_test_decides_dev_stands_beside_it(made):
    claim = {"rows": ["ende/A-h1", "ende/base"], "part": "both"}
    scores = {("ende", "base"): bleu(20.0, 21.0, 22.0), ("ende", "A-h1"): bleu(15.0, 16.1, 16.9)}
    dev = {("ende", "base"): bleu(20.0, 21.0, 22.0), ("ende", "A-h1"): bleu(21.0, 22.0, 23.0)}
    rows, _, _ = made({"heads": claim}, scores, beside=dev)
    heads = rows["heads"]
    assert (heads["Measure"], heads["In favour, ours"], heads["In favour, dev"]) == ("BLEU, test", "+5.0", "-1.0")
    assert heads["In favour, paper"] == "+0.9"  # on dev, because the paper has no other number of these rows


def test_the_note_of_a_claim_is_told_with_its_verdict(made):
    claim = {"rows": ["ende/A-h1", "ende/base"], "note": "heads of 64 were not tried"}
    scores = {("ende", "base"): bleu(20.0, 21.0, 22.0), ("ende", "A-h1"): bleu(15.0, 16.1, 16.9)}
    rows, text, pictures = made({"heads": claim}, scores)
    assert rows["heads"]["Verdict"] == "reproduced: see note"
    assert "One head is worse: heads of 64 were not tried." in text
    assert "One head is worse: heads of 64 were not tried" in pictures[0].read_text()


def alike(metric, each=()):
    claim = {"rows": ["ende/one", "ende/other"], "margin": 1, "scores": [["a"], ["b"]]}
    return verdicts.Tested(claim, verdicts.MEASURES[metric], None, each, True, None, "")


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


@given(st.floats(-3, 3), st.floats(-3, 3))
def test_the_words_of_an_interval_name_the_row_at_each_end(one, other):
    low, high = sorted((one, other))
    words = alike("bleu").difference(low, high)
    rows = {name for name in words.split() if name in ("one", "other")}
    if min(abs(low), abs(high)) > 0.06:
        assert rows == {"one" if bound < 0 else "other" for bound in (low, high)}
    assert "-" not in words


def test_words_of_intervals():
    assert alike("bleu").difference(-0.9, -0.2) == "one 0.2 to 0.9 better"
    assert alike("bleu").difference(-0.9, 0.1) == "one 0.9 better to other 0.1 better"
    assert alike("perplexity").difference(-math.log(1.077), -math.log(1.044)) == "other 4.4 % to 7.7 % more"
    assert alike("bleu").difference(None) == ""


def test_table_3_s_ranks_and_sides_of_base_are_compared_with_the_papers(made, published):
    ours = {"base": (20.0, 9.0), "A-h1": (21.0, 8.0), "C-N2": (15.0, 20.0), "C-N8": (23.0, 10.0)}
    _, text, _ = made(
        {"heads": {"rows": ["ende/A-h1", "ende/base"]}},
        {("ende", model): [bleu(score)[0] | {"perplexity": ppl}] for model, (score, ppl) in ours.items()},
    )
    # In the paper all three have less BLEU than base; A-h1 and C-N2 have a higher perplexity, and C-N8 has a lower one.
    for place, (heading, key, worse) in enumerate([("BLEU", "bleu", 3), ("perplexity", "ppl", 2)]):
        theirs = {row["model"]: row[key] for row in published["table3"] if key in row}
        expected = spearmanr([theirs[model] for model in ours], [each[place] for each in ours.values()]).statistic
        told = f"Table 3, {heading}: the paper's ranks of 4 rows and ours have a correlation (Spearman) of"
        sides = f"1 of 3 rows are on the same side of base (in the paper {worse} of them are worse than base)"
        assert f"{told} {expected:.2f}; {sides}" in text


def test_ranks_without_the_rows_of_the_most_different_size_stand_beside_those_of_all_rows(made, published):
    theirs = {row["model"]: row["bleu"] for row in published["table3"]}
    largest = ["big", "C-d1024", "C-d256", "C-N2"]  # 213, 168, 28 and 36 million parameters; base has 65
    rows = [*largest, "base", "A-h1", "A-h4", "A-h32", "D-ls0.2"]
    ours = {model: theirs[model] if model in largest else 50 - theirs[model] for model in rows}  # the others reversed
    _, text, _ = made(
        {"heads": {"rows": ["ende/A-h1", "ende/base"]}}, {("ende", model): bleu(score) for model, score in ours.items()}
    )
    assert "(Spearman) of -1.00" not in text
    assert f"and of -1.00 without the 4 rows that change the number of parameters most ({', '.join(largest)}); " in text


def test_a_row_that_prints_no_difference_from_base_is_on_neither_side(made):
    ours = {"base": 20.0, "A-h1": 19.96, "A-h4": 19.9, "A-h32": 20.1}
    _, text, _ = made(
        {"heads": {"rows": ["ende/A-h1", "ende/base"]}}, {("ende", model): bleu(score) for model, score in ours.items()}
    )
    assert "1 of 2 rows are on the same side of base (in the paper 2 of them are worse than base)" in text


def test_perplexity_beyond_training_is_that_of_pairs_up_to_twice_as_long(made):
    rows, _, _ = made(
        {"far": {"metric": "longer", "rows": ["ende/E-learned", "ende/base"]}},
        {("ende", "E-learned"): bleu(20.0), ("ende", "base"): bleu(20.0)},
        longer={("ende", "E-learned"): 40.0, ("ende", "base"): 30.0},
    )
    assert rows["far"]["In favour, ours"] == "+25.0 %"
    assert rows["far"]["In favour, paper"] == ""


def test_pairs_that_are_not_there_decide_nothing(made):
    rows, _, _ = made(
        {"far": {"metric": "longer", "rows": ["ende/E-learned", "ende/base"]}},
        {("ende", "E-learned"): bleu(20.0), ("ende", "base"): bleu(20.0)},
        longer={("ende", "E-learned"): "", ("ende", "base"): 30.0},
    )
    assert rows["far"]["Verdict"] == "not run: longer than the learned positions"
    rows, _, _ = made(
        {"far": {"metric": "longer", "rows": ["ende/E-learned", "ende/base"]}},
        {("ende", "E-learned"): bleu(20.0), ("ende", "base"): bleu(20.0)},
        longer={("ende", "E-learned"): "", ("ende", "base"): ""},
    )
    assert rows["far"]["Verdict"] == "not run: no pairs of this length"


@pytest.mark.parametrize(("ratio", "verdict"), [(1.0495, "reproduced"), (1.0505, "contrary")])
def test_a_margin_of_perplexity_is_in_percent(made, ratio, verdict):
    base, claim = (5.0, 5.1, 5.2), {"metric": "perplexity", "rows": ["ende/E-learned", "ende/base"], "margin": 5}
    scores = {("ende", "base"): perplexity(*base), ("ende", "E-learned"): perplexity(*(ratio * one for one in base))}
    rows, _, _ = made({"alike": claim}, scores)
    assert (rows["alike"]["Rows"], rows["alike"]["Verdict"]) == ("E-learned ≈ base (within 5 %)", verdict)
    assert rows["alike"]["p, alone"] == "< 0.0001"


def test_the_margin_that_could_be_shown_is_in_percent(made):
    """With differences of 6, 7 and 8 % the least margin is that of the upper end of their 90 % interval."""
    claim = {"metric": "perplexity", "rows": ["ende/E-learned", "ende/base"], "margin": 5}
    above = perplexity(10.6, 10.7, 10.8)
    rows, _, _ = made({"alike": claim}, {("ende", "base"): perplexity(10, 10, 10), ("ende", "E-learned"): above})
    each = np.log([1.06, 1.07, 1.08])
    least = each.mean() + t.isf(0.05, 2) * each.std(ddof=1) / 3**0.5
    assert rows["alike"]["Could show"] == f"{100 * np.expm1(least):.0f} %" == "9 %"


def test_the_papers_f1_is_that_of_table_4_and_a_way_of_decoding_has_no_published_number(made):
    f1 = [{"brackets": {"f1": 88.0}}]
    claims = {
        "more": {"metric": "f1", "part": "test", "rows": ["wsj/parser", "semi/parser"]},
        "averaging": {"rows": ["ende/base", "ende/base/averaged"]},
    }
    rows, _, _ = made(claims, {("wsj", "parser"): f1, ("semi", "parser"): f1, ("ende", "base"): bleu(20.0)})
    assert (rows["more"]["In favour, paper"], rows["averaging"]["In favour, paper"]) == ("+1.4", "")


def test_a_difference_can_be_positive_and_yet_less_than_the_claim_names(made):
    """The table and the figure say what is claimed."""
    scores = {("ende", "base"): bleu(20.1, 21.1, 22.2), ("ende", "D-drop0.0"): bleu(20.0, 21.0, 22.0)}
    claim = {"claim": "Dropout is very helpful", "rows": ["ende/D-drop0.0", "ende/base"]}
    rows, text, pictures = made({"dropout": claim | {"least": 3}}, scores)
    assert (rows["dropout"]["In favour, ours"], rows["dropout"]["Verdict"]) == ("+0.1", "contrary")
    assert "(by at least)" in text
    assert "<!-- Dropout is very helpful, by at least 3  (6.2 A) -->" in pictures[0].read_text()
    _, text, _ = made({"dropout": claim}, scores)
    assert "(by at least)" not in text
