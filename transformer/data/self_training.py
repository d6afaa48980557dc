"""The semi-supervised corpora of Table 4: gold trees, and trees of plain text by the first parser or by one's own."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, repeat
from pathlib import Path
from typing import cast, get_args

import numpy as np

from transformer.config import Leaves, ParsedText, SelfTraining
from transformer.data.corpora import Pair, write_pairs, write_record
from transformer.data.fetch import local_path
from transformer.data.reading import open_text
from transformer.files import InputError, read_json, read_lines, read_parallel, write_lines
from transformer.parsing.treebank import read_mrg
from transformer.parsing.trees import linearise, misread, words


def _leaves_of(gold: Path) -> Leaves:
    found, known = read_json(gold / "corpus.json").get("leaves"), get_args(Leaves)
    if found not in known:
        raise InputError(f"{gold}/corpus.json: `leaves` is {found}, none of {', '.join(known)}; make the corpus again")
    return cast(Leaves, found)


def write_corpus(
    corpus: SelfTraining | ParsedText,
    gold: Path,
    parses: Iterable[Pair],
    removed: Mapping[str, int],
    folder: Path,
    *,
    name: str,
    source: str,
    target: str,
) -> None:
    """Write a parsing corpus into `folder`: train is the gold train part `copies` times, then the parses.

    `gold` is the folder of a parsing corpus, whose dev and test parts stay. Raises InputError as `read_parallel` does,
    and when its record lacks `leaves`.
    """
    trees = list(zip(*read_parallel(gold / "train.source", gold / "train.target"), strict=True))
    pairs = chain(chain.from_iterable(repeat(trees, corpus.copies)), parses)
    sizes = {"train": write_pairs(folder, "train", pairs, removed, name)}
    for part in ("dev", "test"):
        for kind in ("source", "target", "trees"):
            lines = read_lines(gold / f"{part}.{kind}")
            write_lines(folder / f"{part}.{kind}", lines)
            sizes[part] = len(lines)
    write_record(folder, sizes, removed, corpus, name=name, source=source, target=target, leaves=_leaves_of(gold))


def best_parses(gold: Path, parses: Path, log_probabilities: Path, keep: float) -> tuple[list[Pair], dict[str, int]]:
    """The share `keep` of the parses with the highest log P a subword, and how many were removed for what.

    Files of linearised trees and of their log P belong to the plain sentences of the folder `gold`. Those that are no
    tree over their sentence, or in which other words stand as leaves, are removed, too, as `malformed`.
    Raises InputError as `write_corpus` does, and where a log P is no number.
    """
    sentences = gold / "plain.source"
    of_words = _leaves_of(gold) == "words"
    lines = zip(*read_parallel(sentences, parses), strict=True)
    _, texts = read_parallel(sentences, log_probabilities)
    try:
        sure = np.array(texts, float)
    except ValueError as error:
        raise InputError(f"{log_probabilities}: {error}; parse the sentences again") from None
    least = np.quantile(sure, 1 - keep)
    removed = {"malformed": 0, "less sure": 0}
    pairs = []
    for (line, parse), log_probability in zip(lines, sure, strict=True):
        sentence = line.split()
        if not sentence or misread(parse, sentence) > (0 if of_words else len(sentence)):
            removed["malformed"] += 1
        elif log_probability < least:
            removed["less sure"] += 1
        else:
            pairs.append((line, parse))
    return pairs, removed


def parsed_text(corpus: ParsedText, gold: Path, downloads: Path, folder: Path) -> Iterator[Pair]:
    """Words and linearised tree of each tree of a corpus's files, in a stream; `downloads` holds what URLs gave.

    Raises InputError as `open_text`, `read_mrg` and `write_corpus` do.
    """
    form = _leaves_of(gold)
    for location in corpus.trees:
        found = False
        with open_text(location, lambda url: downloads / local_path(url), folder) as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    for tree in read_mrg(location, line, number):
                        found = True
                        yield " ".join(words(tree)), linearise(tree, form)
                except InputError as error:
                    raise InputError(f"{error}; parsed text has a tree a line") from None
        if not found:
            raise InputError(f"{location}: holds no tree; name a file of trees in Penn brackets, one a line")
