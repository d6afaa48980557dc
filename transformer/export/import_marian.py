"""A Marian model of Hugging Face Transformers as a package."""

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError
from torch import Tensor

from transformer.export.marian import MARIAN, MARIAN_DEFAULTS, SIZES, marian_order, marian_parts, marian_weights
from transformer.export.package import logit_bias, new_folder, pieces_of
from transformer.model.config import ModelConfig
from transformer.model.ids import END, PADDING, UNKNOWN
from transformer.model.positions import sinusoids
from transformer.model.transformer import Transformer
from transformer.package.config import SECTION_6_1, PackageConfig
from transformer.package.making import save_package
from transformer.support.files import InputError, read_bytes, read_json
from transformer.support.strict import load, plain
from transformer.text.subwords import Subwords
from transformer.training.history import write_history

UNKNOWN_TEXT: dict[str, Any] = {"corpus": "unknown text", "description": "imported", "licence": "unknown licence"}
UNKNOWN_TEXT["pairs"] = {"train": 0}
NOTHING_KNOWN = {  # about a training
    **dict.fromkeys(("steps", "left_out", "longest_pair", "target_tokens"), 0),
    **dict.fromkeys(("seconds", "flops"), 0.0),
    "devices": 1,
    "device": "unknown device",
    "precision": "unknown precision",
    "config_sha256": "unknown",
    "software": {"commit": "unknown"},
}


def _marian_architecture(path: Path) -> tuple[ModelConfig, int]:
    """Architecture and vocabulary size in Marian's config.json. Raises InputError for a value that ours cannot have."""
    config = read_json(path)

    def demand(key: str, what: str, holds: bool) -> None:
        if not holds:
            raise InputError(
                f"{path}: {key} is {json.dumps(config.get(key))}, not {what}; this model cannot be imported"
            )

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
    width = config["d_model"] // h
    values = {"N": layers, "d_model": config["d_model"], "d_ff": d_ff, "h": h, "d_k": width, "d_v": width}
    values |= {"P_drop": config.get("dropout", 0.1), "attention_dropout": config.get("attention_dropout", 0.0)}
    values |= {"positions": "sinusoidal", "max_length": config["max_position_embeddings"]}
    return load(ModelConfig, values, str(path)), vocabulary


def _our_weights(path: Path, architecture: ModelConfig, vocabulary: int) -> dict[str, Tensor]:
    """Our weights from Marian's model.safetensors. Raises InputError for a tensor that our model cannot have."""
    try:
        tensors = {name: tensor.float() for name, tensor in safetensors.torch.load(read_bytes(path)).items()}
    except SafetensorError as error:
        raise InputError(f"{path}: damaged ({error}); copy it again") from error
    if len(tensors) < architecture.N:  # building so many layers could take for ever
        raise InputError(
            f"{path}: has {len(tensors)} tensors, too few for {architecture.N} layers; this model cannot be imported"
        )
    with torch.device("meta"):  # only the shapes are needed; a wrong config.json may ask for more than the memory holds
        wanted = marian_weights(Transformer(architecture, vocabulary).state_dict(), architecture)
    if wanted.keys() - tensors.keys() == {"final_logits_bias"}:
        tensors["final_logits_bias"] = logit_bias(len(tensors["model.shared.weight"]))[None]
    for name, tensor in wanted.items():
        if name not in tensors or tensors[name].shape != tensor.shape:
            got = list(tensors[name].shape) if name in tensors else "missing"
            raise InputError(
                f"{path}: {name} is {got}, expected shape {list(tensor.shape)}; this model cannot be imported"
            )
    _check_further(path, tensors, wanted.keys(), architecture)
    _check_zeros(path, tensors)
    order = marian_order(architecture.d_model)
    weights = {}
    for ours, theirs, axis, factor in marian_parts(architecture.N):
        tensor = torch.cat([tensors[name] for name in theirs]) / factor
        weights[ours] = tensor if axis is None else tensor.index_select(axis, order.argsort())
    return weights


