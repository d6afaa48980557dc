"""Subwords (section 5.1): one byte-pair encoding for source and target, learnt by SentencePiece."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import sentencepiece

from transformer.config import END, PADDING, UNKNOWN
from transformer.files import InputError, atomic


def learn(texts: Iterable[str], vocabulary: int, path: Path, symbols: Sequence[str] = (), threads: int = 1) -> None:
    """Learn a vocabulary of exactly `vocabulary` subwords, `symbols` being whole ones, and write it to `path`.

    Ids: 0 padding, 1 end of sentence, 2 unknown. Raises InputError when the text is too small or varied for the size.
    """
    with atomic(path) as stream:
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(texts),
                model_writer=stream,
                model_type="bpe",
                vocab_size=vocabulary,
                character_coverage=1.0,
                user_defined_symbols=list(symbols),
                num_threads=threads,
                pad_id=PADDING,
                eos_id=END,
                unk_id=UNKNOWN,
                bos_id=-1,
                minloglevel=2,
            )
        except RuntimeError as error:
            reason = str(error).rsplit("] ", 1)[-1] or "it is empty"
            raise InputError(
                f"{path}: a vocabulary of {vocabulary} subwords cannot be learnt from this text ({reason})"
            ) from error


class Subwords:
    """A learnt vocabulary."""

    def __init__(self, path: Path):
        """Raises InputError when `path` is no SentencePiece model."""
        self.processor = sentencepiece.SentencePieceProcessor()
        try:
            self.processor.load(os.fspath(path))
        except (OSError, RuntimeError) as error:
            raise InputError(f"{path}: not a SentencePiece model; learn it again") from error

    def __len__(self) -> int:
        return self.processor.vocab_size()

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        """Each line's ids, closed by the end of sentence."""
        return [[*ids, END] for ids in self.processor.encode(list(lines))]

    def decode(self, sentences: Sequence[Sequence[int]]) -> list[str]:
        """The text of each sentence's ids, given without the end of sentence."""
        return [self.processor.decode(list(ids)) for ids in sentences]

    def pieces(self, line: str) -> list[str]:
        """A line's subwords as text; one that begins a word begins with U+2581."""
        return self.processor.encode(line, out_type=str)
