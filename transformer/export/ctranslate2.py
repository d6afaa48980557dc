"""A package as a CTranslate2 model, and decoding by CTranslate2.

CTranslate2 has the same post-norm Transformer; it gets our table of positions.
"""

import os
import tempfile
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
from transformer.support.files import InputError
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
    """A function that decodes batches with CTranslate2, `workers` batches at a time.

    The package in `folder` is exported for it, into a temporary folder. `name` is the word for a line in messages.
    Raises InputError for a package or an option that CTranslate2 does not support, and for a line that is longer than
    the exported positions; also the errors of `to_ctranslate2`.
    """
    _check(package, folder, search)
    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "model")
        to_ctranslate2(folder, model)
        import ctranslate2

        able = ctranslate2.get_supported_compute_types("cpu") & {"float32", "bfloat16", "int8"}
        if precision not in able:
            able_to = ", ".join(sorted(able))
            raise InputError(f"--precision {precision}: on this CPU, CTranslate2 has {able_to}; choose one of these")
        threads = {"inter_threads": workers, "intra_threads": torch.get_num_threads()}
        translator = ctranslate2.Translator(str(model), device="cpu", compute_type=precision, **threads)
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
            num_hypotheses=self.search.width if self.search.nbest else 1,
            length_penalty=self.exponent,
            max_input_length=0,
            min_decoding_length=0,
            max_decoding_length=min(max(len(source) for _, source in batch) + self.search.extra, self.limit.most),
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
        )

    def hypotheses(self, result: Any) -> list[Hypothesis]:
        """The hypotheses of a sentence, best first, with the scores that our length penalty gives them."""
        scored = []
        for output, score in zip(result.hypotheses, result.scores, strict=True):
            target, logp = [self.ids[piece] for piece in output], score * len(output) ** self.exponent
            body = target[:-1] if target[-1] == END else target
            scored.append(Hypothesis(body, float(logp / length_penalty(len(body) + 1, self.search.alpha))))
        return sorted(scored, key=lambda each: -each.score)


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
