import math

import pytest

from transformer.evaluation.bleu import token_bleu
from transformer.support.files import InputError


def test_bleu_of_given_tokens_equals_one_computed_by_hand():
    """5 tokens against 6, without smoothing: matches 5/5, 3/4, 1/3, 1/2; brevity exp(1 - 6/5)."""
    found = token_bleu(["a dog &amp; b."], ["a dog &amp; b. so"])
    assert found.tokens == 5
    assert found.precisions == (100, 100, 100, 100)
    assert found.brevity_penalty == pytest.approx(math.exp(1 - 5 / 4))
    assert found.score == pytest.approx(100 * math.exp(1 - 5 / 4))
    assert token_bleu(["a dog &amp; b ."], ["a dog &amp; b."]).precisions[0] == pytest.approx(60)


def test_token_bleu_counts_over_the_whole_text_without_smoothing():
    found = token_bleu(["a b c d", "x y z"], ["a b c d", "x y q"])
    assert found.precisions == pytest.approx((100 * 6 / 7, 100 * 4 / 5, 100 * 2 / 3, 100))
    assert token_bleu(["a b"], ["a b"]).score == 0
    assert "tok:none" in found.signature
    assert "smooth:none" in found.signature


def test_translations_of_another_text_are_refused():
    with pytest.raises(InputError, match="1 translations for 2 references"):
        token_bleu(["a"], ["a", "b"])
