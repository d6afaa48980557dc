"""chrF, which compares characters and so needs no words (Popovic 2015)."""

from collections.abc import Sequence

from transformer.evaluation.bleu import Score, check


def chrf(translations: Sequence[str], references: Sequence[str]) -> Score:
    """sacreBLEU's chrF with its default settings. Raises InputError when the counts differ or are 0."""
    check(translations, references)
    from sacrebleu.metrics import CHRF  # slow to import; the tables, which only read scores, need not load it

    metric = CHRF()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Score(score, str(metric.get_signature()))
