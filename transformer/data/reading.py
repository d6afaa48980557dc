"""Pairs from parallel text, wherever it lies and however it is packed (docs/reading.md), in bounded memory."""

import bz2
import codecs
import difflib
import functools
import gzip
import io
import itertools
import lzma
import posixpath
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn

from transformer.files import InputError, atomic, decode_lines

EXPANSION = 200  # what is packed may be so many times the size of its file, ...
LEAST_LIMIT = 2**26  # ... or 64 MiB where that is more; beyond that it is a bomb
LONGEST_LINE = 2**24  # bytes
BUFFER = 2**17  # bytes
URL = re.compile(r"(?:https?://[^/]+|file://[^/]*)/.+")
# The host (taken whole, hence ?+) may end like an archive too.
ARCHIVE = re.compile(r"((?:\w+://[^/]*/)?+.*?\.(?:tgz|tar|tar\.gz|tar\.bz2|tar\.xz|zip))(?:/(.*))?", re.IGNORECASE)
SGML = (".sgm", ".sgml")
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".tgz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
# RuntimeError: what zipfile raises for a compression it does not know.
DAMAGE = (OSError, EOFError, ValueError, RuntimeError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)

Paths = dict[tuple[str, str | None], Path]  # (file, member) -> where it lies on the disk


@dataclass(frozen=True)
class Location:
    """Where a text lies: a path or URL, the member where that is an archive, the column (from 1) of a .tsv."""

    file: str
    member: str | None = None
    column: int | None = None

    def __str__(self) -> str:
        return self.file + (f"/{self.member}" if self.member else "") + (f"#{self.column}" if self.column else "")

    @classmethod
    def parse(cls, text: str) -> "Location":
        """`FILE`, `TABLE#COLUMN`, `ARCHIVE/MEMBER` or `ARCHIVE/TABLE#COLUMN`. Raises InputError when it is none."""
        marked = re.fullmatch(r"(.*)#([^/#]*)", text)
        path, column = marked.groups() if marked else (text, "")
        archive = ARCHIVE.fullmatch(path)
        file, member = archive.groups() if archive else (path, None)
        location = cls(file, member, int(column) if re.fullmatch("[1-9][0-9]{0,5}", column) else None)
        table = location.kind == ".tsv"
        if not path.strip():
            problem = "it is empty; give a path or a URL"
        elif "://" in file and (not URL.fullmatch(file) or ".." in file.split("/")):
            problem = "only http://HOST/PATH, https://HOST/PATH and file:///PATH, without .., are URLs"
        elif archive and not member:
            problem = f"it is an archive; add a member, as in {file}/MEMBER"
        elif member and (ARCHIVE.fullmatch(member) or {"", ".", ".."} & set(member.split("/"))):
            problem = f"{member!r} is no member; give a path without . and .. that leads into no further archive"
        elif marked and (not table or not location.column):
            problem = "after # stands a column, from 1, of a .tsv; correct it or rename the file"
        elif table and not marked:
            problem = f"add a column, as in {path}#1"
        else:
            return location
        raise InputError(f"location {text!r}: {problem}")

    @property
    def kind(self) -> str:
        """The suffix that tells the format, without that of its compression: `.sgm` of `dev/test.en.sgm.gz`."""
        return PurePosixPath(re.sub(r"\.(gz|bz2|xz)$", "", (self.member or self.file).lower())).suffix


@contextmanager
def open_pairs(
    sources: str, targets: str, local: Callable[[str], Path], folder: Path
) -> Iterator[Iterator[tuple[str, str]]]:
    """The pairs (source, target) of two locations, line by line in a stream.

    `local` gives the path of a URL's download. Members of archives are unpacked below `folder`, as long as the
    context lasts. Raises InputError, on entering or while reading: a location that is none, a file or member
    that is missing, unsafe or damaged, a line that is not UTF-8, sides that do not belong together.
    """
    local = functools.cache(local)
    sides = [Location.parse(text) for text in (sources, targets)]
    source, target = (replace(side, file=str(local(side.file))) if "://" in side.file else side for side in sides)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        yield _pairs(source, target, _unpack((source, target), Path(temporary)))


