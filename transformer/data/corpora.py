"""From texts to corpora: segments of pages, their pairs, cleaning, and the parts train, dev and test."""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path

from transformer.config import Cleaning, Corpus, Files, LibreOfficeHelp, Packages, Shares
from transformer.data.fetch import fetch_pages
from transformer.files import InputError, read_lines, read_parallel, write_json, write_lines

Pair = tuple[str, str]
PARTS = ("train", "dev", "test")
SENTENCE_BREAK = re.compile(r"(?<=[.!?])\s+(?=[\"“„«(]*[A-ZÀ-ÖØ-Þ])")


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


def fetch_libreoffice_help(corpus: Packages, path: Path) -> None:
    """Fetch the LibreOffice help; write its segments to `path`, lines of language, page, id, text.

    Raises InputError as `transformer.data.fetch.fetch_pages` does.
    """
    rows = (
        f"{language}\t{page}\t{identifier}\t{text}"
        for language, pages in fetch_pages(corpus.packages).items()
        for page, content in pages.items()
        for identifier, text in segments(content.decode()).items()
    )
    write_lines(path, rows)


def prepare_libreoffice_help(
    corpus: LibreOfficeHelp, text: Path, folder: Path, *, name: str, source: str, target: str
) -> None:
    """Pair, clean and split two languages of the LibreOffice help; write the corpus as `write_corpus` does.

    `text` is the file that `fetch_libreoffice_help` wrote. Segments of one page and id make a pair,
    or a pair a sentence (`split_sentences`). A page goes to one part with all its pairs, and of a source only
    the first pair stays, so that none stands in two parts. Raises InputError for a language that the corpus
    lacks, a damaged file of segments, and a part that stays empty.
    """
    for language in (source, target):
        if language not in corpus.packages:
            raise InputError(f"corpus {name}: no language {language!r}; it has {', '.join(corpus.packages)}")
    read = _read_segments(text)
    sources, targets = read.get(source, {}), read.get(target, {})
    pages: list[str] = []
    pairs: list[Pair] = []
    for page, identifier in (key for key in sources if key in targets):
        sentences = split_sentences(sources[page, identifier], targets[page, identifier])
        pages += [page] * len(sentences)
        pairs += sentences
    kept, removed = clean(pairs, corpus.cleaning)
    parts: dict[str, list[Pair]] = {part: [] for part in PARTS}
    for position in kept:
        parts[part_of(pages[position], corpus.shares)].append(pairs[position])
    removed = {"segment without counterpart": len(sources.keys() ^ targets.keys())} | removed
    write_corpus(folder, parts, removed, corpus, name=name, source=source, target=target)


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


def clean(pairs: Iterable[Pair], cleaning: Cleaning) -> tuple[list[int], dict[str, int]]:
    """Which pairs stay: their positions in order, and how many each step removed, in the order of the steps.

    A pair goes when its target is its source (untranslated), when a side has too few or too many words, when
    one side is too long for the other, and when a pair before it that stays has the same source.
    """
    least, most = cleaning.words
    removed = dict.fromkeys(("untranslated", "words", "ratio", "duplicate source"), 0)
    kept: list[int] = []
    seen: set[str] = set()
    for position, (source, target) in enumerate(pairs):
        shorter, longer = sorted((len(source.split()), len(target.split())))
        if source == target:
            removed["untranslated"] += 1
        elif shorter < least or longer > most:
            removed["words"] += 1
        elif longer > cleaning.ratio * shorter:
            removed["ratio"] += 1
        elif source in seen:
            removed["duplicate source"] += 1
        else:
            seen.add(source)
            kept.append(position)
    return kept, removed


def part_of(page: str, shares: Shares) -> str:
    """The part a page belongs to, by the SHA-256 of its name: the same wherever and whenever it is asked."""
    place = int.from_bytes(hashlib.sha256(page.encode()).digest()[:8]) / 2**64
    if place < shares.test:
        return "test"
    return "dev" if place < shares.test + shares.dev else "train"


def prepare_files(corpus: Files, folder: Path, *, name: str, source: str, target: str) -> None:
    """Read a corpus from parallel files, clean its train, and write it to `folder` as `write_corpus` does.

    Dev and test stay as they are: scores are comparable on the same text only. Raises InputError as
    `transformer.files.read_parallel` and `write_corpus` do.
    """
    parts = {
        part: list(zip(*read_parallel(Path(sources), Path(targets)), strict=True))
        for part, (sources, targets) in (("train", corpus.train), ("dev", corpus.dev), ("test", corpus.test))
    }
    kept, removed = clean(parts["train"], corpus.cleaning)
    parts["train"] = [parts["train"][position] for position in kept]
    write_corpus(folder, parts, removed, corpus, name=name, source=source, target=target)


def write_corpus(
    folder: Path,
    parts: Mapping[str, Sequence[Pair]],
    removed: Mapping[str, int],
    corpus: Corpus,
    *,
    name: str,
    source: str,
    target: str,
) -> None:
    """Write {train,dev,test}.{source,target}, a segment a line, and corpus.json, which describes the corpus.

    Raises InputError when a part is empty.
    """
    for part, pairs in parts.items():
        if not pairs:
            counts = ", ".join(f"{step}: {count}" for step, count in removed.items())
            raise InputError(f"corpus {name}: {part} has no pair left; relax cleaning or shares ({counts})")
    for part, pairs in parts.items():
        write_lines(Path(folder) / f"{part}.source", (pair[0] for pair in pairs))
        write_lines(Path(folder) / f"{part}.target", (pair[1] for pair in pairs))
    sizes = {part: len(pairs) for part, pairs in parts.items()}
    write_record(folder, sizes, removed, corpus, name=name, source=source, target=target)


def write_record(
    folder: Path,
    pairs: Mapping[str, int],
    removed: Mapping[str, int],
    corpus: Corpus,
    *,
    name: str,
    source: str,
    target: str,
) -> None:
    """Write corpus.json: what the corpus is, how many pairs each part has, how many each cleaning step removed."""
    record = {
        "corpus": name,
        "licence": corpus.licence,
        "description": corpus.description,
        "source": source,
        "target": target,
        "pairs": dict(pairs),
        "removed": dict(removed),
    }
    write_json(Path(folder) / "corpus.json", record)
