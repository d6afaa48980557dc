"""BLEU in two ways: sacreBLEU on plain text, and the paper's BLEU on Moses tokens with split compounds."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import BLEU
from sacremoses import MosesTokenizer

from transformer.support.files import InputError


@dataclass(frozen=True)
class Score:
    """A score in percent, and the signature that says how it was computed."""

    score: float
    signature: str


def check(translations: Sequence[str], references: Sequence[str]) -> None:
    """Raises InputError when the counts differ or are 0."""
    if len(translations) != len(references):
        raise InputError(
            f"{len(translations)} translations for {len(references)} references; give the references of what was "
            "translated"
        )
    if not references:
        raise InputError("no translations to score; at least one is needed")


def sacrebleu(translations: Sequence[str], references: Sequence[str]) -> Score:
    """sacreBLEU with its default settings: cased, 13a tokens. Raises InputError when the counts differ or are 0."""
    check(translations, references)
    metric = BLEU()
    score = metric.corpus_score(list(translations), [list(references)]).score
    return Score(score, str(metric.get_signature()))


def split_compounds(line: str) -> str:
    """Split hyphenated compounds like the authors' script: `(\\S)-(\\S)` becomes `\\1 ##AT##-##AT## \\2`."""
    return re.sub(r"(\S)-(\S)", r"\1 ##AT##-##AT## \2", line)


def paper_bleu(translations: Sequence[str], references: Sequence[str], language: str) -> Score:
    """Cased BLEU without smoothing (multi-bleu) on Moses tokens with split compounds.

    `language` chooses Moses' list of abbreviations; a language without a list uses the English one. Raises InputError
    when the counts differ or are 0.
    """
    check(translations, references)
    moses = MosesTokenizer(lang=language)

    def tokens(line: str) -> str:
        return split_compounds(moses.tokenize(line, return_str=True))

    metric = BLEU(tokenize="none", force=True, smooth_method="none")
    score = metric.corpus_score([tokens(t) for t in translations], [[tokens(r) for r in references]]).score
    return Score(score, f"{metric.get_signature()}|moses:{language}|compounds:split")
