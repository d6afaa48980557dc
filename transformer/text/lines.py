"""Which lines can be decoded."""

from pathlib import Path

from transformer.model.ids import LONGEST
from transformer.support.files import InputError, stream_lines
from transformer.text.subwords import Subwords

REASON = f"at most {LONGEST} can be translated"


def check_nul(where: str, line: str) -> None:
    """Raises InputError, which begins with `where`, for a line with NUL."""
    if "\0" in line:
        raise InputError(f"{where}: a NUL character marks a damaged file; mend it, or remove NUL (tr -d)")


def check_length(where: str, length: int, most: int = LONGEST, reason: str = REASON) -> None:
    """Raises InputError, which begins with `where`, for a line of more than `most` subwords."""
    if length > most:
        raise InputError(f"{where}: {length} subwords, but {reason}; split the line")


def check_file(path: Path, subwords: Subwords) -> None:
    """Raises InputError naming the first line of a text that cannot be decoded, and as `stream_lines` does."""
    for number, line in enumerate(stream_lines(path), start=1):
        check_nul(f"{path}, line {number}", line)
        check_length(f"{path}, line {number}", len(subwords.encode([line])[0]))
