"""A package for other software: as a CTranslate2 model, or as Marian of Hugging Face Transformers; Marian back.

Both are post-norm Transformers with biases and one scaled embedding matrix, as ours. What differs:

- Marian puts all sines before all cosines, the paper alternates them: the d_model dimensions of every weight that reads
  or writes the residual stream are put in Marian's order. CTranslate2 is given our table.
- Our decoder starts from a zero vector, Marian's from the embedding of padding: that row is zero in the export. Neither
  export can choose padding, whose logit has a bias of PADDING_BIAS.
- LayerNorm's epsilon is 1e-6 here and in CTranslate2, always 1e-5 in Hugging Face's Marian: what goes into a LayerNorm
  is STREAM_SCALE times as large there, which makes it 6e-7; sums with the embedding excepted, so the first of a stack.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from transformer.config import END, PADDING, UNKNOWN, ModelConfig
from transformer.data.subwords import Subwords
from transformer.files import InputError, atomic, read_bytes, read_json, write_json, write_lines
from transformer.model.positions import sinusoids
from transformer.model.transformer import Transformer
from transformer.package import Package, PackageConfig, load_package, save_package
from transformer.strict import load, plain
from transformer.training.loop import write_history

POSITIONS = 1024  # longest sentence, in subwords, where positions are sinusoids
TYPICAL_LENGTH = 20  # of an output, in subwords
PADDING_BIAS = -1e4  # within float16
STREAM_SCALE = 4.0  # a power of two, so that weights come back to the bit; the root of 10 would be exact in the epsilon
MARIAN = {  # what our architecture is in Marian's config.json
    "model_type": "marian",
    "activation_function": "relu",
    "scale_embedding": True,
    "pad_token_id": PADDING,
    "decoder_start_token_id": PADDING,
    "eos_token_id": END,
}
MARIAN_DEFAULTS = {  # the same, of keys that may be missing
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
}
SIZES = ("layers", "ffn_dim", "attention_heads")  # that Marian has one of for the encoder, one for the decoder
SELF_ATTENTION = {
    "self_attention.query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "residuals.0.norm": ("self_attn_layer_norm",),
}
FEED_FORWARD = {"position_wise.inner": ("fc1",), "position_wise.outer": ("fc2",)}
LAYERS = {  # our modules of a layer, and Marian's
    "encoder": {**SELF_ATTENTION, **FEED_FORWARD, "residuals.1.norm": ("final_layer_norm",)},
    "decoder": {
        **SELF_ATTENTION,
        "encoder_attention.query": ("encoder_attn.q_proj",),
        "encoder_attention.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
        "encoder_attention.output": ("encoder_attn.out_proj",),
        "residuals.1.norm": ("encoder_attn_layer_norm",),
        **FEED_FORWARD,
        "residuals.2.norm": ("final_layer_norm",),
    },
}
READERS = ("query_key_value", "query", "key_value", "inner")  # linear maps whose input is the residual stream
README = """\
# {config.model}, {config.source} to {config.target}

A Transformer of "Attention Is All You Need" (arXiv 1706.03762), trained on {corpus} ({description}; {licence});
exported from a package whose config.json is package.json here.

    {usage}

