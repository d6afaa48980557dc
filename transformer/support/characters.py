"""Which characters subwords leave out, and which scripts have no blanks between words."""

import re
from functools import cache
from typing import Any

NORMALISATION = "nmt_nfkc"  # SentencePiece's rule for text, before it learns or uses subwords
# A run of letters of scripts without blanks between words: Thai, Lao, Tibetan, Burmese, Khmer, Japanese, Chinese.
UNBROKEN = re.compile(
    "[\u0e01-\u0eff\u0f40-\u0fbc\u1000-\u109f\u1780-\u17d3\u3041-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]{4,}"
)
LONG_WORD = 12  # letters; a longer run is not one word
VISIBLE = re.compile("[!-~]")  # ASCII that the rule keeps; it answers for most lines, and is fast


@cache
def _normaliser() -> Any:
    from sentencepiece import SentencePieceNormalizer  # slow to import, and the workflow imports this module

    # Blanks stay blanks, but none stands at an end or beside another.
    how: Any = {"add_dummy_prefix": False, "escape_whitespaces": False, "remove_extra_whitespaces": True}
    return SentencePieceNormalizer(rule_name=NORMALISATION, **how)


def normalised(text: str) -> str:
    """What SentencePiece makes of a text before it learns or uses subwords."""
    return str(_normaliser().normalize(text))


def is_void(line: str) -> bool:
    """Whether nothing of a line is left in subwords, because it has only blanks and characters such as U+200B."""
    return not VISIBLE.search(line) and not normalised(line)


def lacks_blanks(line: str) -> bool:
    """Whether a line has text in a script without blanks between words, and nobody has put blanks between its words."""
    runs = UNBROKEN.findall(line)
    return any(len(run) > LONG_WORD for run in runs) or bool(runs and len(line.split()) == 1)
