"""What sacreBLEU is computed from: counts that add up over texts, which BLEU does not."""

from collections.abc import Sequence
from typing import NamedTuple

from sacrebleu.metrics import BLEU


class Counts(NamedTuple):
    """Of translations: how many, their words, their references' words, matching n-grams of 1 to 4 words, and all."""

    translations: int
    words: int
    reference_words: int
    matches_1: int
    matches_2: int
    matches_3: int
    matches_4: int
    ngrams_1: int
    ngrams_2: int
    ngrams_3: int
    ngrams_4: int


def counts(translations: Sequence[str], references: Sequence[str]) -> Counts:
    """Those of a text."""
    score = BLEU().corpus_score(translations, [references])
    return Counts(len(translations), score.sys_len, score.ref_len, *score.counts, *score.totals)


def sacrebleu_of(counts: Counts) -> float:
    """sacreBLEU of a text, or of several whose counts are added."""
    lengths = int(counts.words), int(counts.reference_words)  # no other numbers will do
    return float(BLEU.compute_bleu(list(counts[3:7]), list(counts[7:]), *lengths, smooth_method="exp").score)
