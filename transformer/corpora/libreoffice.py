"""The help pages of LibreOffice as a corpus, from Debian packages by apt-get, their text held to its SHA-256."""

import hashlib
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Literal

from transformer.corpora.cleaning import Cleaner, Cleaning
from transformer.corpora.parts import PARTS, Given, Kind, Pair, write_part, write_record
from transformer.support.files import InputError, read_lines, write_lines
from transformer.support.strict import not_positive

ALTERNATIVES = "choose another experiment, or an own corpus (`origin: files` in config/corpora.yaml)"
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+(?=[\"“„«(]*[A-ZÀ-ÖØ-Þ])")
PAGE = re.compile(r"(?:\./)?usr/share/libreoffice/help/[^/]+/text/(.+\.html)")


@dataclass(frozen=True)
class Shares:
    """The shares of the pages that go to dev and to test; train has the rest."""

    dev: float
    test: float

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "dev", "test")
        if self.dev + self.test >= 1:
            found.append(f"dev and test: {self.dev} + {self.test} leave nothing to train on")
        return found


@dataclass(frozen=True)
class DebianPackage:
    """A Debian package and the SHA-256 of the text in it."""

    name: str
    sha256: str


@dataclass(frozen=True)
class DebianPackages:
    """The Debian package of each language."""

    packages: dict[str, DebianPackage]


