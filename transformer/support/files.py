"""Read files strictly, write files whole or not at all, and write to standard output."""

import codecs
import errno
import fcntl
import glob
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO

from transformer.support.encodings import conversion, unmarked

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # the errors of writing to a full disk


class InputError(Exception):
    """A user's input is wrong. The message has a line for each fault: file, line, value, remedy."""


def one_line(error: BaseException) -> str:
    """The type and the first line of an exception."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def told(error: BaseException) -> str:
    """What an error says, without its number, and first the file that it is about."""
    return f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else str(error)


def check_mirror(mirror: Path | None) -> None:
    """Raises InputError when `mirror` is given and is not a folder."""
    if mirror and not mirror.is_dir():
        raise InputError(f"{mirror}: no such folder; correct `mirror` in the config, or TRANSFORMER_MIRROR")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths name one file, also by links. A file need not exist."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def is_open_as(descriptor: int, path: Path) -> bool:
    """Whether a file descriptor of this process is open on the plain file `path`."""
    try:
        return path.is_file() and os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path`. On success flush it to disk and rename it to `path`; on failure remove it.

    If `path` is a link, the file that it names is written. Raises InputError when `path` is a folder, a device or a
    pipe, when the disk is full, and when the folder cannot be written to. Other errors of the enclosed code stay.
    """
    path = Path(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is a {'folder' if path.is_dir() else 'device or a pipe'}; name a file")
    file = Path(os.path.realpath(path))
    temporary = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        with _writing(path):
            file.parent.mkdir(parents=True, exist_ok=True)
            _remove_leftovers(file)
            stream = temporary.open("wb")
        with _writing(path, FULL), stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        with _writing(path):
            temporary.replace(file)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _writing(path: Path, numbers: Container[int | None] | None = None) -> Iterator[None]:
    """Turn errors with these numbers (default: all) into InputErrors about `path`."""
    try:
        yield
    except OSError as error:
        if numbers is not None and error.errno not in numbers:
            raise
        raise InputError(
            f"{path}: cannot be written ({error.strerror}); free space or choose another folder"
        ) from error


def _remove_leftovers(path: Path) -> None:
    """Remove the temporary files and folders of `path` that killed processes have left."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        process = left.name.removeprefix(f".{path.name}.").removesuffix(".part")
        if not process.isdigit():  # another file's
            continue
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        except PermissionError:
            pass


@contextmanager
def part_folder(path: Path, named: Path | None = None) -> Iterator[Path]:
    """A new folder with a hidden name beside `path`, which is removed at the end or, after a kill, by the next call.

    InputErrors about files in it name them as if they were in `named` (default: `path`), which the user knows.
    """
    named, path = named or path, path.absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process that had this number
    temporary.mkdir()
    try:
        yield temporary
    except InputError as error:
        if str(temporary) not in str(error):
            raise
        raise InputError(str(error).replace(str(temporary), str(named))) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write `lines` as UTF-8, each closed by a line feed. Raises the InputErrors of `atomic`."""
    with atomic(path) as stream:
        for line in lines:
            stream.write(line.encode() + b"\n")


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8, closed by a line feed. Raises the InputErrors of `atomic`."""
    write_lines(path, [text.removesuffix("\n")])


def as_json(value: Any) -> bytes:
    """`value` as indented JSON, closed by a line feed."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def write_json(path: Path, value: Any) -> None:
    """Write `value` as indented JSON. Raises the InputErrors of `atomic`."""
    with atomic(path) as stream:
        stream.write(as_json(value))


def write_output(text: str) -> bytes:
    """Write to standard output, at once. Returns the bytes.

    Raises InputError when the disk behind it is full, and BrokenPipeError when its reader has ended.
    """
    content = text.encode()
    left = memoryview(content)
    with _writing(Path("standard output"), FULL):
        while left:  # with PYTHONUNBUFFERED, a write may be partial
            left = left[sys.stdout.buffer.write(left) :]
        sys.stdout.buffer.flush()
    return content


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read bytes from. Raises InputError when the file does not exist or cannot be read."""
    try:
        with Path(path).open("rb") as stream:
            yield stream
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); correct the path or its permissions") from error


def read_bytes(path: Path) -> bytes:
    """The content of a file. Raises the InputErrors of `opened`."""
    with opened(path) as stream:
        return stream.read()


class _Object(dict[str, Any]):
    """A JSON object of a file. A key that it lacks raises InputError: the file is of another version, or was edited."""

    def __init__(self, path: Path, values: dict[str, Any]):
        super().__init__(values)
        self.path = path

    def __missing__(self, key: str) -> Any:
        raise InputError(f"{self.path}: has no {key}; make it again")


def read_json(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """The JSON object in a file. Raises InputError when the file holds anything else or cannot be read.

    Each object in it raises InputError for a key that it lacks. Give the `content` of a member of an archive.
    """
    try:
        value = json.loads(read_bytes(path) if content is None else content, object_hook=partial(_Object, path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON ({error}); make it again") from error
    if not isinstance(value, dict):
        raise InputError(f"{path}: not a JSON object; make it again")
    return value


def text_lines(name: str, stream: Iterable[bytes]) -> Iterator[str]:
    """The lines of a byte stream, without their line feeds, decoded as UTF-8, without a byte order mark before them.

    Only a line feed ends a line. Raises InputError that gives `name` and the number of the line that is not UTF-8, also
    if it is UTF-16 without a byte order mark, and if the lines of the text end with CR alone.
    """
    for number, line in enumerate(stream, start=1):
        if number == 1 and unmarked(line):
            raise InputError(f"{name}, line 1: has NULs between its letters; {conversion(line)}")
        if number == 1 and line.count(b"\r") > 1 and not line.endswith(b"\n"):
            raise InputError(f"{name}: its lines end with CR alone; end them with LF: tr '\\r' '\\n' < OLD > NEW")
        try:
            yield line.removesuffix(b"\n").removeprefix(b"" if number > 1 else codecs.BOM_UTF8).decode()
        except UnicodeDecodeError as error:
            byte = error.object[error.start]
            raise InputError(
                f"{name}, line {number}: byte 0x{byte:02x} is not UTF-8; {conversion(line if number == 1 else b'')}"
            ) from error


def read_lines(path: Path) -> list[str]:
    """All lines of a UTF-8 file. Raises the InputErrors of `stream_lines`."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, read one at a time. Raises the InputErrors of `opened` and `text_lines`."""
    with opened(path) as stream:
        yield from text_lines(str(path), stream)


def count_parallel(source: Path, target: Path) -> int:
    """How many lines each of two parallel files has. Raises InputError if they differ or are 0, and like `opened`."""
    counts = []
    for path in (source, target):
        with opened(path) as stream:
            counts.append(sum(1 for _ in stream))
    return _same_count(source, target, *counts)


def _same_count(source: Path, target: Path, sources: int, targets: int) -> int:
    if sources != targets:
        raise InputError(f"{source} has {sources} lines and {target} has {targets}; make their numbers of lines equal")
    if not sources:
        raise InputError(f"{source} and {target} are empty; give at least one line in each")
    return sources


def read_parallel(source: Path, target: Path) -> tuple[list[str], list[str]]:
    """The lines of two parallel files. Raises the InputErrors of `count_parallel` and `stream_lines`."""
    sources, targets = read_lines(source), read_lines(target)
    _same_count(source, target, len(sources), len(targets))
    return sources, targets


def locked(stream: IO[Any], wait: bool = False, part: range | None = None) -> bool:
    """Lock an open file until it is closed. Returns False if another process has locked it; with `wait`, waits for it.

    `part` locks only these bytes, which need not exist. Such a lock keeps away only others with a `part`, and it ends
    as soon as this process closes the file anywhere. Some file systems (some NFS and Lustre) have no locks: then this
    prints a warning and returns True.
    """
    how = fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB)
    try:
        if part is None:
            fcntl.flock(stream, how)
        else:
            fcntl.lockf(stream, how, len(part), part.start)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK):
            raise
        print(
            f"warning: {stream.name}: the file system has no locks; let no other process write there", file=sys.stderr
        )
    return True


def link(source: Path, target: Path) -> None:
    """Make `target` a hard link to `source`, or a copy where that fails. A file that is already there is replaced."""
    with part_folder(target) as folder:
        made = folder / target.name
        try:
            made.hardlink_to(source)
        except OSError:
            shutil.copyfile(source, made)
        made.replace(target)


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises the InputErrors of `read_bytes`."""
    return hashlib.sha256(read_bytes(path)).hexdigest()
