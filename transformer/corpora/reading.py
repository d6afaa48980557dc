"""Read pairs from parallel text in all formats of docs/reading.md, in bounded memory."""

import codecs
import difflib
import functools
import itertools
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import IO

from transformer.corpora.archives import BUFFER, check_links, members, open_guarded
from transformer.corpora.location import ARCHIVES, Location
from transformer.corpora.markup import markup
from transformer.corpora.sgml import read_segments
from transformer.corpora.units import PO, UNITS, Unit, choose, pairs_of, read_po, read_xml
from transformer.support.encodings import PACKED, foreign, lone_returns
from transformer.support.files import InputError, atomic, decode_lines

LONGEST_LINE = 2**24  # bytes
SGML = (".sgm", ".sgml")
XML = ".xml"  # may be one text, or one for both languages, such as TMX and WMT's sets since 2021
HEADS = {".tmx": rb"<(tmx|xliff)[\s>]", ".sgm": rb"<seg\s[^>]*\bid\b"}  # what markup at a file's head has
HEAD = 512  # bytes; they show whether a file is compressed, an archive or in a FOREIGN format
Local = Callable[[str], Path]
Paths = dict[tuple[str, str | None], Path]  # (file, member) -> its path on disk


@dataclass
class Asked:
    """A pair of languages, which is asked of files of units. `left_out` counts the units that lack it, by reason."""

    languages: tuple[str, str]
    left_out: Counter[str] = field(default_factory=Counter)


@contextmanager
def open_pairs(
    sources: str, targets: str, local: Local, folder: Path, asked: Asked
) -> Iterator[Iterator[tuple[str, str]]]:
    """The pairs (source, target) of two locations, in a stream.

    `local` gives the path of a URL's download. Members of archives are unpacked below `folder` and removed when the
    context ends. Raises InputError, on entering or while reading, for a wrong location, a file or member that is
    missing, unsafe or damaged, a line that is not UTF-8, and sides that do not belong together.
    """
    with _unpacked((sources, targets), local, folder) as ((source, target), paths):
        yield _pairs(source, target, paths, asked)


@contextmanager
def open_text(text: str, local: Local, folder: Path) -> Iterator[Iterator[str]]:
    """The lines of one location, read in the same way as by `open_pairs`."""
    with _unpacked((text,), local, folder) as ([location], paths):
        yield _texts(location, paths, "")


@contextmanager
def _unpacked(texts: Sequence[str], local: Local, folder: Path) -> Iterator[tuple[list[Location], Paths]]:
    """Locations on this machine, and the paths of their files and unpacked members."""
    local = functools.cache(local)
    sides = [Location.parse(text) for text in texts]
    sides = [replace(side, file=str(local(side.file))) if "://" in side.file else side for side in sides]
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as temporary:
        yield sides, _unpack(sides, Path(temporary))


def _unpack(sides: Sequence[Location], folder: Path) -> Paths:
    """Copy the members of these locations into `folder`, in one pass over each archive."""
    paths: Paths = {(side.file, None): Path(side.file) for side in sides if side.member is None}
    for file in dict.fromkeys(side.file for side in sides if side.member):
        wanted = {str(side.member) for side in sides if side.file == file}
        names, links = [], []
        for name, is_link, open_member in members(file):
            names.append(name)
            links += [name] * is_link
            if name in wanted:
                if (file, name) in paths:
                    raise InputError(f"{Location(file, name)}: two members have this name; unpack the right one")
                paths[file, name] = path = folder / f"{len(paths)}{PurePosixPath(name).suffix}"
                with open_member() as stream, atomic(path) as copy:
                    shutil.copyfileobj(stream, copy, BUFFER)
        if missing := wanted.difference(names):
            name = min(missing)
            check_links(file, name, links)
            same = [other for other in names if PurePosixPath(other).name == PurePosixPath(name).name]
            close = ", ".join(same[:3] or difflib.get_close_matches(name, names)) or "none has a similar name"
            raise InputError(
                f"{Location(file, name)}: no such member (closest: {close}); correct the location, or, if the archive "
                f"is cut short, remove {file} and download it again"
            )
    return paths


def _lines(location: Location, paths: Paths) -> Iterator[str]:
    with open_guarded(paths[location.file, location.member], location) as stream:
        _check_packed(location, stream.peek(HEAD))
        try:
            yield from decode_lines(str(location), _split(location, stream))
        except InputError:
            while stream.read(BUFFER):  # if the file is damaged, this raises InputError with the true reason
                pass
            raise


