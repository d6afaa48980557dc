"""The semi-supervised corpora of Table 4: gold trees, and plain text parsed by the first parser or by another one."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import Literal, cast

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.corpora.fetch import local_path
from transformer.corpora.location import Location
from transformer.corpora.parts import DESCRIPTION, LICENCE, Given, Kind, Pair, write_part, write_record
from transformer.corpora.reading import open_text
from transformer.corpora.usable import unusable
from transformer.support.fields import STRICT, Positive, Share, Some
from transformer.support.files import InputError, read_json, read_lines, read_parallel, write_lines
from transformer.trees.linear import linearise, misread
from transformer.trees.penn import TreesError, is_failed, read_mrg
from transformer.trees.symbols import Leaves, split_words
from transformer.trees.tree import words

FAULTS = 1000  # in parsed text; a file that has more is not read further


class _WithGold(Kind):
    """A corpus. Train has the trees of task `gold`, `copies` times, then parses. Dev and test are those of `gold`."""

    has_trees = True

    gold: str
    copies: int

    def tasks(self) -> dict[str, str]:
        """The task whose trees it contains."""
        return {"gold": self.gold}

    def read(self, of: Callable[[str], Kind]) -> list[str]:
        """See `Kind.read`."""
        return [self.gold]

    def _write(
        self, folder: Path, gold: Path, parses: Iterable[Pair], removed: Mapping[str, int], **names: str
    ) -> None:
        """Write the corpus into `folder`. Train has the pairs of train in `gold`, `copies` times, and then the parses.

        Raises the InputErrors of `read_parallel` and `read_json`.
        """
        trees = list(zip(*read_parallel(gold / "train.source", gold / "train.target"), strict=True))
        pairs = chain(chain.from_iterable(repeat(trees, self.copies)), parses)
        sizes = {"train": write_part(folder, "train", pairs, removed, names["name"])}
        for part in ("dev", "test"):
            for kind in ("source", "target", "trees"):
                lines = read_lines(gold / f"{part}.{kind}")
                write_lines(folder / f"{part}.{kind}", lines)
                sizes[part] = len(lines)
        write_record(folder, sizes, removed, self, leaves=_leaves_of(gold), **names)


@dataclass(frozen=True, config=STRICT)
class SelfTraining(_WithGold):
    """A corpus: the trees of task `gold`, `copies` times, and its plain sentences as model `parser` parses them."""

    origin: Literal["self-training"] = Field(description="a task's trees, and sentences that its model has parsed")
    description: str = Field(description=DESCRIPTION)
    licence: str = Field(description=LICENCE)
    gold: str = Field(description="the task whose trees are part of train, and are dev and test")
    parser: str = Field(description="the model that parses the plain sentences")
    copies: Positive = Field(description="how many times the gold trees appear in train")
    keep: Share = Field(description="share of the parses to keep: those with the highest log P per subword")

    def runs(self) -> dict[str, tuple[str, str]]:
        """The run that parses the plain sentences."""
        return {"parser": (self.gold, self.parser)}

    def read(self, of: Callable[[str], Kind]) -> list[str]:
        """The task of the gold trees, and the task from whose text the plain sentences are drawn."""
        return [self.gold, *of(self.gold).tasks().values()]

    def count(self, of: Callable[[str], Kind]) -> tuple[int | None, int]:
        """See `Kind.count`."""
        trees, plain = of(self.gold).count(of)
        return trees and self.copies * trees + round(self.keep * plain), 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write a corpus from gold trees, parses and their log P. Raises the InputErrors of `best_parses`."""
        gold, parses, sure = (given.need(key) for key in ("gold", "parses", "log_probabilities"))
        trees, removed = best_parses(gold, parses, sure, self.keep)
        self._write(folder, gold, trees, removed, name=name, source=source, target=target)


