import pytest
from sacrebleu.metrics import CHRF

from transformer.evaluation.chrf import chrf
from transformer.support.files import InputError


@pytest.mark.agreement(witness="SacreBLEU")
def test_chrf_equals_the_librarys_score_and_has_its_signature():
    translations, references = ["The cat sat on the mat."], ["The cat is on the mat, isn't it?"]
    score = chrf(translations, references)
    assert score.score == pytest.approx(CHRF().corpus_score(translations, [references]).score)
    assert "nc:6|nw:0" in score.signature


def test_different_numbers_of_lines_are_refused():
    with pytest.raises(InputError, match="2 translations for 1 references"):
        chrf(["a", "b"], ["a"])
