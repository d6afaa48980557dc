"""Pairs of sentences as ids, in one array of ids and one of offsets, in memory or as files that are mapped into it."""

import tokenize
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from transformer.support.files import InputError, atomic


class Packed(NamedTuple):
    """Some pairs: the ids of source, target, source, target and so on, and the length of each sentence."""

    ids: np.ndarray
    lengths: np.ndarray


def pack(sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], vocabulary: int) -> Packed:
    """Pairs of sentences as arrays. An id takes two bytes if the vocabulary has at most 65,536 subwords, else four."""
    sentences = [sentence for pair in zip(sources, targets, strict=True) for sentence in pair]
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    ids = np.fromiter(chain.from_iterable(sentences), _kind(vocabulary), int(lengths.sum()))
    return Packed(ids, lengths)


def _kind(vocabulary: int) -> type[np.unsignedinteger]:
    return np.uint16 if vocabulary <= 1 << 16 else np.uint32


def vocabulary_name(vocabulary: int, sha256: str) -> str:
    """A text that identifies a vocabulary: its number of subwords and the SHA-256 of its model."""
    return f"{vocabulary} subwords, SHA-256 {sha256}"


def write_pairs(prefix: Path, parts: Iterable[Packed], vocabulary: int, sha256: str = "") -> None:
    """Write `prefix`.ids.npy (as in `Packed`) and `prefix`.offsets.npy (where each sentence begins).

    Only one part is held in memory at a time. ids.npy has one field. The name of this field is the name of the
    vocabulary: its size and the `sha256` of its model. So ids cannot be separated from it. Raises the InputErrors of
    `atomic`.
    """
    kinds = np.dtype([(vocabulary_name(vocabulary, sha256), _kind(vocabulary))]), np.dtype(np.int64)
    with atomic(_path(prefix, "ids")) as ids, atomic(_path(prefix, "offsets")) as offsets:
        for stream, kind in zip((ids, offsets), kinds, strict=True):
            _write_header(stream, kind, 0)
        offsets.write(np.int64(0).tobytes())
        end, sentences = 0, 0
        for part in parts:
            ids.write(part.ids.data)
            offsets.write((end + np.cumsum(part.lengths)).data)
            end += len(part.ids)
            sentences += len(part.lengths)
        for stream, kind, count in zip((ids, offsets), kinds, (end, sentences + 1), strict=True):
            stream.seek(0)
            _write_header(stream, kind, count)


def _write_header(stream: BinaryIO, kind: np.dtype[Any], count: int) -> None:
    """Write the header of an .npy file. NumPy pads it, so its length does not depend on the count."""
    description = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(stream, description)


def _path(prefix: Path, suffix: str) -> Path:
    return Path(f"{prefix}.{suffix}.npy")


class Pairs:
    """Pairs of sentences. Sentence 2i is the source of pair i, sentence 2i + 1 its target."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray, vocabulary: str = ""):
        """`offsets` say where each sentence begins in `ids`, and where the last one ends."""
        self.ids, self.offsets, self.vocabulary = ids, offsets, vocabulary
        self.lengths = np.diff(offsets).astype(np.int32).reshape(-1, 2)

    @classmethod
    def of(cls, parts: Iterable[Packed]) -> "Pairs":
        """The pairs of some parts, of which there is at least one, in memory."""
        ids, lengths = map(np.concatenate, zip(*parts, strict=True))
        return cls(ids, np.concatenate([[0], np.cumsum(lengths)]))

    @classmethod
    def read(cls, prefix: Path) -> "Pairs":
        """The pairs that `write_pairs` wrote, as memory maps.

        Raises InputError when the files are missing or damaged, name no vocabulary, or do not belong together.
        """
        try:
            ids, offsets = (np.lib.format.open_memmap(_path(prefix, name), mode="r") for name in ("ids", "offsets"))
        except (OSError, ValueError, EOFError, tokenize.TokenError) as error:  # TokenError: some damaged headers
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise InputError(f"{prefix}: its ids cannot be read ({why}); encode the corpus again") from error
        if len(names := ids.dtype.names or ()) != 1:
            raise InputError(f"{prefix}: its ids do not name their vocabulary; encode the corpus again")
        [vocabulary] = names
        fits = len(offsets) > 1 and offsets[0] == 0 and offsets[-1] == len(ids)
        if not fits or len(offsets) % 2 == 0 or np.diff(offsets).min() < 1:
            raise InputError(f"{prefix}: ids and offsets do not belong together; encode the corpus again")
        return cls(ids[vocabulary], offsets, vocabulary)

    def __len__(self) -> int:
        return len(self.lengths)

    def in_rows(self, pairs: np.ndarray, side: int, rows: np.ndarray, count: int, length: int) -> np.ndarray:
        """The sources (side 0) or targets (side 1) of pairs as `count` rows [count, length], filled up with 0.

        `rows` has the row of each pair, in ascending order. The sentences of a row follow each other.
        """
        sizes = self.lengths[pairs, side].astype(np.int64)
        before = np.cumsum(sizes) - sizes  # how many subwords come before each sentence, in all rows
        earlier = before[np.searchsorted(rows, rows)]  # how many come before its row
        within = np.arange(sizes.sum()) - np.repeat(before, sizes)
        padded = np.zeros(count * length, np.int64)
        padded[np.repeat(rows * length + before - earlier, sizes) + within] = self.ids[
            np.repeat(self.offsets[2 * pairs + side], sizes) + within
        ]
        return padded.reshape(count, length)


def read_pairs(prefix: Path, vocabulary: int, sha256: str) -> Pairs:
    """`Pairs.read`. Raises its InputErrors, and InputError for ids of another vocabulary than the given one."""
    pairs = Pairs.read(prefix)
    if pairs.vocabulary != (name := vocabulary_name(vocabulary, sha256)):
        raise InputError(f"{prefix}: encoded with {pairs.vocabulary}, not with {name}; encode the corpus again")
    if (largest := int(pairs.ids.max(initial=0))) >= vocabulary:
        raise InputError(
            f"{prefix}: damaged (id {largest} in a vocabulary of {vocabulary} subwords); encode the corpus again"
        )
    return pairs
