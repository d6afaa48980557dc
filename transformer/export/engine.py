"""Decoding by CTranslate2: a package is exported once, into a cache of the user, and CTranslate2 searches there."""

import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from transformer.decoding.beam import Hypothesis, length_penalty
from transformer.decoding.search import Decode, Search, Sentence
from transformer.export.ctranslate2 import CTRANSLATE2, NOT_INSTALLED, to_ctranslate2
from transformer.export.package import check_expressible, length_exponent, longest, pieces_of
from transformer.model.ids import END
from transformer.package.loading import Package
from transformer.support.files import InputError, locked, part_folder, read_json, sha256, write_json
from transformer.support.provenance import code
from transformer.text.lines import check_length


@contextmanager
def by_ctranslate2(
    package: Package, folder: Path, search: Search, precision: str, workers: int, name: str
) -> Iterator[Decode]:
    """A function that decodes batches with CTranslate2, `workers` batches at a time, from the package in `folder`.

    Our length penalty ranks the hypotheses. `name` is the word for a line in messages. Raises InputError for a package
    or an option that CTranslate2 does not support, when CTranslate2 is not installed, and for a line that is longer
    than the exported positions; also the errors of `cached`.
    """
    if search.seed is not None:
        raise InputError("--engine ctranslate2 cannot draw the samples of --sample; leave one of them out")
    if search.early:
        raise InputError("--engine ctranslate2 has its own rule to end a search; leave --early-stop out")
    if package.config.kind == "parsing":
        raise InputError(f"--engine ctranslate2 only translates, but {folder} is a parser; leave the option out")
    if package.model.embedding.is_cuda:
        raise InputError("--engine ctranslate2 works on CPUs only; leave it out, or set CUDA_VISIBLE_DEVICES=")
    check_expressible(folder, package.config, *CTRANSLATE2)
    try:
        import ctranslate2
    except ImportError as error:
        raise InputError(NOT_INSTALLED) from error
    able = ctranslate2.get_supported_compute_types("cpu") & {"float32", "bfloat16", "int8"}
    if precision not in able:
        raise InputError(
            f"--precision {precision}: CTranslate2 supports {', '.join(sorted(able))} on this CPU; choose one of these"
        )
    key = f"{package.config.sha256['config.json']}-{code('export', 'model')[:16]}"
    model, positions = os.fspath(cached(folder, key)), longest(package.config.architecture)
    threads = {"inter_threads": workers, "intra_threads": torch.get_num_threads()}
    translator = ctranslate2.Translator(model, device="cpu", compute_type=precision, **threads)
    pieces, exponent = pieces_of(package.subwords), length_exponent(search.alpha)
    ids = {piece: i for i, piece in enumerate(pieces)}

    def start(batch: list[Sentence]) -> list[Any]:
        for number, source in batch:
            check_length(f"{name} {number}", len(source), positions, f"an exported model has {positions} positions")
        return translator.translate_batch(
            [[pieces[i] for i in source[:-1]] for _, source in batch],
            beam_size=search.width,
            num_hypotheses=search.width,
            length_penalty=exponent,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(max(len(source) for _, source in batch) + search.extra, positions),
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
        )

    def hypotheses(result: Any) -> list[Hypothesis]:
        found = []
        for output, score in zip(result.hypotheses, result.scores, strict=True):
            target, logp = [ids[piece] for piece in output], score * len(output) ** exponent
            ended = target[-1] == END
            body = target[:-1] if ended else target
            found.append((ended, Hypothesis(body, float(logp / length_penalty(len(body) + 1, search.alpha)))))
        best = [each for ended, each in found if ended] or [found[0][1]]
        best.sort(key=lambda each: -each.score)
        return best if search.nbest else best[:1]

    def decode(batches: Iterable[list[Sentence]]) -> Iterator[list[list[Hypothesis]]]:
        started: deque[list[Any]] = deque()
        for batch in batches:
            started.append(start(batch))
            if len(started) > workers:
                yield [hypotheses(each.result()) for each in started.popleft()]
        for results in started:
            yield [hypotheses(each.result()) for each in results]

    yield decode


def cached(folder: Path, key: str) -> Path:
    """The exported model of the package in `folder`. A missing or damaged one is made again.

    `key` names the package and the code that exports it.

    Raises InputError when the cache cannot be written or no home folder is known, and the errors of `to_ctranslate2`.
    """
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "transformer", "ctranslate2")
    except RuntimeError as error:
        raise InputError("this user has no home folder; set XDG_CACHE_HOME to a folder") from error
    path = cache / key
    if _whole(path):  # also in a cache that may only be read
        return path / "model"
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with (cache / f"{key}.lock").open("a") as lock:
            locked(lock, wait=True)
            if not _whole(path):
                if path.exists():
                    shutil.rmtree(path)
                with part_folder(path) as temporary:
                    model = temporary / "model"
                    to_ctranslate2(folder, model)
                    write_json(temporary / "sha256.json", {file.name: sha256(file) for file in model.iterdir()})
                    temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"{cache}: cannot be written ({error.strerror or error}); set XDG_CACHE_HOME to another folder"
        ) from error
    return path / "model"


def _whole(path: Path) -> bool:
    try:
        digests = read_json(path / "sha256.json")
        return "model.bin" in digests and all(
            sha256(path / "model" / name) == digest for name, digest in digests.items()
        )
    except InputError:
        return False
