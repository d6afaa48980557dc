"""Refuse lines that models cannot read, decode or score, and select pairs that are too long for training."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from transformer.corpora.usable import NUL, unusable
from transformer.model.ids import LONGEST
from transformer.support.files import InputError, count_parallel, stream_lines
from transformer.text.subwords import Subwords, encode_pairs


class Limit(NamedTuple):
    """The most subwords of a line that models can decode or score, and why not more."""

    most: int
    reason: str


WITHOUT = Limit(LONGEST, f"at most {LONGEST} can be translated")  # of models without a limit of their own


def of_positions(model: str, last: int) -> Limit:
    """The limit of a model that has learned `last` positions."""
    return Limit(last, f"{model} has learned {last} positions (max_length)")


def check_length(where: str, length: int, limit: Limit) -> None:
    """Raises InputError for a line with too many subwords. The message begins with `where`."""
    if length > limit.most:
        raise InputError(f"{where}: {length} subwords, but {limit.reason}; split the line")


def check_line(where: str, line: str, may_be_void: bool = True) -> None:
    """Raises InputError for a line with NUL and, unless it `may_be_void`, without a subword."""
    reason = unusable(line)
    if reason == NUL:
        raise InputError(f"{where}: a NUL character, as in damaged files; repair the file or remove NUL (tr -d '\\0')")
    if reason and not may_be_void:
        raise InputError(f"{where}: {line[:20]!a} has no subword; correct or remove this line")


def check_file(path: Path, subwords: Subwords, limit: Limit = WITHOUT) -> None:
    """Raises InputError for the first line of a text that cannot be decoded, and the InputErrors of `stream_lines`."""
    for number, line in enumerate(stream_lines(path), start=1):
        check_line(f"{path}, line {number}", line, may_be_void=False)
        check_length(f"{path}, line {number}", len(subwords.encode([line])[0]), limit)


def longer(source: Path, target: Path, subwords: Path, than: int) -> Iterator[tuple[str, str]]:
    """The pairs with more than `than` subwords on a side, including the end. Raises InputError like `encode_pairs`."""
    count_parallel(source, target)
    parts = encode_pairs(source, target, subwords, 1)
    lengths = chain.from_iterable(part.lengths.reshape(-1, 2).max(1) for part in parts)
    pairs = zip(stream_lines(source), stream_lines(target), lengths, strict=True)
    return ((one, other) for one, other, length in pairs if length > than)
