"""A corpus as files: for each part (train, dev, test) and side a file with one segment a line, and corpus.json."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from transformer.corpora.usable import NO_SUBWORD, UNUSABLE
from transformer.support.fields import Config
from transformer.support.files import InputError, atomic, part_folder, same_file, write_json
from transformer.trees.symbols import Leaves

Pair = tuple[str, str]
DESCRIPTION = "what the text is; tables print it"
LICENCE = "licence of the text; packages record it"
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Given:
    """The files from which a corpus is made, besides those in its config."""

    config: Path  # the config's file, which messages name
    downloads: Path  # the folder of downloaded files
    text: Path | None = None
    gold: Path | None = None  # the folder of a corpus of trees
    parses: Path | None = None
    log_probabilities: Path | None = None

    def need(self, name: str) -> Path:
        """The path of that name. Raises InputError when it is missing."""
        path: Path | None = getattr(self, name)
        if path is None:
            raise InputError(f"{self.config}: this corpus needs --{name.replace('_', '-')}")
        return path


class Kind(Config):
    """A kind of corpus. The fields of its dataclass are the keys of its config, and the stages call its methods.

    The argument `of` is a function from a task's name to that task's corpus.
    """

    description: str
    licence: str
    has_trees: ClassVar[bool] = False
    data: ClassVar[tuple[Path, ...]] = ()  # files of the project from which it is made

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files and URLs (not folders) from which corpus `name` is read, for a task from `source` to `target`.

        Raises ConfigError for a wrong location, and for a language that the corpus lacks.
        """
        return []

    def languages(self) -> tuple[str, list[str]]:
        """The key that names languages, and all languages that it names."""
        return "", []

    def tasks(self) -> dict[str, str]:
        """The tasks that its config names: key -> task."""
        return {}

    def runs(self) -> dict[str, tuple[str, str]]:
        """The runs whose parses it contains: the key that names the model -> (task, model)."""
        return {}

    def read(self, of: "Callable[[str], Kind]") -> list[str]:
        """The tasks from whose text it is made."""
        return []

    def count(self, of: "Callable[[str], Kind]") -> tuple[int | None, int]:
        """How many pairs train has before cleaning (None if unknown), and how many sentences have no trees."""
        return None, 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write its parts and its record into `folder`, in the form of `write_part` and `write_record`."""
        raise NotImplementedError


def write_part(folder: Path, part: str, pairs: Iterable[Pair], removed: Mapping[str, int], name: str) -> int:
    """Write `part`.source and `part`.target, one segment a line, and return the number of pairs.

    Raises InputError when there are no pairs, and the InputErrors of `atomic`.
    """
    count = 0
    with atomic(Path(folder) / f"{part}.source") as sources, atomic(Path(folder) / f"{part}.target") as targets:
        for source, target in pairs:
            sources.write(source.encode() + b"\n")
            targets.write(target.encode() + b"\n")
            count += 1
        if not count:
            reason = "no text; its files have no lines, or no units"
            if steps := [step for step, pairs in removed.items() if pairs]:
                remedy = "repair the text" if {*steps} <= {*UNUSABLE} else "relax its cleaning, or hold out fewer"
                reason = f"no pair left; {remedy} ({', '.join(f'{step}: {removed[step]}' for step in steps)})"
            raise InputError(f"corpus {name}: {part} has {reason}")
    return count


def write_record(
    folder: Path,
    pairs: Mapping[str, int],
    removed: Mapping[str, int],
    corpus: Kind,
    *,
    name: str,
    source: str,
    target: str,
    cleaned: Iterable[str] = ("train",),
    leaves: Leaves | None = None,
) -> None:
    """Write corpus.json: what the corpus is, how many pairs each part has, and how many each cleaning step removed.

    Its key `read` is the number of pairs in the `cleaned` parts before cleaning. Corpora of trees give their `leaves`.
    NO_SUBWORD has no key if it removed nothing, so that records of older versions are still equal. Raises the
    InputErrors of `atomic`.
    """
    record = {
        "corpus": name,
        "licence": corpus.licence,
        "description": corpus.description,
        "source": source,
        "target": target,
        "pairs": dict(pairs),
        "read": sum(pairs[part] for part in cleaned) + sum(removed.values()),
        "removed": {step: count for step, count in removed.items() if count or step != NO_SUBWORD},
    }
    if leaves:
        record["leaves"] = leaves
    write_json(Path(folder) / "corpus.json", record)


def write_whole(corpus: Kind, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
    """Write a corpus to a temporary folder and then move its files to `folder`, corpus.json last.

    Raises the InputErrors of `Kind.write`, and then leaves nothing behind. Raises InputError for a file of the corpus
    that would be overwritten.
    """
    made = [path for path in folder.glob("*") if re.fullmatch(r"\w+\.(source|target|trees)", path.name)]
    for file in corpus.files(name, source, target):
        if "://" not in file and any(same_file(Path(file), path) for path in made):
            raise InputError(f"{file}: would be overwritten by a part of the corpus; choose another --output-dir")
    folder.mkdir(parents=True, exist_ok=True)
    with part_folder(folder / "corpus", named=folder) as temporary:
        corpus.write(temporary, given, name=name, source=source, target=target)
        # A kill must not leave the record of a corpus beside files that it does not describe.
        (folder / "corpus.json").unlink(missing_ok=True)
        for path in sorted(temporary.iterdir(), key=lambda path: path.name == "corpus.json"):
            path.replace(folder / path.name)
