"""What characters mean to the steps that read text: subwords leave some out, and some scripts have no blanks."""

import re
from functools import cache
from typing import Any

NORMALISATION = "nmt_nfkc"  # SentencePiece's rule for text, before it learns or uses subwords
VISIBLE = re.compile("[!-~]")  # ASCII that the rule keeps; it answers for most lines, and is fast


@cache
def _normaliser() -> Any:
    from sentencepiece import SentencePieceNormalizer  # slow to import, and the workflow imports this module

    return SentencePieceNormalizer(rule_name=NORMALISATION)


def is_void(line: str) -> bool:
    """Whether nothing of a line is left in subwords, because it has only blanks and characters such as U+200B."""
    return not VISIBLE.search(line) and not _normaliser().normalize(line)
