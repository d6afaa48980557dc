"""Read pairs from parallel text in all formats of docs/reading.md, in bounded memory."""

import codecs
import functools
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple

from transformer.corpora.archives import undamaged, unpack, unpacked
from transformer.corpora.location import Location
from transformer.corpora.markup import HEAD, markup
from transformer.corpora.sgml import read_segments
from transformer.corpora.units import PO, UNITS, choose, pairs_of, read_po, read_xml
from transformer.support.encodings import PACKED, foreign
from transformer.support.files import InputError, text_lines

LONGEST_LINE = 2**24  # bytes
SGML = (".sgm", ".sgml")
XML = ".xml"  # may be one text, or one for both languages, such as TMX and WMT's sets since 2021
HEADS = {".tmx": rb"<(tmx|xliff)[\s>]", ".sgm": rb"<seg\s[^>]*\bid\b"}  # what markup at a file's head has
PACKED_HEAD = 512  # bytes; they show whether a file is compressed, an archive or in a foreign format
Local = Callable[[str], Path]


@dataclass
class Asked:
    """A pair of languages, which is asked of files of units. `left_out` counts the units that lack it, by reason."""

    languages: tuple[str, str]
    left_out: Counter[str] = field(default_factory=Counter)


class Text(NamedTuple):
    """A text: where it lies, and its file on this machine, which may be a copy of a member."""

    location: Location
    path: Path

    def __str__(self) -> str:
        return str(self.location)


@contextmanager
def open_pairs(
    sources: str, targets: str, local: Local, folder: Path, asked: Asked
) -> Iterator[Iterator[tuple[str, str]]]:
    """The pairs (source, target) of two locations, in a stream.

    `local` gives the path of a URL's download. Members of archives are unpacked below `folder` and removed when the
    context ends. Raises InputError, on entering or while reading, for a wrong location, a file or member that is
    missing, no plain file or damaged, a line that is not UTF-8, and sides that do not belong together.
    """
    with _texts((sources, targets), local, folder) as (source, target):
        yield _pairs(source, target, asked)


@contextmanager
def open_text(text: str, local: Local, folder: Path) -> Iterator[Iterator[str]]:
    """The lines of one location, read in the same way as by `open_pairs`."""
    with _texts((text,), local, folder) as (one,):
        yield _segments_or_lines(one, "")


@contextmanager
def _texts(locations: Sequence[str], local: Local, folder: Path) -> Iterator[Sequence[Text]]:
    """Locations on this machine. The members of an archive are unpacked in one pass."""
    local = functools.cache(local)
    sides = [Location.parse(text) for text in locations]
    sides = [replace(side, file=str(local(side.file))) if "://" in side.file else side for side in sides]
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as temporary:
        rooms = {side.file: Path(temporary, str(number)) for number, side in enumerate(sides) if side.member}
        for file, room in rooms.items():
            unpack(file, {side.member for side in sides if side.file == file and side.member}, room)
        yield [Text(side, rooms[side.file] / side.member if side.member else Path(side.file)) for side in sides]


def _lines(text: Text) -> Iterator[str]:
    with undamaged(text.location), unpacked(text.path) as stream:
        _check_packed(text.location, stream.peek(PACKED_HEAD))
        try:
            yield from text_lines(str(text), _split(text, stream))
        except InputError:
            while stream.read(HEAD):  # if the file is damaged, this raises the true reason
                pass
            raise


def _check_packed(location: Location, head: bytes) -> None:
    """Raises InputError for what is not read, and for what is packed though its name does not say so."""
    if found := foreign(head):
        raise InputError("{}: is {}, which is not read; {}".format(location, *found))
    for suffix, (kind, start) in PACKED.items():
        if re.match(start, head, re.DOTALL):
            raise InputError(f"{location}: is {kind}; unpack it, or let the file's name end in {suffix}")


