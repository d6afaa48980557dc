import pytest

from transformer.evaluation import tokenisers
from transformer.evaluation.bleu import sacrebleu
from transformer.evaluation.tokenisers import missing, tokeniser_of
from transformer.support.files import InputError


@pytest.fixture
def without_mecab(monkeypatch):
    monkeypatch.setattr(tokenisers, "find_spec", lambda _: None)


@pytest.mark.parametrize(
    ("language", "tokeniser"),
    [("de", "13a"), ("und", "13a"), ("zh_TW", "zh"), ("jpn", "ja-mecab"), ("ko-KR", "ko-mecab"), ("my", "char")],
)
def test_the_language_chooses_the_tokeniser(language, tokeniser):
    assert tokeniser_of(language) == tokeniser


@pytest.mark.usefixtures("without_mecab")
@pytest.mark.parametrize(("language", "extra"), [("ja", "ja"), ("Korean", "ko")])
def test_a_tokeniser_that_is_not_installed_is_told_with_the_remedy(language, extra):
    said = f"BLEU of {language} needs mecab, which is not installed; run python -m pip install 'sacrebleu[{extra}]'"
    assert missing(language) == said
    with pytest.raises(InputError, match="needs mecab"):
        sacrebleu(["a"], ["a"], language)