def _check_packed(location: Location, head: bytes) -> None:
    """Raises InputError for what is not read, and for what is packed though its name does not say so."""
    if found := foreign(head):
        raise InputError("{}: is {}, which is not read; {}".format(location, *found))
    for suffix, (_, start) in PACKED.items():
        if re.match(start, head, re.DOTALL):
            if suffix not in ARCHIVES:
                if (location.member or location.file).lower().endswith(suffix):
                    raise InputError(f"{location}: is compressed twice; unpack it once")
                raise InputError(f"{location}: is compressed; let the file's name end in {suffix}")
            packed = PurePosixPath(location.member or location.file).suffix
            ending = suffix + packed * (packed in PACKED)
            raise InputError(
                f"{location}: is an archive; let the file's name end in {ending}, and name a member, as in "
                f"NAME{ending}/MEMBER"
            )


def _split(location: Location, stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream, without their LF or CR LF. A byte order mark alone is no line."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise InputError(
                f"{location}, line {number}: {LONGEST_LINE} bytes without a line feed; end lines with LF or CR LF"
            )
        if number == 1 and line == codecs.BOM_UTF8:
            continue
        if number == 1 and location.kind not in SGML and (fault := lone_returns(line)):
            raise InputError(f"{location}: {fault}")
        yield line[:-2] if line.endswith(b"\r\n") else line


def _pairs(source: Location, target: Location, paths: Paths, asked: Asked) -> Iterator[tuple[str, str]]:
    one, other = asked.languages
    formats = {_format(source, paths), _format(target, paths)}
    if source == target and formats <= {*UNITS}:
        units = read_po(str(source), _lines(source, paths)) if source.kind == PO else _xml_units(source, paths)
        yield from pairs_of(str(source), units, asked.languages, asked.left_out)
    elif source.column and target.column and replace(source, column=target.column) == target:
        yield from _columns(source, _lines(source, paths), source.column, target.column)
    elif formats <= {*SGML} or (source == target and source.kind == XML):
        sources, targets = _segments(source, paths, one), _segments(target, paths, other)
        if source == target and source.kind == XML and sources == targets:
            raise InputError(f"{source}: has one language; name a text for each of {one} and {other}")
        for key in (*sources, *targets):
            if key not in sources or key not in targets:
                raise InputError(f"{source} and {target}: only one has {key}; give two sides of the same set")
        yield from ((text, targets[key]) for key, text in sources.items())
    else:
        texts = _texts(source, paths, one), _texts(target, paths, other)
        for number, pair in enumerate(itertools.zip_longest(*texts)):
            if None in pair:
                rest = zip(pair, texts, strict=True)  # the longer side is counted to its end
                lines, others = (number + (text is not None) + sum(1 for _ in more) for text, more in rest)
                raise InputError(
                    f"{source} has {lines} lines and {target} has {others}; make their numbers of lines equal"
                )
            yield pair


def _xml_units(location: Location, paths: Paths) -> Iterator[Unit]:
    with open_guarded(paths[location.file, location.member], location) as stream:
        _check_packed(location, stream.peek(HEAD))
        yield from read_xml(str(location), stream)


def _format(location: Location, paths: Paths) -> str:
    """The kind of a text by its name or, if that is none of ours, by its head. Raises InputError for other markup."""
    path = paths[location.file, location.member]
    if location.kind in (*SGML, *UNITS) or location.column or not path.is_file():  # a pipe can be read only once
        return location.kind
    with open_guarded(path, location) as stream:
        head = stream.peek(BUFFER)
    if foreign(head) or not (found := markup(head)):
        return ""
    for kind, start in HEADS.items():
        if re.search(start, head, re.IGNORECASE):
            return kind
    raise InputError(
        f"{location}: begins with markup, {' '.join(found.split())[:40]}, and is no set of <seg id=...>, TMX or XLIFF; "
        "give plain text (grep -v '^ *<' OLD > NEW removes the lines of tags in IWSLT's)"
    )


def _texts(location: Location, paths: Paths, language: str) -> Iterator[str]:
    kind = _format(location, paths)
    if kind in UNITS:
        raise InputError(f"{location}: has both languages of a corpus; give it for each of the two")
    if kind in SGML:
        return iter(_segments(location, paths, language).values())
    lines = _lines(location, paths)
    if location.column:
        return (text for text, _ in _columns(location, lines, location.column, location.column))
    return lines


def _columns(location: Location, lines: Iterator[str], first: int, second: int) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        if missing := [column for column in (first, second) if column > len(fields)]:
            place = f"{replace(location, column=missing[0])}, line {number}"
            raise InputError(f"{place}: no column {missing[0]}, only {len(fields)}; correct the line")
        yield fields[first - 1], fields[second - 1]


def _segments(location: Location, paths: Paths, language: str) -> dict[str, str]:
    """The segments of a set in a language."""
    sets = read_segments(str(location), _lines(location, paths))
    if (found := choose(language, sets)) is None:
        has = f"only in {', '.join(sets)}" if sets else "nor in any other language"
        raise InputError(f"{location}: has no segments in {language}, {has}; correct the location")
    return sets[found]