@contextmanager
def open_text(text: str, local: Callable[[str], Path], folder: Path) -> Iterator[Iterator[str]]:
    """The lines of one location, as `open_pairs` reads them."""
    location = Location.parse(text)
    if "://" in location.file:
        location = replace(location, file=str(local(location.file)))
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        yield _texts(location, _unpack((location,), Path(temporary)))


def members(file: str) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The members of an archive in their order: each one's path and a function that opens it.

    A member must be read before the next is asked for. Raises InputError when the archive is damaged; the
    function, when the member is no plain file, lies outside the archive or unpacks to too much.
    """
    archive = Location(file)
    if file.lower().endswith(".zip"):
        with _undamaged(archive), zipfile.ZipFile(file) as zipped:
            for info in zipped.infolist():
                kind = stat.S_IFMT(info.external_attr >> 16)
                plain = kind in (0, stat.S_IFREG) and not info.is_dir() and not info.flag_bits & 1  # 1: encrypted
                yield _member(file, info.filename, info.file_size, plain, functools.partial(zipped.open, info))
    else:
        with _open(Path(file), archive) as content, _undamaged(archive), tarfile.open(None, "r|", content) as tar:
            for head in tar:
                yield _member(file, head.name, head.size, head.isreg(), functools.partial(tar.extractfile, head))


def _member(
    file: str, name: str, size: int, plain: bool, opener: Callable[[], Any]
) -> tuple[str, Callable[[], IO[bytes]]]:
    path = posixpath.normpath(name).lstrip("/")
    location = Location(file, path)

    def open_member() -> IO[bytes]:
        limit = _limit(Path(file))
        if not plain:
            problem = "is no plain file but a link, a folder, a device or encrypted"
        elif name.startswith("/") or ".." in name.split("/"):
            problem = f"lies outside the archive, at {name}"
        elif size > limit:
            problem = f"unpacks to {size} bytes, and the limit for this archive is {limit}"
        else:
            with _undamaged(location):
                return io.BufferedReader(_Guarded(opener(), location, limit), BUFFER)
        raise InputError(f"{location}: the member {problem}; unpack it yourself if you trust it")

    return path, open_member


def _unpack(sides: Sequence[Location], folder: Path) -> Paths:
    """Copy the members that are asked for into `folder`, in one pass over each archive."""
    paths: Paths = {(side.file, None): Path(side.file) for side in sides if side.member is None}
    for file in dict.fromkeys(side.file for side in sides if side.member):
        wanted = {str(side.member) for side in sides if side.file == file}
        names = []
        for name, open_member in members(file):
            names.append(name)
            if name in wanted:
                if (file, name) in paths:
                    raise InputError(f"{Location(file, name)}: two members have this name; unpack the right one")
                paths[file, name] = path = folder / f"{len(paths)}{PurePosixPath(name).suffix}"
                with open_member() as stream, atomic(path) as copy:
                    shutil.copyfileobj(stream, copy, BUFFER)
        if missing := wanted.difference(names):
            name = min(missing)
            same = [other for other in names if PurePosixPath(other).name == PurePosixPath(name).name]
            close = ", ".join(same[:3] or difflib.get_close_matches(name, names)) or "none has a similar name"
            raise InputError(
                f"{Location(file, name)}: no such member (closest: {close}); correct the location, or, if the archive "
                f"is cut short, remove {file} and download it again"
            )
    return paths


def _limit(path: Path) -> int:
    return max(LEAST_LIMIT, EXPANSION * path.stat().st_size)


def _open(path: Path, location: Location) -> io.BufferedReader:
    """The bytes of a file, decompressed as its suffix says, guarded."""
    with _undamaged(location):
        stream = OPENERS.get(path.suffix.lower(), open)(path, "rb")
        return io.BufferedReader(_Guarded(stream, location, _limit(path)), BUFFER)


@contextmanager
def _undamaged(location: Location) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError) as error:
        raise InputError(f"{location}: cannot be read ({error.strerror}); correct the location") from error
    except DAMAGE as error:
        raise InputError(
            f"{location}: damaged or cut short ({error}); remove {location.file} and download it again"
        ) from error


class _Guarded(io.RawIOBase):
    """A stream that ends in InputError where it is damaged or longer than `limit` bytes."""

    def __init__(self, stream: IO[bytes], location: Location, limit: int) -> None:
        self.stream, self.location, self.limit, self.count = stream, location, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _undamaged(self.location):
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


def _lines(location: Location, paths: Paths) -> Iterator[str]:
    with _open(paths[location.file, location.member], location) as stream:
        try:
            yield from decode_lines(str(location), _split(location, stream))
        except InputError:
            while stream.read(BUFFER):  # were the file damaged, this would be the reason, and told
                pass
            raise


def _split(location: Location, stream: IO[bytes]) -> Iterator[bytes]:
    """Lines without a byte order mark, without LF or CR LF."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise InputError(
                f"{location}, line {number}: {LONGEST_LINE} bytes without a line feed; end lines by LF or CR LF"
            )
        if number == 1 and not (line := line.removeprefix(codecs.BOM_UTF8)):
            continue
        yield line[:-2] if line.endswith(b"\r\n") else line


