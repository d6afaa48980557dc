"""Decoding of batches: by beam search or by sampling, in this process or in several."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from transformer.decoding.beam import Hypothesis, beam_search, length_penalty
from transformer.decoding.precision import PRECISIONS, decoding_autocast, in_precision
from transformer.decoding.sampling import sample
from transformer.model.ids import PADDING
from transformer.model.network import Network
from transformer.package.config import PackageConfig
from transformer.package.loading import Package, load_package
from transformer.support.device import keep_freed_memory
from transformer.support.files import InputError
from transformer.support.processes import shared


class Sentence(NamedTuple):
    """The number of a line, from 1, and its ids."""

    number: int
    ids: list[int]


Decoder = Callable[[list[Sentence]], list[list[Hypothesis]]]
Decode = Callable[[Iterable[list[Sentence]]], Iterable[list[list[Hypothesis]]]]  # decodes batches, in order


@dataclass(frozen=True)
class Search:
    """How to decode: by beam search with `width`, or by sampling. `seed` and the line's number seed the sampling.

    Beam search returns all hypotheses if `nbest`, else only the best. `early` is that of `beam_search`.
    """

    width: int
    alpha: float
    extra: int
    seed: int | None = None
    nbest: bool = False
    early: bool = False

    @classmethod
    def of(
        cls,
        config: PackageConfig,
        beam: int | None = None,
        seed: int | None = None,
        nbest: bool = False,
        alpha: float | None = None,
        early: bool = False,
    ) -> "Search":
        """The package's own decoding, with the given values instead of its own.

        With a parser it always returns the whole beam; `trees_first` later chooses the best tree in it.
        """
        how = config.decoding
        width = 1 if seed is not None else beam or how.beam
        alpha = how.alpha if alpha is None else alpha
        return cls(width, alpha, how.extra, seed, nbest or config.kind == "parsing", early)

    def __call__(self, model: Network, batch: Sequence[Sentence]) -> list[list[Hypothesis]]:
        """The hypotheses of each sentence, best first."""
        ids = [torch.tensor(sentence.ids) for sentence in batch]
        source = pad_sequence(ids, batch_first=True, padding_value=PADDING).to(model.embedding.device)
        with decoding_autocast(model):
            if self.seed is None:
                return beam_search(model, source, self.width, self.alpha, self.extra, self.nbest, self.early)
            generators = [np.random.default_rng((self.seed, sentence.number)) for sentence in batch]
            return [[drawn] for drawn in sample(model, source, self.extra, generators)]

    def log_probability(self, hypothesis: Hypothesis) -> float:
        """Log P per subword; the end of sentence counts as one, also where a hypothesis has none."""
        length = len(hypothesis.ids) + 1
        return float(hypothesis.score * length_penalty(length, self.alpha if self.seed is None else 0) / length)


@contextmanager
def decoding(package: Package, folder: Path, search: Search, precision: str, workers: int) -> Iterator[Decode]:
    """A function that decodes batches, in this process or in `workers` processes if that is more than 1.

    Each of several workers loads the package from `folder`. Raises InputError for several workers on a GPU, for a
    precision that is not in PRECISIONS, and the errors of `shared`.
    """
    if workers > 1 and package.model.embedding.is_cuda:
        raise InputError(
            f"--workers {workers} works on CPUs only (one process is enough for a GPU); leave it out, or set "
            "CUDA_VISIBLE_DEVICES= to translate on the CPU"
        )
    if precision not in PRECISIONS:
        raise InputError(f"--precision {precision} needs --engine ctranslate2; add it, or choose float32 or bfloat16")
    if workers == 1:
        model = in_precision(package.model, precision)
        yield lambda batches: (search(model, batch) for batch in batches)
        return
    given = (folder, search, precision, torch.get_num_threads())
    with shared(workers, f"--workers {workers}", "use fewer", _decoder, *given) as decode:
        yield decode


def _decoder(folder: Path, search: Search, precision: str, threads: int) -> Decoder:
    """What a worker decodes a batch with."""
    torch.set_num_threads(threads)
    keep_freed_memory()
    package = load_package(folder, torch.device("cpu"), trust_code=True)  # the caller has loaded it, too
    return partial(search, in_precision(package.model, precision))
