"""Measure how fast base translates with a beam of 4, beside CTranslate2 with the same weights.

The weights are random, and so are the sentences, with lengths like WMT's. Such a model does not end its sentences, so
each output is made as long as its source, and all systems search equally far.
"""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from benchmarks.gpu.made import drawn_lengths, random_package
from benchmarks.gpu.training import configured
from benchmarks.translate import ct2, in_batches
from transformer.decoding.precision import in_precision
from transformer.decoding.search import Search, Sentence
from transformer.evaluation.turns import seconds
from transformer.export.ctranslate2 import to_ctranslate2
from transformer.export.package import length_exponent
from transformer.model.ids import END, UNKNOWN
from transformer.package.config import SECTION_6_1
from transformer.package.loading import Package, load_package
from transformer.support.files import one_line

LONGEST = 200  # the most subwords of a sentence
Sentences = list[list[int]]
System = Callable[[Sentences], Sentences]  # translates a batch


def sentences(count: int, vocabulary: int) -> Sentences:
    """`count` sentences of random ids."""
    random = np.random.default_rng(4)
    lengths = drawn_lengths(count, LONGEST)[:, 0]
    return [[*random.integers(UNKNOWN + 1, vocabulary, length - 1).tolist(), END] for length in lengths]


def ours(package: Package, precision: str) -> System:
    """Our model with the search of `translate`, in one process."""
    model = in_precision(package.model, precision)
    search = Search(SECTION_6_1.beam, SECTION_6_1.alpha, 0)
    return lambda batch: [best[0].ids for best in search(model, [Sentence(0, ids) for ids in batch])]


def ctranslate2(folder: Path, package: Package, kind: str) -> System:
    """The package in `folder` with CTranslate2's search. Outputs are as long as ours."""
    from ctranslate2 import Translator

    if not (folder / "ctranslate2").exists():
        to_ctranslate2(folder, folder / "ctranslate2")
    device = package.model.embedding.device.type
    translator = Translator(str(folder / "ctranslate2"), device=device, compute_type=kind)
    how = (translator, package, length_exponent(package.config.decoding.alpha))
    return lambda batch: ct2(*how, len(batch), max_decoding_length=max(map(len, batch)))(batch)


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
            systems[f"ours, {precision}"] = speed(ours(package, precision), some, size, rounds)
            yield {"systems": systems}
        for kind in ("float16", "float32") if device.type == "cuda" else ("float32",):
            try:
                found = speed(ctranslate2(folder, package, kind), some, size, rounds)
            except (RuntimeError, ImportError) as error:  # it may be missing, or need another version of CUDA
                found = {"reason": one_line(error)}
            systems[f"CTranslate2, {kind}"] = found
            yield {"systems": systems}


def speed(system: System, some: Sentences, size: int, rounds: int) -> dict[str, Any]:
    """The median sentences/s and output subwords/s over the rounds, after one batch of `size` sentences to warm up.

    Each round translates its share of the sentences.
    """
    translate = in_batches(size, lambda batches: [*chain.from_iterable(map(system, batches))])
    translate(some[:size])
    lines, subwords = [], []
    for share in (some[number::rounds] for number in range(rounds)):
        translations: Sentences = []
        spent = seconds(lambda share=share, into=translations: into.extend(translate(share)))
        lines.append(len(share) / spent)
        subwords.append(sum(map(len, translations)) / spent)
    return {"sentences_per_second": median(lines), "subwords_per_second": median(subwords)}
