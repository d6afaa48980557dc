"""Lines that are too long or damaged: refuse those that cannot be decoded, and select pairs too long for training."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

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


def check_nul(where: str, line: str) -> None:
    """Raises InputError for a line with NUL. The message begins with `where`."""
    if "\0" in line:
        raise InputError(f"{where}: a NUL character, as in damaged files; repair the file or remove NUL (tr -d '\\0')")


def check_length(where: str, length: int, limit: Limit) -> None:
    """Raises InputError for a line with too many subwords. The message begins with `where`."""
    if length > limit.most:
        raise InputError(f"{where}: {length} subwords, but {limit.reason}; split the line")


def check_file(path: Path, subwords: Subwords, limit: Limit = WITHOUT) -> None:
    """Raises InputError for the first line of a text that cannot be decoded, and the InputErrors of `stream_lines`.

    Such a line has a NUL character, too many subwords, or none.
    """
    for number, line in enumerate(stream_lines(path), start=1):
        where, length = f"{path}, line {number}", len(subwords.encode([line])[0])
        check_nul(where, line)
        check_length(where, length, limit)
        if length == 1:
            raise InputError(f"{where}: {line[:20]!a} has no subword; correct or remove this line")


def longer(source: Path, target: Path, subwords: Path, than: int) -> Iterator[tuple[str, str]]:
    """The pairs with more than `than` subwords on a side, including the end. Raises InputError like `encode_pairs`."""
    count_parallel(source, target)
    parts = encode_pairs(source, target, subwords, 1)
    lengths = chain.from_iterable(part.lengths.reshape(-1, 2).max(1) for part in parts)
    pairs = zip(stream_lines(source), stream_lines(target), lengths, strict=True)
    return ((one, other) for one, other, length in pairs if length > than)
