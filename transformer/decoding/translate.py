"""Translation of lines: sorted by length into batches, decoded, put back in order."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from transformer.config import PADDING
from transformer.decoding.beam import Hypothesis, beam_search
from transformer.decoding.sampling import sample
from transformer.files import InputError
from transformer.package import Package

LINES = 8192  # lines held at a time
LONGEST = 4096  # subwords of a line; attention takes memory by their square


class Translation(NamedTuple):
    """A line, its ids, closed by the end of sentence, and at least one hypothesis, best first."""

    line: str
    source: list[int]
    hypotheses: list[Hypothesis]


def translate(
    package: Package,
    lines: Iterable[str],
    width: int,
    batch_tokens: int,
    seed: int | None = None,
    report: Callable[[int], object] = lambda _: None,
) -> Iterator[Translation]:
    """The translation of each line, in order, by beam search; with a `seed`, drawn by it and the line's number.

    `batch_tokens` bounds source tokens x beam of a batch; `report` hears how many lines each batch had. Raises
    InputError for a line with NUL or of too many subwords.
    """
    stream, first = iter(lines), 1
    while chunk := list(islice(stream, LINES)):
        for number, line in enumerate(chunk, first):
            if "\0" in line:
                raise InputError(f"line {number}: a NUL character marks a damaged file; mend it, or remove NUL (tr -d)")
        ids = package.subwords.encode(chunk)
        check_lengths(package, map(len, ids), first)
        found = search(package, ids, width, batch_tokens, seed, first, report)
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


def search(
    package: Package,
    ids: list[list[int]],
    width: int,
    batch_tokens: int,
    seed: int | None = None,
    first: int = 1,
    report: Callable[[int], object] = lambda _: None,
) -> list[list[Hypothesis]]:
    """Hypotheses of each sentence of ids, those of line `first` and on; the empty one of a sentence that is its end."""
    model, decoding = package.model, package.config.decoding
    order = sorted((i for i, sentence in enumerate(ids) if len(sentence) > 1), key=lambda i: -len(ids[i]))
    results = [[Hypothesis([], 0.0)] for _ in ids]
    report(len(ids) - len(order))
    while order:
        size = max(1, batch_tokens // (len(ids[order[0]]) * width))
        part, order = order[:size], order[size:]
        padded = pad_sequence([torch.tensor(ids[i]) for i in part], batch_first=True, padding_value=PADDING)
        source = padded.to(model.embedding.device)
        if seed is None:
            found = beam_search(model, source, width, decoding.alpha, decoding.extra)
        else:
            generators = [np.random.default_rng((seed, first + i)) for i in part]
            found = [[drawn] for drawn in sample(model, source, decoding.extra, generators)]
        for i, hypotheses in zip(part, found, strict=True):
            results[i] = hypotheses
        report(len(part))
    return results
