"""Subwords (section 5.1): one byte-pair encoding for source and target, learned by SentencePiece."""

import hashlib
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, compress, islice
from pathlib import Path

import numpy as np
import sentencepiece
from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.model.ids import END, PADDING, UNKNOWN
from transformer.support.characters import NORMALISATION
from transformer.support.fields import STRICT, Config, Positive, Seed
from transformer.support.files import InputError, atomic, count_parallel, read_bytes, stream_lines
from transformer.support.processes import shared
from transformer.text.tokens import Packed, pack
from transformer.trees.symbols import symbols


@dataclass(frozen=True, config=STRICT)
class Sample(Config):
    """A sample of the pairs of a text."""

    pairs: Positive = Field(description="the most pairs that are drawn")
    seed: Seed = Field(description="seed of the drawing")


LONGEST_LEARNT = 4192  # bytes of a line; SentencePiece learns nothing from longer ones
RESERVED = "\u2585"  # SentencePiece would learn nothing from a line with this character
PAIRS_AT_ONCE = 4096  # how many pairs a process encodes at a time


def sampled(source: Path, target: Path, sample: Sample) -> Iterator[str]:
    """The sources, then the targets, of all pairs of two files, or of `sample.pairs` random ones if there are more.

    Raises the InputErrors of `transformer.support.files.count_parallel` and `stream_lines`.
    """
    pairs = count_parallel(source, target)
    drawn = np.ones(pairs, bool)
    if pairs > sample.pairs:
        drawn[:] = False
        drawn[np.random.default_rng(sample.seed).choice(pairs, sample.pairs, replace=False, shuffle=False)] = True
    for path in (source, target):
        yield from compress(stream_lines(path), drawn)


def whole_symbols(source: Path, target: Path) -> list[str]:
    """The symbols of linearised trees, as subwords that begin a word. Raises the InputErrors of `stream_lines`."""
    return [f"\u2581{symbol}" for symbol in symbols(stream_lines(source), stream_lines(target))]


def learn(texts: Iterable[str], vocabulary: int, path: Path, symbols: Sequence[str] = ()) -> None:
    """Learn a vocabulary of exactly `vocabulary` subwords and write it to `path`. Each of `symbols` is one subword.

    The ids are 0 for padding, 1 for the end of a sentence, and 2 for unknown. Lines of more than LONGEST_LEARNT bytes
    are left out, RESERVED is learnt as a blank, and messages say how often. Raises InputError when the text is too
    small or too varied for this size.
    """
    unreadable: list[InputError] = []  # errors of reading the text, which SentencePiece replaces by its own
    left_out = reserved = 0

    def read() -> Iterator[str]:
        nonlocal left_out, reserved
        try:
            for text in texts:
                if len(text.encode()) > LONGEST_LEARNT:
                    left_out += 1
                else:
                    reserved += RESERVED in text
                    yield text.replace(RESERVED, " ")
        except InputError as error:
            unreadable.append(error)
            raise

    with atomic(path) as stream:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=read(),
                model_writer=stream,
                model_type="bpe",
                vocab_size=vocabulary,
                normalization_rule_name=NORMALISATION,
                character_coverage=1.0,
                user_defined_symbols=list(symbols),
                num_threads=2,  # constant, because the model file contains it and so its SHA-256 depends on it
                pad_id=PADDING,
                eos_id=END,
                unk_id=UNKNOWN,
                bos_id=-1,
                minloglevel=2,
            )
        except (RuntimeError, ValueError) as error:
            if unreadable:
                raise unreadable[0] from None
            reason, remedy = _why(str(error).rsplit("] ", 1)[-1])
            reason += f"; {left_out} lines of more than {LONGEST_LEARNT:,} bytes are left out" * bool(left_out)
            raise InputError(
                f"{path}: a vocabulary of {vocabulary} subwords cannot be learnt from this text ({reason}); "
                f"{remedy} `vocabulary` of its task"
            ) from error
    if left_out:
        print(f"{path}: {left_out:,} lines of more than {LONGEST_LEARNT:,} bytes were not learnt from", file=sys.stderr)
    if reserved:
        print(
            f"{path}: {reserved:,} lines have U+2585, which SentencePiece reserves; it stays unknown", file=sys.stderr
        )


