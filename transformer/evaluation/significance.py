"""Compare two systems: do they differ in BLEU by more than the choice of sentences explains, and in chrF?"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from transformer.evaluation.bleu import check, sacrebleu_metric, token_metric
from transformer.evaluation.chrf import chrf
from transformer.evaluation.statistics import standard_error
from transformer.support.files import InputError


@dataclass(frozen=True)
class Significance:
    """The p-value of the difference between two systems, and the test's signature (resamples and seed)."""

    p: float
    signature: str


@dataclass(frozen=True)
class Chrf:
    """The chrF (Popovic 2015) of two systems, and its signature. It has no brevity penalty."""

    baseline: float
    system: float
    signature: str


@dataclass(frozen=True)
class Comparison:
    """The sacreBLEU of two systems, and whether they differ.

    sacreBLEU's paired bootstrap resampling (Koehn 2004) is a one-sided test. Its approximate randomisation (Riezler
    and Maxwell 2005) is two-sided, so its p is about twice the other. `differences` has what each sentence says about
    the difference in sacreBLEU, system minus baseline: the jackknife's pseudo-values, whose mean is the difference.
    They are rounded, because they have a standard deviation of ten points or more.
    """

    baseline: float
    system: float
    bootstrap: Significance
    randomisation: Significance
    chrf: Chrf
    differences: list[int]


def compare(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    resamples: int = 1000,
    language: str = "und",
) -> Comparison:
    """Compare two systems' translations of the same sentences into a language.

    The seed is sacreBLEU's: 12345, or $SACREBLEU_SEED. Equal scores get p = 1; sacreBLEU itself would give two equal
    systems the smallest possible p. Raises the InputErrors of `sacrebleu`, and InputError when $SACREBLEU_SEED is not a
    seed, and when memory runs out.
    """
    from sacrebleu.significance import PairedTest

    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not (seed.isdecimal() or seed.lower() == "none"):
        raise InputError(f"SACREBLEU_SEED={seed} is not a whole number; correct it, or unset it")
    check(baseline, references)
    check(system, references)
    metric, systems = sacrebleu_metric(language), (baseline, system)
    tests = []
    for kind in ("bs", "ar"):
        named = list(zip(("baseline", "system"), systems, strict=True))
        try:
            signatures, results = PairedTest(
                named, {"BLEU": sacrebleu_metric(language)}, [references], kind, resamples
            )()
        except (MemoryError, ValueError) as error:
            if isinstance(error, ValueError) and "too big" not in str(error):  # NumPy's words for more than any memory
                raise
            raise InputError(f"--resamples {resamples}: out of memory; give fewer") from error
        first, second = cast(list[Any], results["BLEU"])
        tests.append(Significance(1.0 if first.score == second.score else second.p_value, str(signatures["BLEU"])))
    bootstrap, randomisation = tests
    one, other = (chrf(each, references) for each in systems)
    of_baseline, of_system = (pseudo_values(metric, each, references) for each in systems)
    return Comparison(
        first.score,
        second.score,
        bootstrap,
        randomisation,
        Chrf(one.score, other.score, one.signature),
        (of_system - of_baseline).round().astype(int).tolist(),
    )


def pseudo_values(metric: Any, translations: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """For each of n sentences, n times BLEU less n - 1 times the BLEU of all others (Tukey's jackknife).

    Like the terms of a mean, their mean is BLEU, and their standard deviation tells its error. `metric` is one of
    sacreBLEU's.
    """
    counts = np.array(metric._extract_corpus_statistics(translations, [references]))
    everything = counts.sum(0)
    whole, *without = (
        metric._compute_score_from_stats(each).score for each in [everything.tolist(), *(everything - counts).tolist()]
    )
    return len(counts) * whole - (len(counts) - 1) * np.array(without)


def token_bleu_error(translations: Sequence[str], references: Sequence[str]) -> float:
    """The standard error of `token_bleu` over the choice of sentences. There are at least two."""
    return standard_error(pseudo_values(token_metric(), translations, references))