@dataclass(frozen=True)
class LibreOfficeHelp(Kind):
    """A corpus from the help pages of LibreOffice."""

    origin: Literal["libreoffice-help"]
    description: str
    licence: str
    packages: dict[str, DebianPackage]
    cleaning: Cleaning
    shares: Shares

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Pair, clean and split two languages of the LibreOffice help; write the corpus.

        The text given is the file that `fetch` wrote. Segments of one page and id make a pair,
        or a pair a sentence (`split_sentences`). A page goes to one part with all its pairs, and of a source only
        the first pair stays, so that none stands in two parts. Raises InputError for a language that the corpus
        lacks, a damaged file of segments, and a part that stays empty.
        """
        for language in (source, target):
            if language not in self.packages:
                raise InputError(f"corpus {name}: no language {language!r}; it has {', '.join(self.packages)}")
        read = _read_segments(given.need("text"))
        sources, targets = read.get(source, {}), read.get(target, {})
        pages: list[str] = []
        pairs: list[Pair] = []
        for page, identifier in (key for key in sources if key in targets):
            sentences = split_sentences(sources[page, identifier], targets[page, identifier])
            pages += [page] * len(sentences)
            pairs += sentences
        cleaner = Cleaner(self.cleaning)
        parts: dict[str, list[Pair]] = {part: [] for part in PARTS}
        for page, pair in zip(pages, pairs, strict=True):
            if cleaner.keeps(*pair):
                parts[part_of(page, self.shares)].append(pair)
        removed = {"segment without counterpart": len(sources.keys() ^ targets.keys())} | cleaner.removed
        sizes = {part: write_part(folder, part, kept, removed, name) for part, kept in parts.items()}
        write_record(folder, sizes, removed, self, name=name, source=source, target=target, cleaned=PARTS)


def download_packages(packages: Sequence[str], folder: Path) -> list[Path]:
    """Download Debian packages into `folder` with apt-get; its lists stay there too; root is not needed.

    Returns the .deb files in the order of `packages`. Raises InputError when apt-get is missing or fails.
    """
    folder = Path(folder).absolute()
    # Started by root, apt would download as its own user, who may not enter the folder: no sandbox then.
    options = ["-o", "APT::Sandbox::User=root"]
    for option, name in (("State", "state"), ("State::Lists", "state/lists"), ("Cache", "cache")):
        (folder / name).mkdir(parents=True, exist_ok=True)
        options += ["-o", f"Dir::{option}={folder / name}"]
    complaints: list[str] = []
    # A failed update is no reason to stop: another source may be broken, or a hook may need root.
    for command in (["update"], ["download", *packages]):
        try:
            finished = subprocess.run(
                ["apt-get", *options, *command],
                cwd=folder,
                env=os.environ | {"LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise InputError(f"apt-get cannot be run ({error.strerror}); {ALTERNATIVES}") from error
        complaints += [line for line in finished.stderr.splitlines() if line.startswith(("E:", "W:"))]
    if finished.returncode != 0:
        complaints = complaints or [f"exit status {finished.returncode}"]
        reason = "; ".join(dict.fromkeys([complaints[0], complaints[-1]]))
        raise InputError(f"apt-get cannot download {', '.join(packages)} ({reason}); {ALTERNATIVES}")
    archives = []
    for package in packages:
        found = list(folder.glob(f"{package}_*.deb"))
        if len(found) != 1:
            raise InputError(f"apt-get left {len(found)} files of {package}, not one; {ALTERNATIVES}")
        archives += found
    return archives


def read_pages(deb: Path) -> dict[str, bytes]:
    """The LibreOffice help pages of a Debian package: path under `text/` -> HTML, in byte order of the paths.

    dpkg-deb gives its files as a tar archive; nothing goes to disk. Raises InputError when the package is damaged,
    and when dpkg-deb is missing.
    """
    command = ["dpkg-deb", "--fsys-tarfile", os.fspath(deb)]
    try:
        unpacked = subprocess.run(command, capture_output=True, check=True, env=os.environ | {"LC_ALL": "C"})
        with tarfile.open(fileobj=BytesIO(unpacked.stdout), mode="r:") as archive:
            pages = {
                page[1]: stream.read()
                for member in archive
                if (page := PAGE.fullmatch(member.name)) and (stream := archive.extractfile(member))
            }
    except FileNotFoundError as error:
        raise InputError(f"dpkg-deb cannot be run ({error.strerror}); {ALTERNATIVES}") from error
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.decode(errors="replace").split())
        raise InputError(f"{deb}: damaged Debian package ({reason}); remove it and fetch again") from error
    except tarfile.TarError as error:
        raise InputError(f"{deb}: damaged Debian package ({error}); remove it and fetch again") from error
    return dict(sorted(pages.items(), key=lambda page: page[0].encode()))


def fetch_pages(packages: Mapping[str, DebianPackage]) -> dict[str, dict[str, bytes]]:
    """Fetch help pages, language -> path -> HTML, from the Debian package of each language.

    The SHA-256 pins the text of each language, not its package, whose revision moves while the text does not:
    it is that of its pages concatenated in byte order of their paths. Nothing stays on disk. Raises InputError
    as `download_packages` and `read_pages` do, and when a text has another hash.
    """
    with tempfile.TemporaryDirectory(prefix="transformer-") as folder:
        archives = download_packages([package.name for package in packages.values()], Path(folder))
        texts = {language: read_pages(deb) for language, deb in zip(packages, archives, strict=True)}
    for language, pages in texts.items():
        got = hashlib.sha256(b"".join(pages.values())).hexdigest()
        if got != (expected := packages[language].sha256):
            raise InputError(
                f"{packages[language].name} ({language}): the text of its {len(pages)} pages has SHA-256 {got}, "
                f"expected {expected}: this release of Debian carries another text; {ALTERNATIVES}"
            )
    return texts


class _Segments(HTMLParser):
    """Collects paragraphs and headings that have an id; of text in variants for systems, the default one."""

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
    """The segments of a LibreOffice help page, id -> text: `<p>` and `<h1>` to `<h6>` of par_id..., hd_id

    White space is collapsed, empty segments are left out, and of an id that comes again the first is kept. A
    phrase in variants for several systems or programs (`<span hidden>`) is read in its default.
    """
    parser = _Segments()
    parser.feed(page)
    parser.close()
    return parser.segments


def fetch(packages: DebianPackages, path: Path) -> None:
    """Fetch the LibreOffice help; write its segments to `path`, lines of language, page, id, text.

    Raises InputError as `fetch_pages` does.
    """
    rows = (
        f"{language}\t{page}\t{identifier}\t{text}"
        for language, pages in fetch_pages(packages.packages).items()
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
    """A pair of segments as pairs of sentences, or as it is where the sides differ in their number."""
    sources, targets = SENTENCE_BREAK.split(source), SENTENCE_BREAK.split(target)
    return list(zip(sources, targets, strict=True)) if len(sources) == len(targets) else [(source, target)]


def part_of(page: str, shares: Shares) -> str:
    """The part a page belongs to, by the SHA-256 of its name: the same wherever and whenever it is asked."""
    place = int.from_bytes(hashlib.sha256(page.encode()).digest()[:8]) / 2**64
    if place < shares.test:
        return "test"
    return "dev" if place < shares.test + shares.dev else "train"
