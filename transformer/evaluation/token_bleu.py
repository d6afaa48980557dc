"""BLEU of tokenised texts, with the numbers that it is made of."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU

from transformer.evaluation.bleu import check


@dataclass(frozen=True)
class TokenBleu:
    """Score and precisions of 1- to 4-grams in percent, brevity penalty, reference tokens, and signature."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    tokens: int
    signature: str


def token_bleu(translations: Sequence[str], references: Sequence[str]) -> TokenBleu:
    """Cased BLEU without smoothing; blanks separate tokens. Raises InputError when the counts differ or are 0."""
    check(translations, references)
    metric = BLEU(tokenize="none", force=True, smooth_method="none")
    found = metric.corpus_score(list(translations), [list(references)])
    return TokenBleu(found.score, tuple(found.precisions), found.bp, found.ref_len, str(metric.get_signature()))
