"""Read members of archives in bounded memory, and refuse damaged archives and decompression bombs."""

import bz2
import functools
import gzip
import io
import lzma
import posixpath
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

from transformer.corpora.location import Location, composed
from transformer.support.files import InputError

# A file may unpack to 200 times its size, or to 64 MiB if that is more. Anything larger counts as a bomb.
EXPANSION = 200
LEAST_LIMIT = 2**26  # bytes
BUFFER = 2**17  # bytes
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


class Member(NamedTuple):
    """A member of an archive.

    `open` raises InputError when it is not a plain file, lies outside the archive, or unpacks to too many bytes.
    """

    path: str
    is_link: bool
    open: Callable[[], IO[bytes]]


def members(file: str) -> Iterator[Member]:
    """The members of an archive in their order. Read a member before you ask for the next one.

    Raises InputError when the archive is damaged.
    """
    archive = Location(file)
    if file.lower().endswith(".zip"):
        with undamaged(archive), zipfile.ZipFile(file) as zipped:
            for info in zipped.infolist():
                kind = stat.S_IFMT(info.external_attr >> 16)
                plain = kind in (0, stat.S_IFREG) and not info.is_dir()
                is_link, opener = kind == stat.S_IFLNK, functools.partial(zipped.open, info)
                yield _member(file, _zip_name(info), info.file_size, plain, is_link, opener)
    else:
        with open_guarded(Path(file), archive) as content, undamaged(archive), tarfile.open(None, "r|", content) as tar:
            for head in tar:
                is_link, extract = head.issym() or head.islnk(), functools.partial(tar.extractfile, head)
                yield _member(file, head.name, head.size, head.isreg(), is_link, extract)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of a member. Zips of macOS have names in UTF-8, but do not say so, and zipfile takes them for cp437."""
    with suppress(UnicodeError):
        if not info.flag_bits & 0x800:
            return info.filename.encode("cp437").decode()
    return info.filename


def check_links(file: str, path: str, links: Iterable[str]) -> None:
    """Raises InputError if the path of a member leads through one of the archive's links."""
    for link in links:
        if f"{path}/".startswith(f"{link}/"):
            raise InputError(
                f"{Location(file, path)}: {link} is a link; name the folder that it links to, or unpack the archive"
            )


def _member(file: str, name: str, size: int, plain: bool, is_link: bool, opener: Callable[[], Any]) -> Member:
    path = composed(posixpath.normpath(name).lstrip("/"))
    location = Location(file, path)

    def open_member() -> IO[bytes]:
        limit = limit_of(Path(file))
        if not plain:
            problem = "is not a plain file but a link, a folder or a device"
        elif name.startswith("/") or ".." in name.split("/"):
            problem = f"lies outside the archive, at {name}"
        elif size > limit:
            problem = f"unpacks to {size} bytes, and the limit for this archive is {limit}"
        else:
            with undamaged(location):
                return io.BufferedReader(_Guarded(opener(), location, limit), BUFFER)
        raise InputError(f"{location}: the member {problem}; unpack it yourself if you trust it")

    return Member(path, is_link, open_member)


def limit_of(path: Path) -> int:
    """How many bytes a file may unpack to."""
    return max(LEAST_LIMIT, EXPANSION * path.stat().st_size)


def open_guarded(path: Path, location: Location) -> io.BufferedReader:
    """The bytes of a file, decompressed according to its suffix, as a `_Guarded` stream.

    Raises InputError when the file cannot be opened.
    """
    with undamaged(location):
        stream = OPENERS.get(path.suffix.lower(), open)(path, "rb")
        return io.BufferedReader(_Guarded(stream, location, limit_of(path)), BUFFER)


@contextmanager
def undamaged(location: Location) -> Iterator[None]:
    """Raises InputError that names the location if the enclosed code finds it unreadable or damaged."""
    try:
        yield
    except RuntimeError as error:  # of zipfile, which lacks methods such as Deflate64
        why = "needs a password" if "password" in str(error) else f"is packed by a method that we do not have ({error})"
        raise InputError(
            f"{location}: {why}; unpack it with another program (7z x {location.file}), and name the unpacked text"
        ) from error
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno:  # of the system, not of a decompressor
            raise InputError(f"{location}: cannot be read ({error.strerror}); correct the location") from error
        raise InputError(
            f"{location}: damaged or cut short ({error}); remove {location.file} and download it again"
        ) from error


class _Guarded(io.RawIOBase):
    """A stream that raises InputError where it is damaged and when more than `limit` bytes come."""

    def __init__(self, stream: IO[bytes], location: Location, limit: int) -> None:
        self.stream, self.location, self.limit, self.count = stream, location, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with undamaged(self.location):
            content = self.stream.read(len(buffer))
        buffer[: len(content)] = content
        self.count += len(content)
        if self.count > self.limit:
            raise InputError(
                f"{self.location}: unpacks to more than {self.limit} bytes; unpack it yourself if you trust it"
            )
        return len(content)

    def close(self) -> None:
        self.stream.close()
        super().close()