@dataclass(frozen=True, config=STRICT)
class ParsedText(_WithGold):
    """A corpus: the trees of task `gold`, `copies` times, and text that another parser has parsed."""

    origin: Literal["parsed-text"] = Field(description="the trees of a task, and text that another parser has parsed")
    description: str = Field(description=DESCRIPTION)
    licence: str = Field(description=LICENCE)
    gold: str = Field(description="the task whose trees are part of train, and are dev and test")
    trees: Some[str] = Field(description="files of trees in Penn brackets, one a line (docs/reading.md)")
    copies: Positive = Field(description="how many times the gold trees appear in train")

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files of trees."""
        return list(
            dict.fromkeys(Location.of(("corpora", name, "trees", i), text).file for i, text in enumerate(self.trees))
        )

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write a corpus from gold trees and the files of trees. Raises the InputErrors of `parsed_text`."""
        gold = given.need("gold")
        removed: Counter[str] = Counter()
        parsed = parsed_text(self, gold, given.downloads, folder, removed)
        self._write(folder, gold, parsed, removed, name=name, source=source, target=target)


def _leaves_of(gold: Path) -> Leaves:
    return cast(Leaves, read_json(gold / "corpus.json")["leaves"])


def best_parses(gold: Path, parses: Path, log_probabilities: Path, keep: float) -> tuple[list[Pair], dict[str, int]]:
    """The share `keep` of the parses with the highest log P per subword, and how many were removed for each reason.

    `parses` and `log_probabilities` have a line for each plain sentence of the folder `gold`: the linearised tree and
    its log P per subword. A parse that is not a tree over its sentence, or whose leaves are other words, is removed as
    `malformed`. Raises the InputErrors of `read_parallel` and `read_json`, and InputError when a log P is not a finite
    number.
    """
    sentences = gold / "plain.source"
    of_words = _leaves_of(gold) == "words"
    lines = zip(*read_parallel(sentences, parses), strict=True)
    _, texts = read_parallel(sentences, log_probabilities)
    try:
        sure = np.array(texts, float)
        if not np.isfinite(sure).all():
            raise ValueError("not all numbers are finite")
    except ValueError as error:
        raise InputError(f"{log_probabilities}: {error}; parse the sentences again") from None
    least = np.quantile(sure, 1 - keep)
    removed = {"malformed": 0, "less sure": 0}
    pairs = []
    for (line, parse), log_probability in zip(lines, sure, strict=True):
        sentence = split_words(line)
        if not sentence or misread(parse, sentence) > (0 if of_words else len(sentence)):
            removed["malformed"] += 1
        elif log_probability < least:
            removed["less sure"] += 1
        else:
            pairs.append((line, parse))
    return pairs, removed


def parsed_text(corpus: ParsedText, gold: Path, downloads: Path, folder: Path, removed: Counter[str]) -> Iterator[Pair]:
    """The words and the linearised form of each tree in a corpus's files, in a stream.

    Lines whose sentence the parser failed to parse (`is_failed`), and trees whose words have no subword, are left out
    and counted in `removed`. Raises the InputErrors of `open_text` and `read_json`, InputError when a file holds no
    tree, and with the other faults of all files.
    """
    form = _leaves_of(gold)
    faults: list[str] = []
    for location in corpus.trees:
        has_trees = False
        with open_text(location, lambda url: downloads / local_path(url), folder) as lines:
            for number, line in enumerate(lines, start=1):
                if is_failed(line):
                    removed["failed parse"] += 1
                    continue
                try:
                    for tree in read_mrg(location, line, number):
                        has_trees, sentence = True, " ".join(words(tree))
                        if reason := unusable(sentence):
                            removed[reason] += 1
                        else:
                            yield sentence, linearise(tree, form)
                except TreesError as error:
                    faults += error.faults
                if len(faults) > FAULTS:
                    break
        if not has_trees and not faults:
            raise InputError(f"{location}: holds no tree; name a file of trees in Penn brackets, one a line")
    if faults:
        raise InputError(f"{TreesError(faults)}; write parsed text as one tree a line")
