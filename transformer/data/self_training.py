"""Self-training: the semi-supervised corpus of Table 4, gold trees and a parser's trees of plain text."""

from pathlib import Path

from transformer.config import SelfTraining
from transformer.data.corpora import write_record
from transformer.files import read_lines, read_parallel, write_lines
from transformer.parsing.trees import WORD, repair


def write_corpus(
    corpus: SelfTraining,
    gold: Path,
    sentences: Path,
    parses: Path,
    folder: Path,
    *,
    name: str,
    source: str,
    target: str,
) -> None:
    """Write a parsing corpus into `folder`: train is the gold train part `copies` times, then the parses.

    `gold` is the folder of a parsing corpus, whose dev and test parts stay; `sentences` and `parses` are
    files of words and of their linearised trees. A parse that is no tree over its sentence is left out and
    counted in corpus.json as `malformed`. Raises InputError as `read_parallel` does.
    """
    pairs = list(zip(*read_parallel(gold / "train.source", gold / "train.target"), strict=True)) * corpus.copies
    malformed = 0
    for line, parse in zip(*read_parallel(sentences, parses), strict=True):
        words = line.split()
        if words and not repair(parse.split(), words, [WORD] * len(words))[1]:
            pairs.append((line, parse))
        else:
            malformed += 1
    write_lines(folder / "train.source", (pair[0] for pair in pairs))
    write_lines(folder / "train.target", (pair[1] for pair in pairs))
    sizes = {"train": len(pairs)}
    for part in ("dev", "test"):
        for kind in ("source", "target", "trees"):
            lines = read_lines(gold / f"{part}.{kind}")
            write_lines(folder / f"{part}.{kind}", lines)
            sizes[part] = len(lines)
    write_record(folder, sizes, {"malformed": malformed}, corpus, name=name, source=source, target=target)
