"""Reading and writing files: strict on the way in, all or nothing on the way out."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


class InputError(Exception):
    """What a user gave is wrong. The message is one line: file, line, value, remedy."""


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`; flush it to disk and rename it to `path` on success, remove it on failure.

    Raises InputError when the disk has no room or the folder cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); free space or choose another folder"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write `lines`, each closed by a line feed, as UTF-8. Raises InputError as `atomic` does."""
    with atomic(path) as stream:
        for line in lines:
            stream.write(line.encode() + b"\n")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON. Raises InputError as `atomic` does."""
    with atomic(path) as stream:
        stream.write((json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises InputError when there is no such file or it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error


def decode_lines(name: str, stream: Iterable[bytes]) -> Iterator[str]:
    """The lines of a byte stream, without their line feeds, decoded as UTF-8.

    A line ends at a line feed and nowhere else. Raises InputError naming `name` and the line that is not UTF-8.
    """
    for number, line in enumerate(stream, start=1):
        try:
            yield line.removesuffix(b"\n").decode()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name}, line {number}: byte 0x{line[error.start]:02x} is not UTF-8; convert the file (iconv -t utf-8)"
            ) from error


def read_lines(path: Path) -> list[str]:
    """All lines of a UTF-8 file. Raises InputError as `read_bytes` and `decode_lines` do."""
    content = read_bytes(path)
    lines = content.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return list(decode_lines(str(path), lines))


def read_parallel(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """Two files whose lines belong together. Raises InputError when their line counts differ or they are empty."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise InputError(
            f"{source} has {len(sources)} lines and {target} has {len(targets)}; a pair of files needs as many in both"
        )
    if not sources:
        raise InputError(f"{source} and {target} are empty; at least one pair is needed")
    return sources, targets


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises InputError as `read_bytes` does."""
    return hashlib.sha256(read_bytes(path)).hexdigest()