def _why(message: str) -> tuple[str, str]:
    """Why SentencePiece learns no vocabulary of this size, and what to do with the size."""
    if found := re.search(r"a value <= (\d+)", message):
        return f"it gives at most {found[1]}", f"write {found[1]} or less as"
    if found := re.search(r"smaller than required_chars. \d+ vs (\d+)", message):
        return f"its characters alone are {found[1]}", f"write {found[1]} or more as"
    return message or "it has too little text", "change"


class Subwords:
    """A learned vocabulary."""

    def __init__(self, path: Path):
        """Raises InputError when `path` is not a SentencePiece model."""
        self.processor = sentencepiece.SentencePieceProcessor()
        if not Path(path).is_file():
            raise InputError(f"{path}: no such vocabulary; learn it, or correct the path")
        try:
            self.processor.LoadFromSerializedProto(content := read_bytes(path))
        except RuntimeError as error:
            raise InputError(f"{path}: not a SentencePiece model; learn it again") from error
        self.sha256 = hashlib.sha256(content).hexdigest()

    def __len__(self) -> int:
        return self.processor.vocab_size()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of each line, closed by the end of sentence."""
        return self.processor.encode(list(lines), add_eos=True, num_threads=1)

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sentence, from its ids without the end of sentence."""
        return [self.processor.decode(list(ids)) for ids in sentences]

    def pieces(self, line: str) -> list[str]:
        """The subwords of a line as text. A subword that begins a word starts with U+2581."""
        return self.processor.encode(line, out_type=str)

    def words_of_pieces(self, words: Sequence[str]) -> list[int]:
        """The word, counted from 0, that each subword of a line belongs to. The line is `words` with blanks between.

        Normalisation may part a word ("a\u00b4b" is read as "a \u0301b") or drop it (a zero width space), so the
        beginnings of words cannot be counted. But the text of a line's subwords is that of the subwords of each word,
        one word after the other. Raises InputError if it is not.
        """
        ends = list(accumulate(len("".join(self.pieces(word))) for word in words))
        stops = list(accumulate(map(len, self.pieces(" ".join(words)))))
        if [0, *ends][-1] != [0, *stops][-1]:
            line = " ".join(words)
            raise InputError(f"{line!r}: its subwords do not keep its words apart; write it in plain characters")
        return [bisect_left(ends, stop) for stop in stops]


def encode_pairs(
    source: Path, target: Path, path: Path, processes: int, as_read: Callable[[str], str] = str
) -> Iterator[Packed]:
    """Encode two parallel files with the vocabulary of `path`, and hold only a few thousand lines in memory.

    `as_read` changes each line of the source first. Raises the errors of `shared` and `Subwords`, and the InputErrors
    of `transformer.support.files.count_parallel` and `stream_lines`.
    """
    pairs = count_parallel(source, target)
    lines = (map(as_read, stream_lines(source)), stream_lines(target))
    parts = ([list(islice(side, PAIRS_AT_ONCE)) for side in lines] for _ in range(0, pairs, PAIRS_AT_ONCE))
    if processes == 1 or pairs <= PAIRS_AT_ONCE:
        yield from map(_encoder(path), parts)
        return
    with shared(processes, f"--threads {processes}", "use fewer", _encoder, path) as encoded:
        yield from encoded(parts)


def _encoder(path: Path) -> Callable[[list[list[str]]], Packed]:
    """What a process encodes the two sides of some pairs with."""
    subwords = Subwords(path)
    return lambda sides: pack(subwords.encode(sides[0]), subwords.encode(sides[1]), len(subwords))
