"""A package as a CTranslate2 model. CTranslate2 has the same post-norm Transformer; it gets our table of positions."""

import os
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from transformer.export.marian import LAYERS
from transformer.export.package import load_expressible, logit_bias, longest, new_folder, pieces_of, write_common
from transformer.model.ids import END
from transformer.model.transformer import Transformer
from transformer.support.files import InputError

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
        every = cast(Tensor, positions.of_embeddings(torch.arange(longest(architecture))[None]))
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
