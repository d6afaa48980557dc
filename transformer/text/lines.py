"""Lines that are too long or damaged: refuse those that cannot be decoded, and select pairs too long for training."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from transformer.model.ids import LONGEST
from transformer.support.files import InputError, count_parallel, stream_lines
from transformer.text.subwords import Subwords, encode_pairs

REASON = f"at most {LONGEST} can be translated"


def check_nul(where: str, line: str) -> None:
    """Raises InputError for a line with NUL. The message begins with `where`."""
    if "\0" in line:
        raise InputError(f"{where}: a NUL character, as in damaged files; repair the file or remove NUL (tr -d '\\0')")


def check_length(where: str, length: int, most: int = LONGEST, reason: str = REASON) -> None:
    """Raises InputError for a line of more than `most` subwords. The message begins with `where`."""
    if length > most:
        raise InputError(f"{where}: {length} subwords, but {reason}; split the line")


def check_file(path: Path, subwords: Subwords, most: int = LONGEST, reason: str = REASON) -> None:
    """Raises InputError for the first line of a text that cannot be decoded, and the InputErrors of `stream_lines`.

    Such a line has a NUL character, more than `most` subwords, or none.
    """
    for number, line in enumerate(stream_lines(path), start=1):
        where, length = f"{path}, line {number}", len(subwords.encode([line])[0])
        check_nul(where, line)
        check_length(where, length, most, reason)
        if length == 1:
            raise InputError(f"{where}: {line[:20]!a} has no subword; correct or remove this line")


def longer(source: Path, target: Path, subwords: Path, than: int) -> Iterator[tuple[str, str]]:
    """The pairs with more than `than` subwords on a side, including the end. Raises InputError like `encode_pairs`."""
    count_parallel(source, target)
    parts = encode_pairs(source, target, subwords, 1)
    lengths = chain.from_iterable(part.lengths.reshape(-1, 2).max(1) for part in parts)
    pairs = zip(stream_lines(source), stream_lines(target), lengths, strict=True)
    return ((one, other) for one, other, length in pairs if length > than)
