"""Translation of lines: sort them by length into batches, decode the batches, and restore the order."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import torch

from transformer.decoding.beam import Hypothesis
from transformer.decoding.precision import all_in_bfloat16
from transformer.decoding.search import Decode, Sentence
from transformer.model.config import last_position
from transformer.package.config import PackageConfig
from transformer.package.loading import Package
from transformer.text.lines import WITHOUT, Limit, check_length, check_line, of_positions

LINES = 8192  # lines in memory at a time
ON_CPU = 8192  # padded subwords of a batch on a CPU


def padded_subwords(device: torch.device, precision: str = "float32") -> int:
    """The default size of a batch: ON_CPU padded subwords, on a GPU 512 for each GiB of its memory if that is more.

    If caches are in bfloat16, it is 1024 for each GiB. The keys and values of the paper's parser then take a sixth of
    the memory, if outputs are ten times as long as the source and hypotheses share no beginnings. We computed this and
    did not try it.
    """
    if device.type != "cuda":
        return ON_CPU
    each = 1024 if all_in_bfloat16(precision, device) else 512
    return max(ON_CPU, each * torch.cuda.get_device_properties(device).total_memory // 2**30)


class Translation(NamedTuple):
    """A line, its ids with the end of sentence, and at least one hypothesis, best first, each with its text."""

    line: str
    source: list[int]
    hypotheses: list[Hypothesis]
    texts: list[str]


def translate(
    package: Package,
    lines: Iterable[str],
    decode: Decode,
    batch_tokens: int,
    report: Callable[[int], object] = lambda _: None,
    name: str = "line",
    at_once: int | None = None,
) -> Iterator[Translation]:
    """The translation of each line, in order, after `at_once` lines (default: LINES) are translated.

    A batch has at most `batch_tokens` padded source tokens, or one line. `report` is called with the number of lines of
    each batch. Raises InputError for a line with a NUL character or too many subwords; the error gives `name` and the
    line's number.
    """
    stream, first = iter(lines), 1
    while chunk := list(islice(stream, at_once or LINES)):
        for number, line in enumerate(chunk, first):
            check_line(f"{name} {number}", line)
        ids = package.subwords.encode(chunk)
        check_lengths(package, map(len, ids), first, name)
        results = hypotheses(list(map(Sentence, range(first, first + len(ids)), ids)), decode, batch_tokens, report)
        texts = (package.subwords.decode([hypothesis.ids for hypothesis in each]) for each in results)
        yield from map(Translation, chunk, ids, results, texts)
        first += len(chunk)


def limit(config: PackageConfig) -> Limit:
    """The most subwords of a line that a model can decode."""
    last = last_position(config.architecture)
    return WITHOUT if last is None else of_positions(config.model, last)


def check_lengths(package: Package, lengths: Iterable[int], first: int = 1, name: str = "line") -> None:
    """Raises InputError for the first line with more subwords than LONGEST, or than the model's learned positions.

    `lengths` are the lengths of the lines. The first of them has the number `first`. The message calls a line `name`.
    """
    of_model = limit(package.config)
    for number, length in enumerate(lengths, first):
        check_length(f"{name} {number}", length, of_model)


def hypotheses(
    sentences: Sequence[Sentence],
    decode: Decode,
    batch_tokens: int,
    report: Callable[[int], object] = lambda _: None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, in order. An empty sentence has one empty hypothesis."""
    lengths = [len(sentence.ids) for sentence in sentences]
    order = sorted((i for i, length in enumerate(lengths) if length > 1), key=lambda i: -lengths[i])
    results = [[Hypothesis([], 0.0)] for _ in sentences]
    report(len(sentences) - len(order))
    parts = []
    while order:
        size = max(1, batch_tokens // lengths[order[0]])
        parts.append(order[:size])
        order = order[size:]
    for part, decoded in zip(parts, decode([[sentences[i] for i in part] for part in parts]), strict=True):
        for i, best in zip(part, decoded, strict=True):
            results[i] = best
        report(len(part))
    return results