def _split(text: Text, stream: IO[bytes]) -> Iterator[bytes]:
    """The lines of a stream, which may end with CR LF. A byte order mark alone is no line."""
    for number, line in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b""), start=1):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise InputError(
                f"{text}, line {number}: {LONGEST_LINE} bytes without a line feed; end lines with LF or CR LF"
            )
        if number > 1 or line != codecs.BOM_UTF8:
            yield line[:-2] + b"\n" if line.endswith(b"\r\n") else line


def _pairs(source: Text, target: Text, asked: Asked) -> Iterator[tuple[str, str]]:
    one, other = asked.languages
    formats, is_one_xml = {_format(source), _format(target)}, source == target and source.location.kind == XML
    if source == target and formats <= {*UNITS}:
        if source.location.kind == PO:
            yield from pairs_of(str(source), read_po(str(source), _lines(source)), asked.languages, asked.left_out)
            return
        with undamaged(source.location), unpacked(source.path) as stream:
            _check_packed(source.location, stream.peek(PACKED_HEAD))
            yield from pairs_of(str(source), read_xml(str(source), stream), asked.languages, asked.left_out)
    elif source.location.column and target.location.column and source.path == target.path:
        yield from _columns(source, source.location.column, target.location.column)
    elif formats <= {*SGML} or is_one_xml:
        sources, targets = _segments(source, one), _segments(target, other)
        if is_one_xml and sources == targets:
            raise InputError(f"{source}: has one language; name a text for each of {one} and {other}")
        for key in (*sources, *targets):
            if key not in sources or key not in targets:
                raise InputError(f"{source} and {target}: only one has {key}; give two sides of the same set")
        yield from ((text, targets[key]) for key, text in sources.items())
    else:
        texts = _segments_or_lines(source, one), _segments_or_lines(target, other)
        for number, pair in enumerate(itertools.zip_longest(*texts)):
            if None in pair:
                rest = zip(pair, texts, strict=True)  # the longer side is counted to its end
                lines, others = (number + (text is not None) + sum(1 for _ in more) for text, more in rest)
                raise InputError(
                    f"{source} has {lines} lines and {target} has {others}; make their numbers of lines equal"
                )
            yield pair


def _format(text: Text) -> str:
    """The kind of a text by its name or, if that is none of ours, by its head. Raises InputError for other markup."""
    location = text.location
    if location.kind in (*SGML, *UNITS) or location.column or not text.path.is_file():  # a pipe can be read only once
        return location.kind
    with undamaged(location), unpacked(text.path) as stream:
        head = stream.read(HEAD)
    if foreign(head) or not (found := markup(head)):
        return ""
    for kind, start in HEADS.items():
        if re.search(start, head, re.IGNORECASE):
            return kind
    raise InputError(
        f"{location}: begins with markup, {' '.join(found.split())[:40]}, and is no set of <seg id=...>, TMX or XLIFF; "
        "give plain text (grep -v '^ *<' OLD > NEW removes the lines of tags in IWSLT's)"
    )


def _segments_or_lines(text: Text, language: str) -> Iterator[str]:
    kind, column = _format(text), text.location.column
    if kind in UNITS:
        raise InputError(f"{text}: has both languages of a corpus; give it for each of the two")
    if kind in SGML:
        return iter(_segments(text, language).values())
    return (cell for cell, _ in _columns(text, column, column)) if column else _lines(text)


def _columns(text: Text, first: int, second: int) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(_lines(text), start=1):
        fields = line.split("\t")
        if (last := max(first, second)) > len(fields):
            place = f"{replace(text.location, column=last)}, line {number}"
            raise InputError(f"{place}: no column {last}, only {len(fields)}; correct the line")
        yield fields[first - 1], fields[second - 1]


def _segments(text: Text, language: str) -> dict[str, str]:
    """The segments of a set in a language."""
    sets = read_segments(str(text), _lines(text))
    if (found := choose(language, sets)) is None:
        has = f"only in {', '.join(sets)}" if sets else "nor in any other language"
        raise InputError(f"{text}: has no segments in {language}, {has}; correct the location")
    return sets[found]
