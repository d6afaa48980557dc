"""Test whether two systems differ in BLEU by more than the choice of sentences explains (sacreBLEU's paired tests)."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from sacrebleu.significance import PairedTest

from transformer.evaluation.bleu import check, sacrebleu_metric
from transformer.support.files import InputError


@dataclass(frozen=True)
class Significance:
    """The p-value of the difference between two systems, and the test's signature (resamples and seed)."""

    p: float
    signature: str


@dataclass(frozen=True)
class Comparison:
    """The sacreBLEU of two systems, and whether they differ.

    sacreBLEU's paired bootstrap resampling (Koehn 2004) is a one-sided test. Its approximate randomisation (Riezler
    and Maxwell 2005) is two-sided, so its p is about twice the other.
    """

    baseline: float
    system: float
    bootstrap: Significance
    randomisation: Significance


def compare(
    baseline: Sequence[str],
    system: Sequence[str],
    references: Sequence[str],
    resamples: int = 1000,
    language: str = "und",
) -> Comparison:
    """Compare two systems' translations of the same sentences into a language.

    The seed is sacreBLEU's: 12345, or $SACREBLEU_SEED. Equal scores get p = 1; sacreBLEU itself would give two equal
    systems the smallest possible p. Raises InputError when the counts differ or are 0, when $SACREBLEU_SEED is not a
    seed, and when memory runs out.
    """
    seed = os.environ.get("SACREBLEU_SEED", "12345")
    if not (seed.isdecimal() or seed.lower() == "none"):
        raise InputError(f"SACREBLEU_SEED={seed} is not a whole number; correct it, or unset it")
    check(baseline, references)
    check(system, references)
    systems: list[tuple[str, Sequence[str]]] = [("baseline", baseline), ("system", system)]
    tests = []
    for kind in ("bs", "ar"):
        try:
            signatures, results = PairedTest(
                systems, {"BLEU": sacrebleu_metric(language)}, [references], kind, resamples
            )()
        except MemoryError as error:
            raise InputError(f"--resamples {resamples}: out of memory; give fewer") from error
        first, second = cast(list[Any], results["BLEU"])
        p = 1.0 if first.score == second.score else second.p_value
        tests.append(Significance(p, str(signatures["BLEU"])))
    return Comparison(first.score, second.score, *tests)
