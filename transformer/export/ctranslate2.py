"""A package as a CTranslate2 model, and decoding by CTranslate2.

CTranslate2 has the same post-norm Transformer; it gets our table of positions.
"""

import os
import shutil
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from transformer.decoding.beam import Hypothesis, length_penalty
from transformer.decoding.search import Decode, Search, Sentence
from transformer.export.marian import LAYERS
from transformer.export.package import (
    check_expressible,
    length_exponent,
    load_expressible,
    logit_bias,
    longest,
    new_folder,
    pieces_of,
    write_common,
)
from transformer.model.ids import END
from transformer.model.transformer import Transformer
from transformer.package.loading import Package
from transformer.support.files import InputError, locked, part_folder, read_json, sha256, write_json
from transformer.support.provenance import code
from transformer.text.lines import Limit, check_length

CTRANSLATE2 = ("CTranslate2", ("sinusoidal", "learned"))  # its name, and the positions that it has
NOT_INSTALLED = "CTranslate2 is not installed; install it with `pip install 'ctranslate2>=4.8'`"
CTRANSLATE2_USAGE = """\
import ctranslate2, sentencepiece

    subwords = sentencepiece.SentencePieceProcessor(FOLDER + "/subwords.model")
    translator = ctranslate2.Translator(FOLDER)
    pieces = subwords.encode(sentences, out_type=str)
    limits = dict(max_input_length=0, max_decoding_length={positions})
    results = translator.translate_batch(
        pieces, beam_size={config.decoding.beam}, length_penalty={penalty:.2f}, **limits)
    print(subwords.decode([result.hypotheses[0] for result in results]))"""


def to_ctranslate2(folder: Path, output: Path) -> None:
    """Write a package as a CTranslate2 model, in float32.

    Raises InputError for a package that CTranslate2 cannot express, when `output` has files, and when CTranslate2 is
    not installed, and the errors of `load_package`.
    """
    package = load_expressible(folder, *CTRANSLATE2)
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError as error:
        raise InputError(NOT_INSTALLED) from error
    architecture = package.config.architecture
    model = cast(Transformer, package.model)
    weights = model.state_dict()
    spec = TransformerSpec.from_config(architecture.N, architecture.h, pre_norm=False)

    def fill(part: Any, name: str) -> None:
        names = ("gamma", "beta") if name.endswith("norm") else ("weight", "bias")
        for theirs, ours in zip(names, ("weight", "bias"), strict=True):
            setattr(part, theirs, weights[f"{name}.{ours}"].numpy())

    for stack, modules in LAYERS.items():
        for i, layer in enumerate(getattr(spec, stack).layer):
            attentions = [layer.self_attention, layer.attention] if stack == "decoder" else [layer.self_attention]
            parts = [part for attention in attentions for part in (*attention.linear, attention.layer_norm)]
            parts += [layer.ffn.linear_0, layer.ffn.linear_1, layer.ffn.layer_norm]
            for part, name in zip(parts, modules, strict=True):
                fill(part, f"{stack}.{i}.{name}")
    embedding = weights["embedding"].numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = embedding
    spec.decoder.projection.bias = logit_bias(len(embedding)).numpy()
    spec.decoder.start_from_zero_embedding = True
    for part, positions in ((spec.encoder, model.source_positions), (spec.decoder, model.target_positions)):
        every = cast(Tensor, positions.encoding(torch.arange(longest(architecture))[None]))
        part.position_encodings.encodings = every[0].detach().numpy()
    pieces = pieces_of(package.subwords)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.eos_token = spec.config.bos_token = spec.config.decoder_start_token = pieces[END]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-6
    spec.validate()
    spec.optimize()
    with new_folder(output) as temporary:
        spec.save(os.fspath(temporary))
        write_common(temporary, package, folder, ("subwords.model",), CTRANSLATE2_USAGE)