Beam search differs. Ours ranks by log P / ((5 + length) / 6)^{config.decoding.alpha}, this one by
log P / length^length_penalty: near n subwords, a length_penalty of {config.decoding.alpha} n / (n + 5) ranks as ours
does, {penalty:.2f} at n = {typical}. Ours ends a hypothesis whose end is among the best 2 x beam candidates of a step,
this one among the best beam. Sentences have at most {positions} subwords.
"""
MARIAN_USAGE = """\
from transformers import MarianMTModel, MarianTokenizer

    model, tokenizer = MarianMTModel.from_pretrained(FOLDER), MarianTokenizer.from_pretrained(FOLDER)
    output = model.generate(**tokenizer(sentences, return_tensors="pt", padding=True))
    print(tokenizer.batch_decode(output, skip_special_tokens=True))"""
CTRANSLATE2_USAGE = """\
import ctranslate2, sentencepiece

    subwords = sentencepiece.SentencePieceProcessor(FOLDER + "/subwords.model")
    translator = ctranslate2.Translator(FOLDER)
    pieces = subwords.encode(sentences, out_type=str)
    results = translator.translate_batch(pieces, beam_size={config.decoding.beam}, length_penalty={penalty:.2f})
    print(subwords.decode([result.hypotheses[0] for result in results]))"""


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path`, renamed to it on success, removed on failure.

    Raises InputError when `path` is there and not an empty folder, or cannot be written.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists and is not an empty folder; choose another")
    temporary = path.absolute().with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); free space or choose another folder"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _load(folder: Path, other: str, positions: tuple[str, ...]) -> Package:
    """A package that `other` can carry; `positions` are the encodings it knows. Raises InputError for others."""
    package = load_package(folder, torch.device("cpu"))
    model, config = package.config.model, package.config.architecture
    reason = None
    if config.attention_over_parameters is not None:
        reason = "attention over parameters in place of feed-forward layers"
    elif not config.d_k * config.h == config.d_v * config.h == config.d_model:
        reason = f"d_k {config.d_k}, d_v {config.d_v}, h {config.h}, and not d_k = d_v = d_model / h"
    elif config.positions not in positions:
        reason = f"{config.positions} positions"
    if reason:
        raise InputError(f"{folder}: {model} has {reason}, which {other} cannot express; use it with this program")
    return package


def _write_common(folder: Path, package: Package, origin: Path, names: tuple[str, ...], usage: str) -> None:
    """README.md, package.json, and of the package in `origin` history.csv and, by `names`, the SentencePiece model."""
    config = package.config
    values = {**config.corpus, "config": config, "positions": _longest(config.architecture), "typical": TYPICAL_LENGTH}
    values["penalty"] = _length_penalty(config.decoding.alpha)
    text = README.format(**values, usage=usage.format(**values))
    write_lines(folder / "README.md", text.splitlines())
    write_json(folder / "package.json", plain(config))
    for name, source in {**dict.fromkeys(names, "subwords.model"), "history.csv": "history.csv"}.items():
        with atomic(folder / name) as stream:
            stream.write(read_bytes(origin / source))


def _longest(config: ModelConfig) -> int:
    return config.max_length if config.positions == "learned" else POSITIONS


def _length_penalty(alpha: float) -> float:
    """The exponent of length that ranks as ((5 + length) / 6)^alpha does near TYPICAL_LENGTH."""
    return alpha * TYPICAL_LENGTH / (TYPICAL_LENGTH + 5)


def _pieces(subwords: Subwords) -> list[str]:
    return [subwords.processor.id_to_piece(i) for i in range(len(subwords))]


def _padding_bias(vocabulary: int) -> Tensor:
    """[N]: what is added to the logits."""
    bias = torch.zeros(vocabulary)
    bias[PADDING] = PADDING_BIAS
    return bias


def _order(d_model: int) -> Tensor:
    """[D]: our dimension at each of Marian's: those of the sines, then those of the cosines."""
    return torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])


def _parts(layers: int) -> Iterator[tuple[str, list[str], int | None, float]]:
    """Each of our tensors, Marian's that are its parts, which axis of it is the residual stream, and its scale."""
    yield "embedding", ["model.shared.weight"], 1, 1.0
    for stack, modules in LAYERS.items():
        for i in range(layers):
            for ours, theirs in modules.items():
                beside_embedding = i == 0 and ours.startswith("self_attention")
                before_logits = (stack, i, ours) == ("decoder", layers - 1, "residuals.2.norm")
                scale = 1.0 if beside_embedding or before_logits else STREAM_SCALE
                reads = ours.split(".")[-1] in READERS
                how = ((1, 1 / scale), (None, 1.0)) if reads else ((0, scale), (0, scale))
                for kind, (axis, factor) in zip(("weight", "bias"), how, strict=True):
                    names = [f"model.{stack}.layers.{i}.{name}.{kind}" for name in theirs]
                    yield f"{stack}.{i}.{ours}.{kind}", names, axis, factor


