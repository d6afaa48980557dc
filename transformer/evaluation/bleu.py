"""BLEU in three ways: sacreBLEU on plain text, BLEU of tokens, and the paper's on Moses tokens with split compounds.

Unlike BLEU itself, the counts that sacreBLEU is computed from can be added over several texts.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from transformer.evaluation.tokenisers import DEFAULT, missing, tokeniser_of
from transformer.support.characters import lacks_blanks
from transformer.support.files import InputError
from transformer.support.languages import code_of


@dataclass(frozen=True)
class Score:
    """A score in percent, and the signature that says how it was computed."""

    score: float
    signature: str


@dataclass(frozen=True)
class SacreBleu(Score):
    """A score, its signature, and the tokens of the translations divided by those of the references."""

    length: float


@dataclass(frozen=True)
class TokenBleu:
    """Score and precisions of 1- to 4-grams in percent, brevity penalty, reference tokens, and signature."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    tokens: int
    signature: str


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


def check(translations: Sequence[str], references: Sequence[str]) -> None:
    """Raises InputError when the counts differ or are 0."""
    if len(translations) != len(references):
        raise InputError(
            f"{len(translations)} translations for {len(references)} references; give the references of what was "
            "translated"
        )
    if not references:
        raise InputError("no translations to score; at least one is needed")


def notes(translations: Sequence[str], references: Sequence[str], language: str = "und") -> list[str]:
    """Why the BLEUs of a text say little, if they do. Raises the InputErrors of `sacrebleu`."""
    check(translations, references)
    if tokeniser_of(language) == DEFAULT and 2 * sum(map(lacks_blanks, references)) > len(references):
        return [
            f"the references have no blanks between words, but BLEU takes {language} for a language with blanks, and "
            "whole phrases for words; name the language of the text, such as zh, ja or th"
        ]
    return [
        f"no {name} has four words, so BLEU says little: it also counts matches of four words in a row"
        for name, lines in (("translation", translations), ("reference", references))
        if not counts(lines, lines, language).ngrams_4
    ]


def sacrebleu_metric(language: str = "und") -> Any:
    """sacreBLEU with its default settings (cased) and a language's tokeniser.

    Raises InputError if the tokeniser is not installed, and for what is not a language.
    """
    if fault := missing(language):
        raise InputError(fault)
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize=tokeniser_of(language))


def sacrebleu(translations: Sequence[str], references: Sequence[str], language: str = "und") -> SacreBleu:
    """sacreBLEU of translations into a language.

    Raises InputError when the counts differ or are 0, and the InputErrors of `sacrebleu_metric`.
    """
    check(translations, references)
    metric = sacrebleu_metric(language)
    bleu = metric.corpus_score(list(translations), [list(references)])
    return SacreBleu(bleu.score, str(metric.get_signature()), bleu.ratio)


def counts(translations: Sequence[str], references: Sequence[str], language: str = "und") -> Counts:
    """The counts of a text. Raises the InputErrors of `sacrebleu_metric`."""
    score = sacrebleu_metric(language).corpus_score(translations, [references])
    return Counts(len(translations), score.sys_len, score.ref_len, *score.counts, *score.totals)


def sacrebleu_of(counts: Counts) -> float:
    """sacreBLEU of a text from its counts, or of several texts from the sum of theirs."""
    from sacrebleu.metrics import BLEU

    lengths = int(counts.words), int(counts.reference_words)  # sacreBLEU refuses floats
    return float(BLEU.compute_bleu(list(counts[3:7]), list(counts[7:]), *lengths, smooth_method="exp").score)


def token_metric() -> Any:
    """BLEU of tokens separated by blanks: cased, without smoothing."""
    from sacrebleu.metrics import BLEU

    return BLEU(tokenize="none", force=True, smooth_method="none")


def token_bleu(translations: Sequence[str], references: Sequence[str]) -> TokenBleu:
    """Cased BLEU without smoothing; blanks separate tokens. Raises InputError when the counts differ or are 0."""
    check(translations, references)
    metric = token_metric()
    bleu = metric.corpus_score(list(translations), [list(references)])
    return TokenBleu(bleu.score, tuple(bleu.precisions), bleu.bp, bleu.ref_len, str(metric.get_signature()))


def split_compounds(line: str) -> str:
    """Split hyphenated compounds like the authors' script: `(\\S)-(\\S)` becomes `\\1 ##AT##-##AT## \\2`.

    The script reads bytes. A letter of two bytes between two hyphens is therefore separated from both; an `a` stays
    joined to the second.
    """
    return re.sub(rb"(\S)-(\S)", rb"\1 ##AT##-##AT## \2", line.encode()).decode()


def paper_bleu(translations: Sequence[str], references: Sequence[str], name: str) -> Score:
    """Cased BLEU without smoothing (multi-bleu) on Moses tokens with split compounds.

    `name` is the name of the translations' language. It chooses Moses' list of abbreviations; a language without a list
    uses the English one. For scripts without blanks, which Moses does not split, and for Korean, the tokens are those
    of sacreBLEU. Raises the InputErrors of `sacrebleu`.
    """
    from sacremoses import MosesTokenizer  # the tables, which only read BLEU, need not load it

    check(translations, references)
    code = code_of(name)
    if tokeniser_of(name) != DEFAULT:
        tokeniser = sacrebleu_metric(name).tokenizer
        bleu = token_bleu(list(map(tokeniser, translations)), list(map(tokeniser, references)))
        return Score(bleu.score, f"{bleu.signature}|tokens:{tokeniser.signature()}")
    moses = MosesTokenizer(lang=code)

    def tokens(line: str) -> str:
        return split_compounds(moses.tokenize(line, return_str=True))

    bleu = token_bleu(list(map(tokens, translations)), list(map(tokens, references)))
    return Score(bleu.score, f"{bleu.signature}|moses:{code}|compounds:split")
