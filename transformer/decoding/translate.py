"""Translation of lines: sorted by length into batches, decoded by one process or several, put back in order."""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from transformer.config import PADDING
from transformer.decoding.beam import Hypothesis, beam_search, length_penalty
from transformer.decoding.precision import in_precision
from transformer.decoding.sampling import sample
from transformer.files import InputError
from transformer.model.transformer import Transformer
from transformer.package import Package, load_package
from transformer.training.device import keep_freed_memory

LINES = 8192  # lines held at a time
LONGEST = 4096  # subwords of a line; attention takes memory by their square


class Translation(NamedTuple):
    """A line, its ids, closed by the end of sentence, and at least one hypothesis, best first."""

    line: str
    source: list[int]
    hypotheses: list[Hypothesis]


class Sentence(NamedTuple):
    """The number of a line, and its ids."""

    number: int
    ids: list[int]


Decoder = Callable[[list[Sentence]], list[list[Hypothesis]]]
Decode = Callable[[Iterable[list[Sentence]]], Iterable[list[list[Hypothesis]]]]  # batches, in order


@dataclass(frozen=True)
class Search:
    """How to decode: by a beam of `width`, or by drawing with a `seed` and the line's number.

    Of several hypotheses only the first is sure to be the one that the whole search finds, unless `nbest`.
    """

    width: int
    alpha: float
    extra: int
    seed: int | None = None
    nbest: bool = False

    def __call__(self, model: Transformer, batch: Sequence[Sentence]) -> list[list[Hypothesis]]:
        """Hypotheses of each sentence, best first."""
        ids = [torch.tensor(sentence.ids) for sentence in batch]
        source = pad_sequence(ids, batch_first=True, padding_value=PADDING).to(model.embedding.device)
        if self.seed is None:
            return beam_search(model, source, self.width, self.alpha, self.extra, self.nbest)
        generators = [np.random.default_rng((self.seed, sentence.number)) for sentence in batch]
        return [[drawn] for drawn in sample(model, source, self.extra, generators)]

    def log_probability(self, hypothesis: Hypothesis) -> float:
        """Log P a subword, the end of sentence counted; less than that where the end was not reached."""
        length = len(hypothesis.ids) + 1
        return float(hypothesis.score * length_penalty(length, self.alpha if self.seed is None else 0) / length)


@contextmanager
def decoding(package: Package, folder: Path, search: Search, precision: str, workers: int) -> Iterator[Decode]:
    """What decodes batches: this process or, where `workers` is above 1, so many, each with the package of `folder`.

    Raises InputError as `in_precision` does.
    """
    model = in_precision(package.model, precision)
    if workers == 1:
        yield lambda batches: (search(model, batch) for batch in batches)
        return
    pool = ProcessPoolExecutor(
        workers, get_context("spawn"), _load, (folder, search, precision, torch.get_num_threads())
    )
    try:
        yield lambda batches: pool.map(_decode, batches)
    finally:
        pool.shutdown(cancel_futures=True)


_decoder: Decoder  # of a worker


def _load(folder: Path, search: Search, precision: str, threads: int) -> None:
    global _decoder
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches all processes; the first ends the others
    torch.set_num_threads(threads)
    keep_freed_memory()
    model = in_precision(load_package(folder, torch.device("cpu")).model, precision)
    _decoder = partial(search, model)


def _decode(batch: list[Sentence]) -> list[list[Hypothesis]]:
    return _decoder(batch)


def translate(
    package: Package,
    lines: Iterable[str],
    decode: Decode,
    batch_tokens: int,
    report: Callable[[int], object] = lambda _: None,
) -> Iterator[Translation]:
    """The translation of each line, in order.

    `batch_tokens` bounds the source tokens of a batch; `report` hears how many lines each batch had. Raises InputError
    for a line with NUL or of too many subwords.
    """
    stream, first = iter(lines), 1
    while chunk := list(islice(stream, LINES)):
        for number, line in enumerate(chunk, first):
            if "\0" in line:
                raise InputError(f"line {number}: a NUL character marks a damaged file; mend it, or remove NUL (tr -d)")
        ids = package.subwords.encode(chunk)
        check_lengths(package, map(len, ids), first)
        found = hypotheses(list(map(Sentence, range(first, first + len(ids)), ids)), decode, batch_tokens, report)
        yield from map(Translation, chunk, ids, found)
        first += len(chunk)


def check_lengths(package: Package, lengths: Iterable[int], first: int = 1) -> None:
    """Raises InputError naming the first line with more subwords than LONGEST, or than the model's learned positions.

    `lengths` are those of the lines from line `first` on.
    """
    architecture = package.config.architecture
    learned = architecture.positions == "learned"
    most = architecture.max_length if learned else LONGEST
    what = f"{package.config.model} has learned {most} positions" if learned else f"at most {most} can be translated"
    for number, length in enumerate(lengths, first):
        if length > most:
            raise InputError(f"line {number}: {length} subwords, but {what}; split the line")


def hypotheses(
    sentences: Sequence[Sentence],
    decode: Decode,
    batch_tokens: int,
    report: Callable[[int], object] = lambda _: None,
) -> list[list[Hypothesis]]:
    """Hypotheses of each sentence, in order; the empty one of a sentence that is only its end."""
    lengths = [len(sentence.ids) for sentence in sentences]
    order = sorted((i for i, length in enumerate(lengths) if length > 1), key=lambda i: -lengths[i])
    results = [[Hypothesis([], 0.0)] for _ in sentences]
    report(len(sentences) - len(order))
    parts = []
    while order:
        size = max(1, batch_tokens // lengths[order[0]])
        parts.append(order[:size])
        order = order[size:]
    for part, found in zip(parts, decode([[sentences[i] for i in part] for part in parts]), strict=True):
        for i, best in zip(part, found, strict=True):
            results[i] = best
        report(len(part))
    return results
