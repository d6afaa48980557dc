"""A package as a Marian model of Hugging Face Transformers.

Like our model, Marian is a post-norm Transformer with biases and one scaled embedding matrix. Three things differ:

- Marian puts all sines before all cosines; the paper alternates them. The export reorders the d_model dimensions of
  every weight that reads or writes the residual stream.
- Our decoder starts from a zero vector; Marian's starts from the embedding of padding. The export sets this embedding
  to zero.
- Our LayerNorm has an epsilon of 1e-6; Hugging Face's Marian always has 1e-5. The export makes the inputs of LayerNorm
  STREAM_SCALE times as large, which has the effect of an epsilon of 6e-7. This is impossible for the first LayerNorm
  of a stack, because its input includes the embedding.
"""

from collections.abc import Mapping
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from transformer.export.package import (
    POSITIONS,
    length_exponent,
    load_expressible,
    logit_bias,
    new_folder,
    pieces_of,
    write_common,
)
from transformer.model.config import ModelConfig
from transformer.model.ids import END, PADDING
from transformer.support.files import atomic, write_json

STREAM_SCALE = 4.0  # a power of two, which rounds no weight; the exact factor is sqrt(10)
MARIAN = {  # values in Marian's config.json that describe our architecture
    "architectures": ["MarianMTModel"],
    "model_type": "marian",
    "activation_function": "relu",
    "scale_embedding": True,
    "pad_token_id": PADDING,
    "decoder_start_token_id": PADDING,
    "eos_token_id": END,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "static_position_embeddings": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
}
SIZES = ("layers", "ffn_dim", "attention_heads")  # Marian has each for the encoder and for the decoder
SELF_ATTENTION = {
    "self_attention.query_key_value": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "self_attention.output": ("self_attn.out_proj",),
    "residuals.0.norm": ("self_attn_layer_norm",),
}
FEED_FORWARD = {"position_wise.inner": ("fc1",), "position_wise.outer": ("fc2",)}
LAYERS = {  # the modules of a layer: our names, and Marian's
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
MARIAN_USAGE = """\
from transformers import MarianMTModel, MarianTokenizer

    model, tokenizer = MarianMTModel.from_pretrained(FOLDER), MarianTokenizer.from_pretrained(FOLDER)
    output = model.generate(**tokenizer(sentences, return_tensors="pt", padding=True))
    print(tokenizer.batch_decode(output, skip_special_tokens=True))"""

MARIAN_READS = """\

MarianTokenizer takes <unk>, </s> and <pad> in a sentence, and >>...<< at its start, for symbols of its own. Our
commands read them as ordinary text. It reads all other text as we do.
"""


def marian_weights(weights: Mapping[str, Tensor], config: ModelConfig) -> dict[str, Tensor]:
    """Our weights with Marian's names, order and scale, and the bias of the logits."""
    order = torch.cat([torch.arange(0, config.d_model, 2), torch.arange(1, config.d_model, 2)])  # sines, then cosines
    result = {"model.shared.weight": weights["embedding"].index_select(1, order)}
    for stack, modules in LAYERS.items():
        for i in range(config.N):
            for ours, theirs in modules.items():
                beside_embedding = i == 0 and ours.startswith("self_attention")
                before_logits = (stack, i, ours) == ("decoder", config.N - 1, "residuals.2.norm")
                scale = 1.0 if beside_embedding or before_logits else STREAM_SCALE
                for kind in ("weight", "bias"):
                    tensor = weights[f"{stack}.{i}.{ours}.{kind}"]
                    if ours.split(".")[-1] not in READERS:
                        tensor = tensor.index_select(0, order) * scale
                    elif kind == "weight":
                        tensor = tensor.index_select(1, order) * (1 / scale)
                    names = [f"model.{stack}.layers.{i}.{name}.{kind}" for name in theirs]
                    result.update(zip(names, tensor.chunk(len(theirs)), strict=True))
    result["model.shared.weight"][PADDING] = 0
    result["final_logits_bias"] = logit_bias(len(weights["embedding"]))[None]
    return result


def to_marian(folder: Path, output: Path) -> None:
    """Write a package as a folder that `MarianMTModel` and `MarianTokenizer` of Transformers can load.

    Raises InputError for a package that Marian cannot express and when `output` has files, and the errors of
    `load_package`.
    """
    package = load_expressible(folder, "Marian", ("sinusoidal",))
    architecture, decoding = package.config.architecture, package.config.decoding
    with new_folder(output) as temporary:
        sizes = dict(zip(SIZES, (architecture.N, architecture.d_ff, architecture.h), strict=True))
        config = {
            **MARIAN,
            **{f"{stack}_{size}": value for stack in LAYERS for size, value in sizes.items()},
            "d_model": architecture.d_model,
            "vocab_size": package.config.vocabulary,
            "decoder_vocab_size": package.config.vocabulary,
            "max_position_embeddings": POSITIONS,
            "dropout": architecture.P_drop,
            "attention_dropout": architecture.attention_dropout,
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
            "length_penalty": length_exponent(decoding.alpha),
        }
        write_json(temporary / "generation_config.json", generation)
        weights = marian_weights(package.model.state_dict(), architecture)
        with atomic(temporary / "model.safetensors") as stream:
            stream.write(safetensors.torch.save(weights, {"format": "pt"}))
        pieces = pieces_of(package.subwords)
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
        write_common(temporary, package, folder, names, MARIAN_USAGE, MARIAN_READS)
