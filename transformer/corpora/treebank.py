"""The Penn Treebank as a parsing corpus."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.archives import unpack
from transformer.corpora.fetch import local_path
from transformer.corpora.location import Location, why_missing
from transformer.corpora.parts import DESCRIPTION, LICENCE, PARTS, Given, Kind, write_record
from transformer.corpora.plain import PlainText
from transformer.corpora.tree_parts import write_trees
from transformer.corpora.usable import unusable
from transformer.support.fields import STRICT, Faults, Range, check
from transformer.support.files import InputError, read_lines
from transformer.trees.penn import TreesError, read_mrg
from transformer.trees.symbols import Leaves
from transformer.trees.tree import Tree, constituents, words


@dataclass(frozen=True, config=STRICT)
class Treebank(Kind):
    """A corpus of trees in the files wsj_NNNN.mrg of the Penn Treebank. Each part is a range of file numbers NNNN."""

    has_trees = True

    origin: Literal["treebank"] = Field(description="files wsj_NNNN.mrg of the Penn Treebank")
    trees: str = Field(description="folder of the files, on disk or in an archive (docs/reading.md)")
    train: Range = Field(description="the first and the last number NNNN of the files of train")
    dev: Range = Field(description="the first and the last number NNNN of the files of dev")
    test: Range = Field(description="the first and the last number NNNN of the files of test")
    description: str = Field(default="own trees", description=DESCRIPTION)
    licence: str = Field(default="licence not stated", description=LICENCE)
    plain: PlainText | None = Field(default=None, description="sentences to be parsed for the semi-supervised row")
    sentences: dict[str, int] | None = Field(default=None, description="how many trees each part must have")
    leaves: Leaves = Field(default="XX", description="leaves of linearised trees: XX (as published), tags, words")
    constituents: Range | None = Field(default=None, description="add constituents of [least, most] words to train")

    @check
    def _disjoint(self) -> Faults:
        for one, other in combinations(PARTS, 2):
            (first, last), (least, most) = getattr(self, one), getattr(self, other)
            if max(first, least) <= min(last, most):
                text = f"{one} and {other} both have file {max(first, least)}; give each part files of its own"
                yield [other, one], text

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The archive that contains the trees; nothing if they are in a folder."""
        location = Location.of(("corpora", name, "trees"), self.trees)
        return [location.file] if location.member else []

    def missing(self) -> str:
        """Why its folder is not that of a treebank, with the remedy. Empty if it is one, and for an archive."""
        try:
            location = Location.parse(self.trees)
            for part in PARTS if location.member is None else ():
                treebank_files(Path(location.file), *getattr(self, part))
        except InputError as error:
            return str(error)
        return ""

    def tasks(self) -> dict[str, str]:
        """The task from whose text the plain sentences are drawn."""
        return {"plain.task": self.plain.task} if self.plain else {}

    def count(self, of: Callable[[str], Kind]) -> tuple[int | None, int]:
        """See `Kind.count`. Without `sentences` or with `constituents` the number of pairs is not known beforehand."""
        train = None if self.constituents else (self.sentences or {}).get("train")
        return train, self.plain.sentences if self.plain else 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write {train,dev,test}.{source,target}, {dev,test}.trees and corpus.json.

        Sources are words, targets are linearised trees, and `.trees` are in Penn brackets. Raises the InputErrors of
        `read_treebank`, and InputError when a part has no trees, or when their number is not the one in `sentences`.
        """
        with _folder_of(self.trees, given.downloads) as trees:
            read, faults = zip(*(read_treebank(trees, *getattr(self, part)) for part in PARTS), strict=True)
        if any(faults):
            raise TreesError([fault for each in faults for fault in each])
        parts = dict(zip(PARTS, read, strict=True))
        sizes = {part: len(trees) for part, trees in parts.items()}
        if 0 in sizes.values() or (self.sentences is not None and sizes != self.sentences):
            wanted = f"not {_counts(self.sentences)}" if self.sentences else "and each part needs some"
            raise InputError(
                f"corpora.{name}: {self.trees} has {_counts(sizes)} trees, {wanted}; copy the treebank again, or "
                "correct `trees`, `sentences` and the ranges of the parts"
            )
        if self.constituents:
            parts["train"] = [*parts["train"], *constituents(parts["train"], *self.constituents)]
        sizes = {part: len(trees) for part, trees in parts.items()}
        for part, chosen in parts.items():
            write_trees(folder, part, chosen, self.leaves)
        write_record(folder, sizes, {}, self, name=name, source=source, target=target, leaves=self.leaves)


def treebank_files(folder: Path, first: int, last: int) -> list[Path]:
    """All files wsj_NNNN.mrg below `folder` with first <= NNNN <= last, in the order of NNNN.

    Raises InputError when a section (the first two digits of NNNN) has no file and when two files have the same number.
    """
    files: dict[int, Path] = {}
    # Unlike Path.rglob, this also enters folders that are links.
    paths = (Path(inner, name) for inner, _, names in os.walk(folder, followlinks=True) for name in names)
    for path in sorted(paths):
        match = re.fullmatch(r"wsj_(\d{4})\.mrg", path.name, re.IGNORECASE)
        if match and first <= (number := int(match[1])) <= last:
            if number in files:
                raise InputError(
                    f"{folder}: {files[number]} and {path} are both file {number:04}; "
                    "set `trees` of the corpus to a folder that contains one treebank"
                )
            files[number] = path
    if missing := {f"{number // 100:02}" for number in range(first, last + 1)} - {f"{n // 100:02}" for n in files}:
        sections = f"it has no files wsj_SSNN.mrg of section {', '.join(sorted(missing))}"
        reason = sections if os.path.isdir(folder) else why_missing(str(folder), "folder")  # noqa: PTH112
        raise InputError(
            f"{folder}: {reason}; set `trees` of the corpus to the folder of the sections, 00/wsj_0001.mrg to "
            "24/wsj_2454.mrg (parsed/mrg/wsj in Treebank-3), or of nltk's sample, combined/wsj_0001.mrg to wsj_0199.mrg"
        )
    return [path for _, path in sorted(files.items())]


def read_treebank(folder: Path, first: int, last: int) -> tuple[list[Tree], list[str]]:
    """The trees of the files of `treebank_files`, whose errors it raises, and the faults of all these files.

    Faults are those of `read_mrg`, trees whose words have no subword, and lines that are not UTF-8.
    """
    trees: list[Tree] = []
    faults: list[str] = []
    for path in treebank_files(folder, first, last):
        try:
            for number, tree in enumerate(read_mrg(str(path), "\n".join(read_lines(path))), start=1):
                trees.append(tree)
                if reason := unusable(" ".join(words(tree))):
                    faults.append(f"{path}, tree {number}: {reason} in its words; remove it")
        except TreesError as error:
            faults += error.faults
        except InputError as error:
            faults.append(str(error))
    return trees, faults


@contextmanager
def _folder_of(trees: str, downloads: Path) -> Iterator[Path]:
    """The folder that a location names. If it is in an archive, its files are copied to a temporary folder."""
    location = Location.parse(trees)
    if location.member is None:
        yield Path(location.file)
        return
    archive = str(downloads / local_path(location.file) if "://" in location.file else location.file)
    with TemporaryDirectory(prefix="transformer-") as folder:
        unpack(archive, {location.member}, Path(folder), below=True)
        try:
            yield Path(folder)
        except InputError as error:
            raise InputError(str(error).replace(folder, archive)) from error


def _counts(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{size} {part}" for part, size in sizes.items())