def _marian_weights(weights: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Our weights under Marian's names, in Marian's order and scale; and the bias of the logits."""
    order = _order(config.d_model)
    result: dict[str, Tensor] = {}
    for ours, theirs, axis, factor in _parts(config.N):
        tensor = weights[ours] if axis is None else weights[ours].index_select(axis, order)
        result.update(zip(theirs, (tensor * factor).chunk(len(theirs)), strict=True))
    result["model.shared.weight"][PADDING] = 0
    result["final_logits_bias"] = _padding_bias(len(weights["embedding"]))[None]
    return result


def to_marian(folder: Path, output: Path) -> None:
    """Write a package as a folder that `MarianMTModel` and `MarianTokenizer` of Transformers load.

    Raises InputError for a package that Marian cannot express, as `load_package` does, and when `output` has files.
    """
    package = _load(folder, "Marian", ("sinusoidal",))
    architecture, decoding = package.config.architecture, package.config.decoding
    with _new_folder(output) as temporary:
        sizes = dict(zip(SIZES, (architecture.N, architecture.d_ff, architecture.h), strict=True))
        config = {
            "architectures": ["MarianMTModel"],
            **MARIAN,
            **MARIAN_DEFAULTS,
            **{f"{stack}_{size}": value for stack in LAYERS for size, value in sizes.items()},
            "d_model": architecture.d_model,
            "vocab_size": package.config.vocabulary,
            "decoder_vocab_size": package.config.vocabulary,
            "max_position_embeddings": POSITIONS,
            "dropout": architecture.P_drop,
            "attention_dropout": 0.0,
            "activation_dropout": 0.0,
            "bos_token_id": None,
            "forced_eos_token_id": None,
            "dtype": "float32",
        }
        write_json(temporary / "config.json", config)
        generation = {
            "pad_token_id": PADDING,
            "decoder_start_token_id": PADDING,
            "eos_token_id": END,
            "max_length": POSITIONS,
            "num_beams": decoding.beam,
            "length_penalty": _length_penalty(decoding.alpha),
        }
        write_json(temporary / "generation_config.json", generation)
        weights = _marian_weights(package.model.state_dict(), architecture)
        with atomic(temporary / "model.safetensors") as stream:
            stream.write(safetensors.torch.save(weights, {"format": "pt"}))
        pieces = _pieces(package.subwords)
        write_json(temporary / "vocab.json", {piece: i for i, piece in enumerate(pieces)})
        tokenizer = {
            "tokenizer_class": "MarianTokenizer",
            "source_lang": package.config.source,
            "target_lang": package.config.target,
            "model_max_length": POSITIONS,
            **dict(zip(("pad_token", "eos_token", "unk_token"), pieces, strict=False)),
        }
        write_json(temporary / "tokenizer_config.json", tokenizer)
        names = ("source.spm", "target.spm")
        _write_common(temporary, package, folder, names, MARIAN_USAGE)


def to_ctranslate2(folder: Path, output: Path) -> None:
    """Write a package as a model of CTranslate2, in float32.

    Raises InputError as `to_marian` does, and when CTranslate2 is not installed.
    """
    try:
        from ctranslate2.specs import TransformerSpec
    except ImportError as error:
        raise InputError("CTranslate2 is not installed; pip install 'ctranslate2>=4.8'") from error
    package = _load(folder, "CTranslate2", ("sinusoidal", "learned"))
    architecture = package.config.architecture
    weights = package.model.state_dict()
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
    spec.decoder.projection.bias = _padding_bias(len(embedding)).numpy()
    spec.decoder.start_from_zero_embedding = True
    for part, positions in (
        (spec.encoder, package.model.source_positions),
        (spec.decoder, package.model.target_positions),
    ):
        part.position_encodings.encodings = positions(_longest(architecture)).detach().numpy()
    pieces = _pieces(package.subwords)
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.eos_token = spec.config.bos_token = spec.config.decoder_start_token = pieces[END]
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-6
    spec.validate()
    spec.optimize()
    with _new_folder(output) as temporary:
        spec.save(os.fspath(temporary))
        _write_common(temporary, package, folder, ("subwords.model",), CTRANSLATE2_USAGE)


def _marian_architecture(path: Path) -> tuple[ModelConfig, int]:
    """Architecture and vocabulary size of Marian's config.json. Raises InputError naming the key that is not ours."""
    config = read_json(path)

    def demand(key: str, what: str, holds: bool) -> None:
        if not holds:
            raise InputError(f"{path}: {key} is {json.dumps(config.get(key))}, not {what}; it cannot be imported")

    for key, value in {**MARIAN, **MARIAN_DEFAULTS}.items():
        demand(key, json.dumps(value), config.get(key, MARIAN_DEFAULTS.get(key)) == value)
    encoder_sizes = [f"encoder_{size}" for size in SIZES]
    for key in (*encoder_sizes, "d_model", "vocab_size", "max_position_embeddings"):
        demand(key, "a number above 0", type(config.get(key)) is int and config[key] > 0)
    for key in encoder_sizes:
        other = key.replace("encoder", "decoder")
        demand(other, f"that of the encoder, {config[key]}", config.get(other) == config[key])
    vocabulary = config["vocab_size"]
    demand("decoder_vocab_size", f"vocab_size, {vocabulary}", config.get("decoder_vocab_size") in (None, vocabulary))
    layers, d_ff, h = (config[key] for key in encoder_sizes)
    demand("d_model", f"a multiple of the {h} heads", config["d_model"] % h == 0)
    values = {
        "N": layers,
        "d_model": config["d_model"],
        "d_ff": d_ff,
        "h": h,
        "d_k": config["d_model"] // h,
        "d_v": config["d_model"] // h,
        "P_drop": config.get("dropout", 0.1),
        "positions": "sinusoidal",
        "max_length": config["max_position_embeddings"],
    }
    return load(ModelConfig, values, str(path)), vocabulary


def _our_weights(path: Path, architecture: ModelConfig, vocabulary: int) -> dict[str, Tensor]:
    """The weights of Marian's model.safetensors. Raises InputError naming the tensor that ours cannot have."""
    try:
        tensors = {name: tensor.float() for name, tensor in safetensors.torch.load(read_bytes(path)).items()}
    except SafetensorError as error:
        raise InputError(f"{path}: damaged ({error}); copy it again") from error
    order = _order(architecture.d_model)
    wanted = _marian_weights(Transformer(architecture, vocabulary).state_dict(), architecture)
    tensors.setdefault("final_logits_bias", wanted["final_logits_bias"])
    for name, tensor in wanted.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            got = list(tensors[name].shape) if name in tensors else "missing"
            raise InputError(f"{path}: {name} is {got}, expected shape {list(tensor.shape)}; it cannot be imported")
    embedding, bias = tensors["model.shared.weight"], tensors["final_logits_bias"][0].clone()
    copies = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    tables = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
    table = sinusoids(architecture.max_length, architecture.d_model)[:, order]
    for name in tensors.keys() - wanted.keys():
        if name in copies and torch.equal(tensors[name], embedding):
            continue
        if name in tables and tensors[name].shape == table.shape and torch.allclose(tensors[name], table, atol=1e-4):
            continue
        raise InputError(
            f"{path}: {name} is neither a part of our model nor a copy of one (the shared embedding, sinusoids); "
            "it cannot be imported"
        )
    bias[PADDING] = 0
    for name, row in (("final_logits_bias", bias), ("model.shared.weight, row of padding,", embedding[PADDING])):
        if row.any():
            largest = row[row.abs().argmax()].item()
            raise InputError(f"{path}: {name} has {largest:g}, not 0 alone; it cannot be imported")
    weights = {}
    for ours, theirs, axis, factor in _parts(architecture.N):
        tensor = torch.cat([tensors[name] for name in theirs]) / factor
        weights[ours] = tensor if axis is None else tensor.index_select(axis, order.argsort())
    return weights


def from_marian(folder: Path, output: Path) -> None:
    """Write a package from a Marian folder of Transformers, one that `to_marian` has written or another.

    Raises InputError naming file, key and value of what our model cannot be, and when `output` has files.
    """
    architecture, vocabulary = _marian_architecture(folder / "config.json")
    weights = _our_weights(folder / "model.safetensors", architecture, vocabulary)
    if read_bytes(folder / "source.spm") != read_bytes(folder / "target.spm"):
        raise InputError(f"{folder / 'target.spm'}: another model than source.spm; only one for both can be imported")
    subwords = Subwords(folder / "source.spm")
    special = (subwords.processor.pad_id(), subwords.processor.eos_id(), subwords.processor.unk_id())
    if special != (PADDING, END, UNKNOWN):
        raise InputError(
            f"{folder / 'source.spm'}: padding, end and unknown are {special}, not {PADDING, END, UNKNOWN}; "
            "it cannot be imported"
        )
    ids = {piece: i for i, piece in enumerate(_pieces(subwords))}
    if len(ids) != vocabulary or read_json(folder / "vocab.json") != ids:
        raise InputError(f"{folder / 'vocab.json'}: other ids than those of source.spm; it cannot be imported")
    origin = folder / "package.json"
    if origin.is_file():
        values = read_json(origin)
    else:
        languages = read_json(folder / "tokenizer_config.json")
        values = {
            "task": "marian",
            "kind": "translation",
            "model": "marian",
            "seed": 0,
            "source": str(languages.get("source_lang")),
            "target": str(languages.get("target_lang")),
            "decoding": {"beam": 4, "alpha": 0.6, "extra": 50},
            "averaged": (),
            "corpus": {
                "corpus": "unknown text",
                "description": "imported",
                "licence": "unknown licence",
                "pairs": {"train": 0},
            },
            "training": {
                "parameters": sum(tensor.numel() for tensor in weights.values()),
                "steps": 0,
                "left_out": 0,
                "longest_pair": 0,
                "target_tokens": 0,
                "seconds": 0.0,
                "flops": 0.0,
                "devices": 1,
                "device": "unknown device",
                "precision": "unknown precision",
                "config_sha256": "unknown",
                "software": {"commit": "unknown"},
            },
        }
    values |= {"architecture": plain(architecture), "vocabulary": vocabulary, "sha256": {}}
    config = load(PackageConfig, values, str(origin))
    with _new_folder(output) as temporary:
        history = folder / "history.csv"
        if not history.is_file():
            history = temporary / history.name
            write_history(history, [])
        save_package(temporary, vars(config), weights, folder / "source.spm", history)