def _pairs(source: Location, target: Location, paths: Paths) -> Iterator[tuple[str, str]]:
    if source.column and target.column and replace(source, column=target.column) == target:
        yield from _columns(source, _lines(source, paths), source.column, target.column)
    elif source.kind in SGML and target.kind in SGML:
        sources, targets = _segments(source, paths), _segments(target, paths)
        for key in (*sources, *targets):
            if key not in sources or key not in targets:
                raise InputError(f"{source} and {target}: {key} is in one only; give two sides of one set")
        yield from ((text, targets[key]) for key, text in sources.items())
    else:
        texts = _texts(source, paths), _texts(target, paths)
        for number, pair in enumerate(itertools.zip_longest(*texts)):
            if None in pair:
                one, other = (
                    number + (text is not None) + sum(1 for _ in rest) for text, rest in zip(pair, texts, strict=True)
                )
                raise InputError(
                    f"{source} has {one} lines and {target} has {other}; a pair of files needs as many in both"
                )
            yield pair


def _texts(location: Location, paths: Paths) -> Iterator[str]:
    if location.kind in SGML:
        return iter(_segments(location, paths).values())
    lines = _lines(location, paths)
    if location.column:
        return (text for text, _ in _columns(location, lines, location.column, location.column))
    return lines


def _columns(location: Location, lines: Iterator[str], first: int, second: int) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        if len(fields) < max(first, second):
            raise InputError(
                f"{location}, line {number}: no column {max(first, second)}, only {len(fields)}; correct it"
            )
        yield fields[first - 1], fields[second - 1]


class _SegmentParser(HTMLParser):
    """Collects the segments of a NIST or WMT set: what names a segment -> its text."""

    def __init__(self, location: Location) -> None:
        super().__init__()
        self.location, self.document, self.key = location, "", ""
        self.segments: dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = dict(attributes)
        if tag == "doc":
            self.document = names.get("docid") or ""
        elif tag == "seg":
            key = f"segment {names.get('id')} of document {self.document!r}"
            if self.key or key in self.segments or not names.get("id"):
                self.fail(f"{key} comes twice, has no id or lies in another")
            self.key, self.segments[key] = key, ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "seg" and self.key:
            self.segments[self.key] = re.sub("[ \t\n\f\r]+", " ", self.segments[self.key]).strip(" ")
            self.key = ""

    def handle_data(self, data: str) -> None:
        if self.key:
            self.segments[self.key] += data

    def fail(self, problem: str) -> NoReturn:
        raise InputError(f"{self.location}, line {self.getpos()[0]}: {problem}; correct the file")


def _segments(location: Location, paths: Paths) -> dict[str, str]:
    parser = _SegmentParser(location)
    for line in _lines(location, paths):
        parser.feed(line + "\n")
    parser.close()
    if parser.key:
        parser.fail(f"{parser.key} has no end")
    return parser.segments
