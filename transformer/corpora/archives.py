"""Read compressed files and members of archives in bounded memory, and refuse those that are damaged."""

import bz2
import difflib
import gzip
import lzma
import posixpath
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from transformer.corpora.location import Location, composed
from transformer.support.files import InputError

OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DAMAGE = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


def unpacked(path: Path) -> Any:
    """Open a file to read its bytes, decompressed according to its suffix."""
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


@contextmanager
def undamaged(location: Location) -> Iterator[None]:
    """Raises InputError that names the location if the enclosed code finds it unreadable or damaged."""
    try:
        yield
    except RuntimeError as error:  # of zipfile: a password, or a method such as Deflate64
        raise InputError(
            f"{location}: cannot be unpacked here ({error}); unpack it with another program (7z x {location.file}), "
            "and name the unpacked text"
        ) from error
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno:  # of the system, not of a decompressor
            raise InputError(
                f"{location}: cannot be read or unpacked ({error.strerror}); correct the location, or free space"
            ) from error
        raise InputError(
            f"{location}: damaged or cut short ({error}); remove {location.file} and download it again"
        ) from error


def unpack(file: str, wanted: Collection[str], folder: Path, below: bool = False) -> None:
    """Copy the members of an archive that are `wanted` into `folder`, under their paths, in one pass.

    With `below`, all files in folders that are wanted. Raises InputError when the archive is damaged, and for a member
    that is there twice, or missing, or no plain file. Links are not followed.
    """
    names = []
    with undamaged(Location(file)):
        for path, open_member in _plain_files(file):
            names.append(path)
            if path in wanted or (below and any(path.startswith(f"{name}/") for name in wanted)):
                copy = folder / path
                if copy.exists():
                    raise InputError(f"{Location(file, path)}: two members have this name; unpack the right one")
                copy.parent.mkdir(parents=True, exist_ok=True)
                with undamaged(Location(file, path)), open_member() as stream, copy.open("wb") as output:
                    shutil.copyfileobj(stream, output)
    for name in () if below else sorted({*wanted}.difference(names)):
        alike = [other for other in names if other.startswith(f"{name}/") or Path(other).name == Path(name).name]
        close = ", ".join(alike[:3] or difflib.get_close_matches(name, names)) or "none has a similar name"
        raise InputError(
            f"{Location(file, name)}: no such plain file in the archive (closest: {close}); name a file, no link, "
            f"or, if the archive is cut short, remove {file} and download it again"
        )


def _plain_files(file: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The path of each member of an archive that is a plain file, and what opens it."""
    if file.lower().endswith(".zip"):
        with zipfile.ZipFile(file) as zipped:
            for info in zipped.infolist():
                if stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG) and not info.is_dir():
                    yield _path(_zip_name(info)), partial(zipped.open, info)
    else:
        with unpacked(Path(file)) as content, tarfile.open(None, "r|", content) as tar:
            for head in tar:
                if head.isreg():
                    yield _path(head.name), partial(tar.extractfile, head)
            while content.read(2**17):  # to the end, where gzip has its checksum
                pass


def _path(name: str) -> str:
    """The path of a member below its archive, whatever its name: /a, ../a and ./a are a."""
    return composed(posixpath.normpath(f"/{name}").lstrip("/"))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name of a member. Zips of macOS have names in UTF-8, but do not say so, and zipfile takes them for cp437."""
    with suppress(UnicodeError):
        if not info.flag_bits & 0x800:
            return info.filename.encode("cp437").decode()
    return info.filename
