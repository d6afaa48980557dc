"""Measure how fast base translates with a beam of 4, beside CTranslate2 with the same weights.

The weights are random, and so are the sentences, with lengths like WMT's. Such a model does not end its sentences, so
each output is made as long as its source, and all systems search equally far.
"""

import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.gpu.made import drawn_lengths, random_package
from benchmarks.gpu.training import configured
from benchmarks.translate import Translator, ct2, in_batches
from transformer.decoding.precision import in_precision
from transformer.decoding.search import Search, Sentence
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.export.package import length_exponent
from transformer.model.ids import END, UNKNOWN
from transformer.package.config import SECTION_6_1
from transformer.package.loading import Package, load_package
from transformer.support.files import one_line

LONGEST = 200  # the most subwords of a sentence
Sentences = list[list[int]]


def sentences(count: int, vocabulary: int) -> Sentences:
    """`count` sentences of random ids."""
    random = np.random.default_rng(4)
    lengths = drawn_lengths(count, LONGEST)[:, 0]
    return [[*random.integers(UNKNOWN + 1, vocabulary, length - 1).tolist(), END] for length in lengths]


def ours(package: Package, precision: str, size: int) -> Translator:
    """Our model with the search of `translate`, in one process."""
    model = in_precision(package.model, precision)
    search = Search(SECTION_6_1.beam, SECTION_6_1.alpha, 0)

    def run(batches: list[Sentences]) -> Sentences:
        hypotheses = (search(model, [Sentence(0, ids) for ids in batch]) for batch in batches)
        return [best[0].ids for best in chain.from_iterable(hypotheses)]

    return in_batches(size, run)


def ctranslate2(folder: Path, package: Package, kind: str, size: int) -> Translator:
    """The package in `folder` with CTranslate2's search. Outputs are as long as ours."""
    from ctranslate2 import Translator

    if not (folder / "ctranslate2").exists():
        to_ctranslate2(folder, folder / "ctranslate2")
    device = package.model.embedding.device.type
    translator = Translator(str(folder / "ctranslate2"), device=device, compute_type=kind)
    penalty = length_exponent(package.config.decoding.alpha)

    def run(batches: list[Sentences]) -> Sentences:
        limits = ({"max_decoding_length": max(map(len, batch))} for batch in batches)
        each = (ct2(translator, package, penalty, size, **limit) for limit in limits)
        return [ids for translate, batch in zip(each, batches, strict=True) for ids in translate(batch)]

    return in_batches(size, run)


def measure(device: torch.device, tiny: bool) -> Iterator[dict[str, Any]]:
    """The sentences/s and output subwords/s of each system."""
    run, vocabulary = configured("base", tiny)
    size, count, rounds = (4, 8, 1) if tiny else (1024, 12288, 3)  # sentences of a batch; sentences; rounds
    yield {"batch": size, "sentences": count, "beam": SECTION_6_1.beam}
    systems: dict[str, Any] = {}
    with TemporaryDirectory() as name:
        folder = Path(name, "package")
        random_package(folder, run.architecture, vocabulary)
        package, some = load_package(folder, device), sentences(count, vocabulary)
        for precision in ("bfloat16", "float32"):
            systems[f"ours, {precision}"] = speed(ours(package, precision, size), some, size, rounds)
            yield {"systems": systems}
        for kind in ("float16", "float32") if device.type == "cuda" else ("float32",):
            try:
                found = speed(ctranslate2(folder, package, kind, size), some, size, rounds)
            except (RuntimeError, ImportError) as error:  # it may be missing, or need another version of CUDA
                found = {"reason": one_line(error)}
            systems[f"CTranslate2, {kind}"] = found
            yield {"systems": systems}


def speed(translator: Translator, some: Sentences, size: int, rounds: int) -> dict[str, Any]:
    """The median sentences/s and output subwords/s over the rounds, after `size` sentences to warm up.

    Each round translates its share of the sentences.
    """
    translator(some[:size])
    lines, subwords = [], []
    for number in range(rounds):
        share = some[number::rounds]
        start = time.perf_counter()
        translations = translator(share)
        seconds = time.perf_counter() - start
        lines.append(len(share) / seconds)
        subwords.append(sum(map(len, translations)) / seconds)
    return {"sentences_per_second": median(lines), "subwords_per_second": median(subwords)}