@contextmanager
def by_ctranslate2(
    package: Package, folder: Path, search: Search, precision: str, workers: int, name: str
) -> Iterator[Decode]:
    """A function that decodes batches with CTranslate2, `workers` batches at a time, from the package in `folder`.

    Our length penalty ranks the hypotheses. `name` is the word for a line in messages. Raises InputError for a package
    or an option that CTranslate2 does not support, when CTranslate2 is not installed, and for a line that is longer
    than the exported positions; also the errors of `cached`.
    """
    _check(package, folder, search)
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
    threads = {"inter_threads": workers, "intra_threads": torch.get_num_threads()}
    model = os.fspath(cached(folder, key))
    translator = ctranslate2.Translator(model, device="cpu", compute_type=precision, **threads)
    yield _Decoder(translator, package, search, workers, name)


class _Decoder:
    """Decodes batches with a translator of CTranslate2, and scores its hypotheses like ours."""

    def __init__(self, translator: Any, package: Package, search: Search, workers: int, name: str):
        self.translator, self.search, self.workers, self.name = translator, search, workers, name
        self.pieces = pieces_of(package.subwords)
        self.ids = {piece: i for i, piece in enumerate(self.pieces)}
        self.exponent, positions = length_exponent(search.alpha), longest(package.config.architecture)
        self.limit = Limit(positions, f"an exported model has {positions} positions")

    def __call__(self, batches: Iterable[list[Sentence]]) -> Iterator[list[list[Hypothesis]]]:
        """The hypotheses of each batch, in order. Up to `workers` batches are decoded ahead."""
        started: deque[list[Any]] = deque()
        for batch in batches:
            started.append(self.start(batch))
            if len(started) > self.workers:
                yield [self.hypotheses(each.result()) for each in started.popleft()]
        for results in started:
            yield [self.hypotheses(each.result()) for each in results]

    def start(self, batch: list[Sentence]) -> list[Any]:
        """Begin to decode a batch; returns a future of each sentence's result."""
        for number, source in batch:
            check_length(f"{self.name} {number}", len(source), self.limit)
        return self.translator.translate_batch(
            [[self.pieces[i] for i in source[:-1]] for _, source in batch],
            beam_size=self.search.width,
            num_hypotheses=self.search.width,
            length_penalty=self.exponent,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(max(len(source) for _, source in batch) + self.search.extra, self.limit.most),
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
        )

    def hypotheses(self, result: Any) -> list[Hypothesis]:
        """The hypotheses that have ended, ranked by our length penalty; if none has, the first."""
        scored = []
        for output, score in zip(result.hypotheses, result.scores, strict=True):
            target, logp = [self.ids[piece] for piece in output], score * len(output) ** self.exponent
            ended = target[-1] == END
            body = target[:-1] if ended else target
            scored.append((ended, Hypothesis(body, float(logp / length_penalty(len(body) + 1, self.search.alpha)))))
        best = [each for ended, each in scored if ended] or [scored[0][1]]
        best.sort(key=lambda each: -each.score)
        return best if self.search.nbest else best[:1]


def _check(package: Package, folder: Path, search: Search) -> None:
    """Raises InputError for a package or a search that CTranslate2 does not support."""
    if search.seed is not None:
        raise InputError("--engine ctranslate2 cannot draw the samples of --sample; leave one of them out")
    if search.early:
        raise InputError("--engine ctranslate2 has its own rule to end a search; leave --early-stop out")
    if package.config.kind == "parsing":
        raise InputError(f"--engine ctranslate2 only translates, but {folder} is a parser; leave the option out")
    if package.model.embedding.is_cuda:
        raise InputError("--engine ctranslate2 works on CPUs only; leave it out, or set CUDA_VISIBLE_DEVICES=")
    check_expressible(folder, package.config, *CTRANSLATE2)


def cached(folder: Path, key: str) -> Path:
    """The exported model of the package in `folder`. A missing or damaged one is made again.

    `key` names the package and the code that exports it. Raises InputError when the cache cannot be written or no home
    folder is known, and the errors of `to_ctranslate2`.
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
