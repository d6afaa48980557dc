import math

import pytest
from sacrebleu.metrics import BLEU

from transformer.evaluation.bleu import (
    Counts,
    counts,
    notes,
    paper_bleu,
    sacrebleu,
    sacrebleu_of,
    split_compounds,
    token_bleu,
)
from transformer.evaluation.chrf import chrf
from transformer.support.files import InputError


@pytest.mark.agreement(witness="by hand")
def test_the_papers_bleu_equals_one_computed_by_hand():
    """6 tokens against 7 (the compound has three): matches 5/6, 4/5, 3/4, 2/3; brevity exp(1 - 7/6)."""
    score = paper_bleu(["the quick-brown fox jumps"], ["the quick-brown fox leaps high"], "en")
    assert score.score == pytest.approx(100 * math.exp(1 - 7 / 6) * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)
    assert all(part in score.signature for part in ("tok:none", "smooth:none", "moses:en", "compounds:split"))


@pytest.mark.agreement(witness="by hand")
def test_counts_are_summed_over_the_corpus_and_not_smoothed():
    one, other = "a b c d e", "v w x y z"
    assert paper_bleu([one, other], [one, other], "en").score == pytest.approx(100)
    assert paper_bleu([one, "q"], [one, other], "en").score == pytest.approx(
        100 * math.exp(1 - 10 / 6) * (5 / 6 * 4 / 4 * 3 / 3 * 2 / 2) ** 0.25
    )
    assert paper_bleu(["a b c"], ["a b c d"], "en").score == 0


def test_both_bleus_are_cased():
    for bleu in (sacrebleu, lambda t, r: paper_bleu(t, r, "de")):
        assert bleu(["Ein Haus am See dort"], ["Ein Haus am See dort"]).score == pytest.approx(100)
        assert bleu(["ein Haus am See dort"], ["Ein Haus am See dort"]).score < 100


def test_moses_tokens_separate_punctuation_from_words():
    assert paper_bleu(["Das ist gut , z.B. so ."], ["Das ist gut, z.B. so."], "de").score == pytest.approx(100)


@pytest.mark.agreement(witness="tensor2tensor")
@pytest.mark.parametrize(
    ("line", "split"),
    [
        ("well-known", "well ##AT##-##AT## known"),
        ("a state-of-the-art house", "a state ##AT##-##AT## of ##AT##-##AT## the ##AT##-##AT## art house"),
        ("yes - no", "yes - no"),
        ("-5 and 5-", "-5 and 5-"),
        ("a-b-c", "a ##AT##-##AT## b-c"),  # matches of the authors' script do not overlap
        ("vis-à-vis", "vis ##AT##-##AT## à ##AT##-##AT## vis"),  # which reads bytes: two for this letter
        ("", ""),
    ],
)
def test_hyphenated_compounds_are_split(line, split):
    assert split_compounds(line) == split


@pytest.mark.agreement(witness="SacreBLEU")
def test_sacrebleu_equals_the_librarys_score_and_has_its_signature():
    translations, references = ["The cat sat on the mat."], ["The cat is on the mat, isn't it?"]
    score = sacrebleu(translations, references)
    assert score.score == pytest.approx(BLEU().corpus_score(translations, [references]).score)
    assert "tok:13a" in score.signature
    assert score.length == pytest.approx(7 / 10)  # tokens; punctuation counts
    assert "smooth:exp" in score.signature


@pytest.mark.agreement(witness="SacreBLEU")
@pytest.mark.parametrize(
    ("language", "tokeniser"), [("zh-Hans", "zh"), ("Chinese", "zh"), ("yue", "zh"), ("th", "char")]
)
def test_scripts_without_blanks_have_tokenisers_of_their_own_and_the_signatures_name_them(language, tokeniser):
    references = ["旧的画下面房子。", "狗看见 2 个小的房子。"]
    translations = ["旧的画上面房子。", "狗看见 2 个大的房子。"]
    own = sacrebleu(translations, references, language)
    same = BLEU(tokenize=tokeniser).corpus_score(translations, [references])
    assert own.score == pytest.approx(same.score)
    assert f"|tok:{tokeniser}|" in own.signature
    assert sacrebleu_of(counts(translations, references, language)) == pytest.approx(same.score)
    papers = paper_bleu(translations, references, language)
    assert papers.score == pytest.approx(same.score)  # there are matches of four words in a row, so nothing is smoothed
    assert papers.signature.endswith(f"|tokens:{tokeniser}")
    assert not notes(translations, references, language)


@pytest.mark.agreement(witness="by hand")
def test_bleu_of_given_tokens_equals_one_computed_by_hand():
    """5 tokens against 6, without smoothing: matches 5/5, 3/4, 1/3, 1/2; brevity exp(1 - 6/5)."""
    bleu = token_bleu(["a dog &amp; b."], ["a dog &amp; b. so"])
    assert bleu.tokens == 5
    assert bleu.precisions == (100, 100, 100, 100)
    assert bleu.brevity_penalty == pytest.approx(math.exp(1 - 5 / 4))
    assert bleu.score == pytest.approx(100 * math.exp(1 - 5 / 4))
    assert token_bleu(["a dog &amp; b ."], ["a dog &amp; b."]).precisions[0] == pytest.approx(60)


@pytest.mark.agreement(witness="by hand")
def test_token_bleu_counts_over_the_whole_text_without_smoothing():
    bleu = token_bleu(["a b c d", "x y z"], ["a b c d", "x y q"])
    assert bleu.precisions == pytest.approx((100 * 6 / 7, 100 * 4 / 5, 100 * 2 / 3, 100))
    assert token_bleu(["a b"], ["a b"]).score == 0
    assert "tok:none" in bleu.signature
    assert "smooth:none" in bleu.signature


@pytest.mark.agreement(witness="SacreBLEU")
def test_bleu_can_be_computed_from_counts_and_from_sums_of_counts(text):
    lines, others = text(1, 20), text(2, 20)
    parts = [counts(lines[:7], others[:7]), counts(lines[7:], others[7:])]
    assert sacrebleu_of(counts(lines, others)) == pytest.approx(sacrebleu(lines, others).score)
    whole = Counts(*(sum(values) for values in zip(*parts, strict=True)))
    assert whole == counts(lines, others)
    assert sacrebleu_of(parts[0]) != pytest.approx(sacrebleu_of(whole))


@pytest.mark.parametrize("bleu", [sacrebleu, token_bleu, chrf, lambda t, r: paper_bleu(t, r, "de")])
def test_different_numbers_of_lines_and_no_lines_are_refused(bleu):
    with pytest.raises(InputError, match="2 translations for 1 references"):
        bleu(["a", "b"], ["a"])
    with pytest.raises(InputError, match="no translations"):
        bleu([], [])


FOUR = ["the old cat sleeps", "dog"]


@pytest.mark.parametrize(
    ("translations", "references", "note"),
    [
        (["狗。"], ["狗看见小的房子。"], "the references have no blanks between words"),
        (["the old cat", "dog"], FOUR, "no translation has four words"),
        (FOUR, ["the old cat", "dog"], "no reference has four words"),
        (["旧 的 画 下面 房子 。"], ["旧 的 画 下面 房子 。"], None),
        (FOUR, FOUR, None),
    ],
)
def test_a_bleu_that_says_little_is_explained(translations, references, note):
    found = notes(translations, references)
    assert [each[: len(note)] for each in found] == [note] if note else not found
