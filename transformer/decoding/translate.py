"""Translation of lines: sorted by length into batches, decoded, put back in order."""

from collections.abc import Iterable, Iterator
from itertools import islice

import torch
from torch.nn.utils.rnn import pad_sequence

from transformer.config import PADDING
from transformer.decoding.beam import Hypothesis, beam_search
from transformer.files import InputError
from transformer.package import Package

LINES = 8192  # lines held at a time
LONGEST = 4096  # subwords of a line; attention takes memory by their square


def translate(package: Package, lines: Iterable[str], width: int, batch_tokens: int) -> Iterator[str]:
    """The best translation of each line, in order; an empty line gives an empty line.

    `batch_tokens` bounds source tokens x beam of a batch. Raises InputError for a line beyond the learned positions.
    """
    stream, first = iter(lines), 1
    while chunk := list(islice(stream, LINES)):
        ids = package.subwords.encode(chunk)
        check_lengths(package, map(len, ids), first)
        hypotheses = search(package, ids, width, batch_tokens)
        yield from package.subwords.decode([best[0].ids if best else [] for best in hypotheses])
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


def search(package: Package, ids: list[list[int]], width: int, batch_tokens: int) -> list[list[Hypothesis]]:
    """Hypotheses of each sentence of ids, best first; none of a sentence that is only its end."""
    device = package.model.embedding.device
    decoding = package.config.decoding
    order = sorted((i for i, sentence in enumerate(ids) if len(sentence) > 1), key=lambda i: -len(ids[i]))
    results: list[list[Hypothesis]] = [[] for _ in ids]
    while order:
        size = max(1, batch_tokens // (len(ids[order[0]]) * width))
        part, order = order[:size], order[size:]
        source = pad_sequence([torch.tensor(ids[i]) for i in part], batch_first=True, padding_value=PADDING).to(device)
        for i, found in zip(
            part, beam_search(package.model, source, width, decoding.alpha, decoding.extra), strict=True
        ):
            results[i] = found
    return results
