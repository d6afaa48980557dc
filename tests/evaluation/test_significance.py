import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from transformer.evaluation.bleu import sacrebleu, sacrebleu_metric
from transformer.evaluation.significance import compare, pseudo_values, token_bleu_error


@pytest.fixture(autouse=True)
def own_seed(monkeypatch):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


def spoilt(lines, share, seed):
    """The lines with a share of their words replaced."""
    drawn = random.Random(seed)
    return [" ".join("x" if drawn.random() < share else word for word in line.split()) for line in lines]


@pytest.mark.agreement(witness="SacreBLEU")
def test_the_comparison_has_sacrebleus_scores_and_signatures(text):
    references = text(1, 50)
    systems = [spoilt(references, share, 2) for share in (0.1, 0.2)]
    result = compare(*systems, references, 200)
    assert [result.baseline, result.system] == [sacrebleu(system, references).score for system in systems]
    assert "|bs:200|seed:12345|" in result.bootstrap.signature
    assert "|ar:200|seed:12345|" in result.randomisation.signature
    chrf = [CHRF().corpus_score(system, [references]).score for system in systems]
    assert [result.chrf.baseline, result.chrf.system] == chrf
    assert "|nc:6|nw:0|" in result.chrf.signature


def test_the_language_chooses_the_tokens_of_the_scores_the_tests_and_the_differences():
    references = ["旧的画下面房子。", "狗看见 2 个小的房子。", "狗。"]
    systems = [["旧的画上面房子。", "狗看见 2 个大的房子。", "狗。"], references]
    result = compare(*systems, references, 20, "zh")
    assert [result.baseline, result.system] == [sacrebleu(system, references, "zh").score for system in systems]
    assert all("|tok:zh|" in test.signature for test in (result.bootstrap, result.randomisation))
    one, other = (pseudo_values(sacrebleu_metric("zh"), system, references) for system in systems)
    assert result.differences == (other - one).round().tolist()


def test_sentences_together_tell_the_difference_and_its_error(text):
    """The bootstrap tells the same error."""
    references = text(1, 200)
    systems = [spoilt(references, share, 2) for share in (0.1, 0.2)]
    result = compare(*systems, references, 20)
    assert np.mean(result.differences) == pytest.approx(result.system - result.baseline, abs=0.1)
    metric, rng = BLEU(), np.random.default_rng(1)
    base, other = (np.array(metric._extract_corpus_statistics(each, [references])) for each in systems)
    resampled = [
        metric._compute_score_from_stats(other[chosen].sum(0)).score
        - metric._compute_score_from_stats(base[chosen].sum(0)).score
        for chosen in rng.integers(200, size=(500, 200))
    ]
    assert np.std(result.differences) / 200**0.5 == pytest.approx(np.std(resampled), rel=0.15)


def test_the_shares_of_sentences_are_those_of_sacrebleu_without_them(text):
    references = text(1, 9)
    system = spoilt(references, 0.2, 1)
    whole, first = (BLEU().corpus_score(system[i:], [references[i:]]).score for i in (0, 1))
    assert pseudo_values(sacrebleu_metric(), system, references)[0] == pytest.approx(9 * whole - 8 * first)


@pytest.mark.agreement(witness="SacreBLEU")
def test_the_error_of_bleu_over_sentences_is_that_of_sacrebleus_bootstrap(text):
    references = text(1, 200)
    system = spoilt(references, 0.2, 2)
    score = BLEU(tokenize="none", smooth_method="none").corpus_score(system, [references], n_bootstrap=1000)
    assert 1.96 * token_bleu_error(system, references) == pytest.approx(score._ci, rel=0.15)


def test_a_clear_difference_has_a_small_p_and_chance_or_none_a_large_one(text):
    references = text(1, 100)
    baseline, alike, worse = (spoilt(references, *how) for how in ((0.1, 1), (0.1, 2), (0.3, 3)))
    for other, differs in ((alike, False), (worse, True)):
        result = compare(baseline, other, references)
        assert (result.bootstrap.p < 0.05) == (result.randomisation.p < 0.05) == differs
    result = compare(baseline, list(baseline), references)
    assert (result.bootstrap.p, result.randomisation.p, set(result.differences)) == (1, 1, {0})


@pytest.mark.parametrize("system", ["a b c d", "", "x"])
def test_a_single_sentence_and_an_empty_one_are_compared(system):
    result = compare([system, "e f g h"], ["", "e f g h"], ["a b c d", "e f g h"], 20)
    assert len(result.differences) == 2
    assert len(compare([system], [""], ["a b c d"], 20).differences) == 1
