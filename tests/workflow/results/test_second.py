"""The columns of the table of claims that decide nothing: lengths, chrF, and p with a pooled error."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import t

from tests.workflow.claims import planned
from workflow.results.claims import table

SEEDS = (6, 7, 8)
ROWS = {"base": (20.0, 20.6, 20.1), "A-h1": (19.0, 19.9, 19.4), "A-h4": (20.1, 20.8, 19.9), "A-h16": (21.0, 21.9, 21.5)}


@pytest.fixture
def beside(results):
    """A column of the table of claims, given by their rows.

    `chrf` gives the chrF of a model and seed, `sacrebleu` its score and length.
    """

    def make(column, *claims, chrf=None, sacrebleu=lambda *_: (20, 1), **changes):
        runs = {
            model: [
                results.run("ende", model, seed, paper_bleu={"score": score, "signature": "s"}, perplexity=100 / score,
                            sacrebleu=dict(zip(("score", "length"), sacrebleu(model, seed), strict=True), signature=""),
                            **({"chrF": {"score": chrf(model, seed), "signature": "nc:6"}} if chrf else {}))
                for seed, score in zip(SEEDS, scores, strict=True)
            ]
            for model, scores in ROWS.items()
        }  # fmt: skip
        runs["averaged"] = [results.run("ende", "base", seed, average=5) for seed in SEEDS]
        told = [
            asdict(
                planned(*rows, name=str(number), scores=[[run.scores for run in runs[row]] for row in rows], **changes)
            )
            for number, rows in enumerate(claims)
        ]
        every = [run for row in runs.values() for run in row]
        made = table.content(results.job(every, claims=told, longest=20, table3=[]))
        return [row[column] for row in made.rows]

    return make


POOLED, CHRF, UNPENALISED, LENGTH = ("p", "pooled"), ("In favour", "chrF"), ("In favour", "unpenalised"), ("Length", "")


@pytest.mark.parametrize("metric", ["bleu", "perplexity"])
def test_the_pooled_error_is_that_of_all_rows_scored_alike(beside, metric):
    [p] = beside(POOLED, ("A-h1", "base"), metric=metric)
    scores = np.array(list(ROWS.values()))
    scores = scores if metric == "bleu" else np.log(scores)
    remains = scores - scores.mean(0) - scores.mean(1, keepdims=True) + scores.mean()
    error = ((remains**2).sum() / 6 * 2 / 3) ** 0.5
    assert p == f"{2 * t.sf((scores[0] - scores[1]).mean() / error, 6):.4f}"


def test_the_pooled_p_is_corrected_for_the_claims_of_the_family(beside):
    [alone] = beside(POOLED, ("A-h1", "base"))
    first, second = beside(POOLED, ("A-h1", "base"), ("A-h4", "base"))
    assert float(first) == pytest.approx(2 * float(alone), abs=2e-4)
    assert float(second) > float(first)


def chrf(model, seed):
    return {"base": 42.0, "A-h1": 40.5, "A-h4": 42.0, "A-h16": 43.0}[model] + seed


def test_chrf_is_in_favour_as_bleu_is(beside):
    claims = ("A-h1", "base"), ("base", "A-h1"), ("A-h1", "base", "A-h4"), ("A-h1", "A-h16")
    assert beside(CHRF, *claims, chrf=chrf) == ["+1.5", "-1.5", "+1.5", "+2.5"]
    assert beside(CHRF, *claims[:2], chrf=chrf, margin=0.5) == ["base 1.5 better"] * 2


def test_lengths_stand_beside_a_claim_on_bleu_with_its_difference_without_the_brevity_penalty(beside):
    """One head is better by the penalty alone; longer outputs have none, and one without a word has no BLEU."""
    lengths = {"base": 0.8, "A-h1": 1.25, "A-h4": 0.5, "A-h16": 0}

    def sacrebleu(model, seed):
        penalty = lengths[model] and math.exp(min(0, 1 - 1 / lengths[model]))
        return 30 * penalty + seed * (model == "A-h1"), lengths[model]

    claims = ("base", "A-h1"), ("A-h16", "A-h4")
    assert beside(UNPENALISED, *claims, sacrebleu=sacrebleu) == ["+7.0", "+30.0"]
    assert beside(LENGTH, *claims, sacrebleu=sacrebleu) == ["0.800, 1.250", "0.000, 0.500"]
    assert beside(LENGTH, claims[0], sacrebleu=sacrebleu, metric="perplexity") == [""]
