"""Corpora from parallel texts: one's own files, or downloads."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from transformer.corpora.cleaning import Cleaner, Cleaning, undecodable
from transformer.corpora.fetch import local_path
from transformer.corpora.location import Location
from transformer.corpora.parts import PARTS, Given, Kind, Pair, write_part, write_record
from transformer.corpora.reading import open_pairs
from transformer.support.files import InputError
from transformer.support.progress import Progress
from transformer.support.strict import unknown

Texts = tuple[dict[str, str], ...]  # language -> location (transformer.corpora.location.Location); one after the other


@dataclass(frozen=True)
class Files(Kind):
    """A corpus of parallel texts: one's own files, or downloads."""

    origin: Literal["files"]
    train: Texts
    dev: Texts
    test: Texts
    description: str = "own text"
    licence: str = "licence not stated"
    cleaning: Cleaning = field(default_factory=Cleaning)
    pairs: int | None = None  # of train before cleaning, for `plan`

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        return [f"{part}: is empty; give at least one text" for part in PARTS if not getattr(self, part)]

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files and URLs of all parts, as `Kind.files`."""
        pairs = [pair for part in PARTS for pair in self._texts(part, name, source, target)]
        return list(dict.fromkeys(Location.parse(text).file for pair in pairs for text in pair))

    def count(self, of: Callable[[str], Kind]) -> tuple[int | None, int]:
        """As `Kind.count`."""
        return self.pairs, 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Read parallel texts, clean train, and write the corpus to `folder`.

        Dev and test stay as they are: scores are comparable on the same text only. Raises InputError as
        `transformer.corpora.reading.open_pairs` does, and for a pair of dev or test that cannot be used.
        """
        unpacked = folder / "unpacked"
        shutil.rmtree(unpacked, ignore_errors=True)  # what a killed process has left
        unpacked.mkdir(parents=True)
        cleaner = Cleaner(self.cleaning)
        progress = Progress(f"{name} {source}-{target}", self.pairs, "pair")

        def read(part: str) -> Iterator[Pair]:
            for texts in self._texts(part, name, source, target):
                with open_pairs(*texts, lambda url: given.downloads / local_path(url), unpacked) as pairs:
                    for number, pair in enumerate(pairs, start=1):
                        if part == "train":
                            progress.update(1)
                            if cleaner.keeps(*pair):
                                yield pair
                        elif reason := undecodable(*pair):
                            where = f"{' and '.join(texts)}, line {number}"
                            raise InputError(f"{where}: {reason}; correct or remove this pair")
                        else:
                            yield pair

        sizes = dict.fromkeys(PARTS, 0)
        for part in ("dev", "test", "train"):
            sizes[part] = write_part(folder, part, read(part), cleaner.removed, name)
        progress.close()
        shutil.rmtree(unpacked)
        write_record(folder, sizes, cleaner.removed, self, name=name, source=source, target=target)

    def _texts(self, part: str, name: str, source: str, target: str) -> list[tuple[str, str]]:
        """The locations of a part, source and target. Raises InputError for a missing language, a wrong location."""
        texts: Texts = getattr(self, part)
        for i, text in enumerate(texts):
            for language in (source, target):
                if language not in text:
                    raise InputError(f"corpora.{name}.{part}[{i}]: " + unknown(language, text, "language"))
                try:
                    Location.parse(text[language])
                except InputError as error:
                    raise InputError(f"corpora.{name}.{part}[{i}].{language}: {error}") from None
        return [(text[source], text[target]) for text in texts]
