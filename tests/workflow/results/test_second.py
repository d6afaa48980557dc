"""The columns of the table of claims that decide nothing: lengths, chrF, and p with a pooled error."""

import math

import numpy as np
import pytest
from scipy.stats import t

from workflow.results.claims import table as claims
from workflow.results.claims.second import beside_verdicts
from workflow.results.claims.verdicts import decide

SEEDS = (6, 7, 8)
ROWS = {"base": (20.0, 20.6, 20.1), "A-h1": (19.0, 19.9, 19.4), "A-h4": (20.1, 20.8, 19.9), "A-h16": (21.0, 21.9, 21.5)}
CLAIM = {"claim": "One head is worse", "section": "6.2 A", "group": "printed", "metric": "bleu", "part": "dev"}


@pytest.fixture
def beside(results):
    """The cells of each claim, given by its rows, and the notes.

    `chrf` gives the chrF of a model and seed, `sacrebleu` its score and length.
    """

    def make(rows_of_claims, chrf=None, sacrebleu=lambda *_: (20, 1), **changes):
        runs = {
            model: [
                results.run("ende", model, seed, paper_bleu={"score": score, "signature": "s"}, perplexity=100 / score,
                            sacrebleu=dict(zip(("score", "length"), sacrebleu(model, seed), strict=True)),
                            **({"chrF": {"score": chrf(model, seed), "signature": "nc:6"}} if chrf else {}))
                for seed, score in zip(SEEDS, scores, strict=True)
            ]
            for model, scores in ROWS.items()
        }  # fmt: skip
        runs["averaged"] = [results.run("ende", "base", seed, average=5) for seed in SEEDS]
        told = []
        for number, rows in enumerate(rows_of_claims):
            scores = [[run.scores for run in runs[model]] for model in rows]
            made = {"rows": [f"ende/{model}" for model in rows], "runs": [("ende", model) for model in rows]}
            made |= {"ways": [""] * len(rows), "scores": scores, "judged": True, "name": str(number), "widths": [8]}
            told.append({**CLAIM, **made, **changes})
        job = results.job([run for row in runs.values() for run in row], claims=told, longest=20)
        tested = decide(job)
        table, notes = beside_verdicts(job, tested, list(map(claims.table_row, tested)))
        columns = ("In favour", "chrF"), ("p", "pooled"), ("In favour", "unpenalised"), ("Length", "")
        return [[row[column] for column in columns] for row in table], notes

    return make


def test_the_pooled_error_is_that_of_all_rows_scored_alike(beside):
    [(_, p, *_)], notes = beside([("A-h1", "base")])
    scores = np.array(list(ROWS.values()))
    remains = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    error = ((remains**2).sum() / 6 * 2 / 3) ** 0.5
    assert p == f"{2 * t.sf((scores[0] - scores[1]).mean() / error, 6):.4f}"
    assert any("decides nothing" in note for note in notes)


def test_a_claim_on_rows_that_are_not_scored_alike_has_no_pooled_error(beside):
    cells, notes = beside([("averaged", "base")])
    assert [p for _, p, *_ in cells] == [""]
    assert not any("pooled" in note for note in notes)


def test_perplexity_is_pooled_on_logarithms(beside):
    [(_, p, *_)], _ = beside([("A-h1", "base")], metric="perplexity")
    scores = np.log(list(ROWS.values()))
    remains = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    error = ((remains**2).sum() / 6 * 2 / 3) ** 0.5
    assert p == f"{2 * t.sf((scores[0] - scores[1]).mean() / error, 6):.4f}"


def test_the_pooled_p_is_corrected_for_the_claims_of_the_family(beside):
    [(_, alone, *_)], _ = beside([("A-h1", "base")])
    (_, first, *_), (_, second, *_) = beside([("A-h1", "base"), ("A-h4", "base")])[0]
    assert float(first) == pytest.approx(2 * float(alone), abs=2e-4)
    assert float(second) > float(first)


CHRF = {"base": 42.0, "A-h1": 40.5, "A-h4": 42.0, "A-h16": 43.0}


def test_chrf_is_in_favour_as_bleu_is(beside):
    rows = [("A-h1", "base"), ("base", "A-h1"), ("A-h1", "base", "A-h4"), ("A-h1", "A-h16")]
    cells, notes = beside(rows, lambda model, seed: CHRF[model] + seed)
    assert [one for one, *_ in cells] == ["+1.5", "-1.5", "+1.5", "+2.5"]
    assert any("has no such penalty" in note for note in notes)


def test_chrf_of_rows_claimed_to_be_alike_says_which_is_better(beside):
    cells, _ = beside([("A-h1", "base"), ("base", "A-h1")], lambda model, seed: CHRF[model] + seed, margin=0.5)
    assert [one for one, *_ in cells] == ["base 1.5 better", "base 1.5 better"]


def test_claims_on_other_measures_have_no_chrf(beside):
    cells, _ = beside([("A-h1", "base")], lambda model, seed: CHRF[model] + seed, metric="perplexity")
    assert [one for one, *_ in cells] == [""]


def test_scores_of_an_earlier_version_leave_the_column_empty(beside):
    cells, _ = beside([("A-h1", "base")])
    assert [one for one, *_ in cells] == [""]


def test_lengths_stand_beside_a_claim_on_bleu_with_its_difference_without_the_brevity_penalty(beside):
    """One head is better by the penalty alone; outputs that are longer than the references have none."""
    lengths = {"base": 0.8, "A-h1": 1.25, "A-h4": 0.5, "A-h16": 1}

    def sacrebleu(model, seed):
        return 30 * math.exp(min(0, 1 - 1 / lengths[model])) + seed * (model == "A-h1"), lengths[model]

    cells, _ = beside([("base", "A-h1"), ("base", "A-h4", "A-h16")], sacrebleu=sacrebleu)
    assert [row[2:] for row in cells] == [["+7.0", "0.800, 1.250"], ["+0.0", "0.800, 0.500, 1.000"]]
    cells, notes = beside([("base", "A-h1")], sacrebleu=sacrebleu, metric="perplexity")
    assert cells[0][2:] == ["", ""]
    assert not any("Length" in note for note in notes)


def test_output_without_a_word_has_no_bleu_without_the_penalty_either(beside):
    [[*_, unpenalised, length]], _ = beside(
        [("A-h1", "base")], sacrebleu=lambda model, _: (20, 1) if model == "base" else (0, 0)
    )
    assert (unpenalised, length) == ("+20.0", "0.000, 1.000")
