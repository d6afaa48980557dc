"""The counts that sacreBLEU is computed from. Unlike BLEU itself, the counts of several texts can be added."""

from collections.abc import Sequence
from typing import NamedTuple


class Counts(NamedTuple):
    """Translations, their words, their references' words, matching n-grams of 1 to 4 words, and all n-grams."""

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
    """The counts of a text."""
    from sacrebleu.metrics import BLEU

    score = BLEU().corpus_score(translations, [references])
    return Counts(len(translations), score.sys_len, score.ref_len, *score.counts, *score.totals)


def sacrebleu_of(counts: Counts) -> float:
    """sacreBLEU of a text from its counts, or of several texts from the sum of theirs."""
    from sacrebleu.metrics import BLEU

    lengths = int(counts.words), int(counts.reference_words)  # sacreBLEU refuses floats
    return float(BLEU.compute_bleu(list(counts[3:7]), list(counts[7:]), *lengths, smooth_method="exp").score)