def _check_further(path: Path, tensors: Mapping[str, Tensor], wanted: Set[str], architecture: ModelConfig) -> None:
    """Raises InputError for a tensor besides those that are wanted, unless it is the embedding or sinusoids again."""
    copies = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
    tables = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
    table = sinusoids(architecture.max_length, architecture.d_model)[:, marian_order(architecture.d_model)]
    for name in tensors.keys() - wanted:
        if name in copies and torch.equal(tensors[name], tensors["model.shared.weight"]):
            continue
        if name in tables and tensors[name].shape == table.shape and torch.allclose(tensors[name], table, atol=1e-4):
            continue
        raise InputError(
            f"{path}: {name} is neither a part of our model nor a copy of one (the shared embedding, sinusoids); "
            "this model cannot be imported"
        )


def _check_zeros(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Raises InputError if logits have a bias besides that of padding, or if the embedding of padding is not zero."""
    bias = tensors["final_logits_bias"][0].clone()
    bias[PADDING] = 0
    padding = tensors["model.shared.weight"][PADDING]
    for name, row in (("final_logits_bias", bias), ("model.shared.weight (row of padding)", padding)):
        if row.any():
            largest = row[row.abs().argmax()].item()
            raise InputError(f"{path}: {name} must be all 0, but has {largest:g}; this model cannot be imported")


def _put_padding(embedding: Tensor, row: Any, path: Path) -> None:
    """Restore the row of padding that `to_marian` saved in package.json. Raises InputError when it is malformed."""
    try:
        embedding[PADDING] = torch.tensor(row)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{path}: `padding` must be a list of {embedding.size(1)} numbers; export the package again"
        ) from error


def from_marian(folder: Path, output: Path) -> None:
    """Write a package from a folder with a Marian model of Transformers, written by `to_marian` or by others.

    Raises InputError when `output` has files, and for a model that ours cannot express; the error names the file, the
    key and the value.
    """
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: has no config.json; name a folder that save_pretrained of Transformers wrote")
    architecture, vocabulary = _marian_architecture(folder / "config.json")
    weights = _our_weights(folder / "model.safetensors", architecture, vocabulary)
    if read_bytes(folder / "source.spm") != read_bytes(folder / "target.spm"):
        raise InputError(
            f"{folder / 'target.spm'}: differs from source.spm, but our models share one; this model cannot be imported"
        )
    subwords = Subwords(folder / "source.spm")
    special = (subwords.processor.pad_id(), subwords.processor.eos_id(), subwords.processor.unk_id())
    if special != (PADDING, END, UNKNOWN):
        raise InputError(
            f"{folder / 'source.spm'}: the ids of padding, end and unknown are {special}, not {PADDING, END, UNKNOWN}; "
            "this model cannot be imported"
        )
    ids = {piece: i for i, piece in enumerate(pieces_of(subwords))}
    if len(ids) != vocabulary or read_json(folder / "vocab.json") != ids:
        raise InputError(f"{folder / 'vocab.json'}: its ids are not those of source.spm; this model cannot be imported")
    origin = folder / "package.json"
    if origin.is_file():
        values = read_json(origin)
        _put_padding(weights["embedding"], values.pop("padding", None), origin)
    else:
        languages = read_json(folder / "tokenizer_config.json")
        sides = {side: str(languages.get(f"{side}_lang")) for side in ("source", "target")}
        values = {"task": "marian", "kind": "translation", "model": "marian", "seed": 0, **sides}
        training = {"parameters": sum(tensor.numel() for tensor in weights.values()), **NOTHING_KNOWN}
        values |= {"decoding": plain(SECTION_6_1), "averaged": (), "corpus": UNKNOWN_TEXT, "training": training}
    values |= {"architecture": plain(architecture), "vocabulary": vocabulary, "sha256": {}}
    config = load(PackageConfig, values, str(origin))
    with new_folder(output) as temporary:
        history = folder / "history.csv"
        if not history.is_file():
            history = temporary / history.name
            write_history(history, [])
        save_package(temporary, vars(config), weights, folder / "source.spm", history)
