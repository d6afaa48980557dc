import pytest
from sacrebleu.metrics import CHRF

from transformer.evaluation.chrf import chrf


@pytest.mark.agreement(witness="SacreBLEU")
def test_chrf_equals_the_librarys_score_and_has_its_signature():
    translations, references = ["The cat sat on the mat."], ["The cat is on the mat, isn't it?"]
    score = chrf(translations, references)
    assert score.score == pytest.approx(CHRF().corpus_score(translations, [references]).score)
    assert "nc:6|nw:0" in score.signature
