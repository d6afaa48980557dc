"""Pairs of sentences as ids on disk: one array of ids, one of offsets, both read as memory maps."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from transformer.files import InputError, atomic


def write_pairs(prefix: Path, pairs: Iterable[tuple[list[int], list[int]]], vocabulary: int) -> None:
    """Write `prefix`.ids.npy (source and target ids in turn) and `prefix`.offsets.npy (where each sentence begins)."""
    kind = np.uint16 if vocabulary <= 1 << 16 else np.uint32
    sentences = [np.asarray(ids, kind) for pair in pairs for ids in pair]
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum([len(ids) for ids in sentences], out=offsets[1:])
    for suffix, array in (("ids", np.concatenate(sentences)), ("offsets", offsets)):
        with atomic(_path(prefix, suffix)) as stream:
            np.save(stream, array)


def _path(prefix: Path, suffix: str) -> Path:
    return Path(f"{prefix}.{suffix}.npy")


class Pairs:
    """The pairs that `write_pairs` wrote. Sentence 2i is the source of pair i, sentence 2i + 1 its target."""

    def __init__(self, prefix: Path):
        """Raises InputError when the files are missing, damaged or do not belong together."""
        try:
            self.ids = np.load(_path(prefix, "ids"), mmap_mode="r")
            self.offsets = np.load(_path(prefix, "offsets"), mmap_mode="r")
        except (OSError, ValueError, EOFError) as error:
            raise InputError(f"{prefix}: its ids cannot be read ({error}); encode the corpus again") from error
        lengths = np.diff(self.offsets)
        fits = len(lengths) > 0 and self.offsets[0] == 0 and self.offsets[-1] == len(self.ids)
        if not fits or len(lengths) % 2 or lengths.min() < 1:
            raise InputError(f"{prefix}: ids and offsets do not belong together; encode the corpus again")
        self.lengths = lengths.reshape(-1, 2)

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, pairs: np.ndarray, side: int) -> np.ndarray:
        """The sources (side 0) or targets (side 1) of some pairs, [len(pairs), longest], padded with 0."""
        lengths = self.lengths[pairs, side]
        column = np.arange(lengths.max())
        filled = column < lengths[:, None]
        padded = np.zeros(filled.shape, np.int64)
        padded[filled] = self.ids[(self.offsets[2 * pairs + side][:, None] + column)[filled]]
        return padded
