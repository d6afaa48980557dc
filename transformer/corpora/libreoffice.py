"""Make a corpus from the help pages of LibreOffice: pair their segments, clean the pairs and split them into parts."""

import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.cleaning import Cleaner, Cleaning
from transformer.corpora.debian import DebianPackage, fetch_pages
from transformer.corpora.parts import DESCRIPTION, LICENCE, PARTS, Given, Kind, Pair, write_part, write_record
from transformer.model.ids import LONGEST
from transformer.support.faults import ConfigError, Fault, unknown
from transformer.support.fields import STRICT, Config, Faults, PositiveNumber, check
from transformer.support.files import InputError, read_lines, write_lines

ALTERNATIVES = "choose another experiment, such as config/quick-captions.yaml, or your own text (`origin: files`)"
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+(?=[\"“„«(]*[A-ZÀ-ÖØ-Þ])")


@dataclass(frozen=True, config=STRICT)
class Shares(Config):
    """The shares of the pages that go to dev and to test. Train has the rest."""

    dev: PositiveNumber = Field(description="share of dev, on which settings are chosen and Table 3 is scored")
    test: PositiveNumber = Field(description="share of test, on which Table 2 is scored")

    @check
    def _train_is_left(self) -> Faults:
        if self.dev + self.test >= 1:
            yield ["test", "dev"], f"{self.dev} for dev and {self.test} for test leave nothing to train on; lower one"


@dataclass(frozen=True, config=STRICT)
class LibreOfficeHelp(Kind):
    """A corpus from the help pages of LibreOffice."""

    origin: Literal["libreoffice-help"] = Field(description="Debian packages of LibreOffice's help pages")
    description: str = Field(description=DESCRIPTION)
    licence: str = Field(description=LICENCE)
    packages: dict[str, DebianPackage] = Field(description="each language's package, and the SHA-256 of its text")
    cleaning: Cleaning = Field(description="the conditions on which a pair is kept")
    shares: Shares = Field(description="the shares of the pages that are held out")

    def files(self, name: str, source: str, target: str) -> list[str]:
        """No files: its pages are fetched from packages. Raises ConfigError for a language that the corpus lacks."""
        for language in (source, target):
            if language not in self.packages:
                text = unknown(language, self.packages, "language")
                raise ConfigError("", [Fault(("corpora", name, "packages"), text)])
        return []

    def languages(self) -> tuple[str, list[str]]:
        """See `Kind.languages`."""
        return "packages", list(self.packages)

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Pair, clean and split two languages of the LibreOffice help, and write the corpus.

        The given text is the file that `fetch` wrote. Two segments of the same page and id make a pair, or one pair for
        each sentence (`split_sentences`). All pairs of a page go to the same part. With `duplicates: source` in
        `cleaning`, only the first pair of each source is kept, so no source is in two parts. Pairs of dev and test
        pages with more words on both sides than `cleaning` allows go to a further part, `longer`, which may stay empty;
        no table of the paper is measured on it. Raises InputError for a language that the corpus lacks, for a damaged
        file of segments, and if another part is empty.
        """
        self.files(name, source, target)
        read = _read_segments(given.need("text"))
        sources, targets = read.get(source, {}), read.get(target, {})
        pages: list[str] = []
        pairs: list[Pair] = []
        for page, identifier in (key for key in sources if key in targets):
            sentences = split_sentences(sources[page, identifier], targets[page, identifier])
            pages += [page] * len(sentences)
            pairs += sentences
        cleaner = Cleaner(self.cleaning)
        beyond = self.cleaning.words[1] + 1
        cleaner_of_longer = Cleaner(replace(self.cleaning, words=(beyond, max(beyond, LONGEST))))
        longer: list[Pair] = []
        parts: dict[str, list[Pair]] = {part: [] for part in PARTS}
        for page, pair in zip(pages, pairs, strict=True):
            part = part_of(page, self.shares)
            if cleaner.keeps(*pair):
                parts[part].append(pair)
            elif part != "train" and cleaner_of_longer.keeps(*pair):
                longer.append(pair)
        removed = {"segment without counterpart": len(sources.keys() ^ targets.keys())} | cleaner.removed
        sizes = {part: write_part(folder, part, kept, removed, name) for part, kept in parts.items()}
        for side, lines in zip(("source", "target"), zip(*longer, strict=True) if longer else ((), ()), strict=True):
            write_lines(folder / f"longer.{side}", lines)
        write_record(folder, sizes, removed, self, name=name, source=source, target=target, cleaned=PARTS)


@dataclass(frozen=True, config=STRICT)
class DebianPackages(Config):
    """The Debian package of each language."""

    packages: dict[str, DebianPackage] = Field(description="each language's package, and the SHA-256 of its text")


class _Segments(HTMLParser):
    """Collects paragraphs and headings that have an id. Of variants for several systems only the default is read."""

    def __init__(self) -> None:
        super().__init__()
        self.segments: dict[str, str] = {}
        self.element = self.id = ""
        self.text: list[str] = []
        self.hidden = 0  # depth in spans that hold another system's variant

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if self.element:
            if tag == "br":
                self.text.append(" ")
            elif tag == "span":
                names = dict(attributes)
                if self.hidden or ("hidden" in names and not (names.get("id") or "").startswith("default")):
                    self.hidden += 1
        elif tag in ("p", "h1", "h2", "h3", "h4", "h5", "h6"):
            identifier = dict(attributes).get("id") or ""
            if identifier.startswith(("par_id", "hd_id")):
                self.element, self.id, self.text, self.hidden = tag, identifier, [], 0

    def handle_endtag(self, tag: str) -> None:
        if not self.element:
            return
        if tag == self.element:
            if text := " ".join("".join(self.text).split()):
                self.segments.setdefault(self.id, text)
            self.element = ""
        elif tag == "span" and self.hidden:
            self.hidden -= 1

    def handle_data(self, data: str) -> None:
        if self.element and not self.hidden:
            self.text.append(data)


def segments(page: str) -> dict[str, str]:
    """The segments of a LibreOffice help page, id -> text: `<p>` and `<h1>` to `<h6>` whose id is par_id... or hd_id...

    White space is collapsed, and empty segments are left out. If an id comes twice, the first segment is kept. If a
    phrase has variants for several systems or programs (`<span hidden>`), its default is read.
    """
    parser = _Segments()
    parser.feed(page)
    parser.close()
    return parser.segments


def fetch(packages: DebianPackages, path: Path, mirror: Path | None = None) -> None:
    """Fetch the LibreOffice help and write its segments to `path`, one a line: language, page, id, text.

    Raises the InputErrors of `fetch_pages`.
    """
    try:
        texts = fetch_pages(packages.packages, mirror)
    except InputError as error:
        raise InputError(f"{error}; {ALTERNATIVES}") from error
    rows = (
        f"{language}\t{page}\t{identifier}\t{text}"
        for language, pages in texts.items()
        for page, content in pages.items()
        for identifier, text in segments(content.decode()).items()
    )
    write_lines(path, rows)


def _read_segments(path: Path) -> dict[str, dict[tuple[str, str], str]]:
    read: dict[str, dict[tuple[str, str], str]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) != 4:
            raise InputError(
                f"{path}, line {number}: {len(fields)} columns, expected language, page, id, text; fetch it again"
            )
        language, page, identifier, text = fields
        read.setdefault(language, {})[page, identifier] = text
    return read


def split_sentences(source: str, target: str) -> list[Pair]:
    """Split a pair of segments into pairs of sentences, unless the sides have different numbers of sentences."""
    sources, targets = SENTENCE_BREAK.split(source), SENTENCE_BREAK.split(target)
    return list(zip(sources, targets, strict=True)) if len(sources) == len(targets) else [(source, target)]


def part_of(page: str, shares: Shares) -> str:
    """The part of a page. It depends only on the SHA-256 of the page's name and the shares."""
    place = int.from_bytes(hashlib.sha256(page.encode()).digest()[:8]) / 2**64
    if place < shares.test:
        return "test"
    return "dev" if place < shares.test + shares.dev else "train"
