"""Attention weights of a trained model: between subwords, and between words (figures 3 to 5)."""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, cast

import torch
from torch import Tensor

from transformer.decoding.translate import check_lengths
from transformer.model.attention import (
    EncoderDecoderAttention,
    KeysValues,
    SelfAttention,
    sentence_bias,
    sentences,
    split_heads,
)
from transformer.model.ids import END
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.network import Network
from transformer.model.recurrent import Recurrent
from transformer.model.transformer import Transformer
from transformer.package.loading import Package
from transformer.support.files import InputError

WORD_START = "\u2581"
Kind = Literal["encoder", "decoder", "encoder-decoder"]  # the three attentions of section 3.2.3


def layers_and_heads(package: Package) -> tuple[int, int]:
    """How many layers have attention, and how many heads it has; the recurrent network has one attention."""
    sizes = package.config.architecture
    return (sizes.N, sizes.h) if isinstance(package.model, Transformer) else (1, 1)


def chosen_layer(package: Package, layer: int | None) -> int:
    """`layer`, or the last but one, as in figures 3 to 5. Raises InputError when the model has no such layer."""
    layers, _ = layers_and_heads(package)
    if layer is None:
        return max(1, layers - 1)
    if not 1 <= layer <= layers:
        raise InputError(f"layer {layer}: {package.config.model} has attention in layers 1 to {layers}")
    return layer


@torch.inference_mode()
def weights_of_all(model: Network, source: Sequence[int], target: Sequence[int]) -> dict[Kind, Tensor]:
    """Weights [layer, head, query, key] of each kind of attention that the model has (section 3.2.3).

    Both sides are ids that the end of sentence closes. A decoder's query is the position that a target id is predicted
    at. In decoder self-attention, key 0 is the start and key j > 0 is target id j - 1.
    """
    source_1S, target_1T = (torch.tensor([ids], device=model.embedding.device) for ids in (source, target))
    if not isinstance(model, Transformer):
        return {"encoder-decoder": cast(Recurrent, model).last_attention_weights(source_1S, target_1T)}
    found: dict[Kind, list[Tensor]] = {"encoder": [], "decoder": [], "encoder-decoder": []}

    def of_self(kind: Kind, ids: Tensor, attention: SelfAttention, given: tuple[Tensor, Tensor, Tensor | None]) -> None:
        x, bias, turns = given
        if bias.dim() == 5:  # of blocks, where restricted attention cuts a long row
            rows = sentences(ids)
            bias = sentence_bias(rows, rows, kind == "decoder", model.config.attention_radius)
        q, k, _ = attention.project(x, turns)
        found[kind].append(attention.attend.weights(q, k, bias))

    def of_source(attention: EncoderDecoderAttention, given: tuple[Tensor, KeysValues, Tensor]) -> None:
        x, memory, bias = given
        q = split_heads(attention.query(x), attention.h)
        found["encoder-decoder"].append(attention.attend.weights(q, memory.keys, bias))

    with ExitStack() as hooks:
        for reader in cast(Iterable[EncoderLayer], model.encoder):
            hook = partial(of_self, "encoder", source_1S)
            hooks.enter_context(reader.self_attention.register_forward_pre_hook(hook))
        for writer in cast(Iterable[DecoderLayer], model.decoder):
            hook = partial(of_self, "decoder", target_1T)
            hooks.enter_context(writer.self_attention.register_forward_pre_hook(hook))
            hooks.enter_context(writer.encoder_attention.register_forward_pre_hook(of_source))
        model(source_1S, target_1T)
    return {kind: torch.cat(weights) for kind, weights in found.items()}


@dataclass(frozen=True)
class WordAttention:
    """Weights [head][query][key] between the words of a sentence, its end counted as one."""

    source: str
    words: list[str]
    weights: list[list[list[float]]]


@torch.inference_mode()
def word_attention(package: Package, sentence: str, layer: int, number: int = 1) -> WordAttention:
    """Encoder self-attention in `layer`, counted from 1, between the words of a sentence. Blanks separate words.

    The weight to a word is the sum over its subwords, the weight from a word the mean over them (Clark et al. 2019).
    Messages call the sentence by its `number`. Raises InputError when it has no words or too many, or the model has no
    such layer or no self-attention.
    """
    model = package.model
    if not isinstance(model, Transformer):
        raise InputError(
            f"{package.config.model} is a {package.config.architecture.network} network, whose encoder has no "
            "self-attention; name a Transformer, or see its encoder-decoder attention with `attention --html`"
        )
    layer = chosen_layer(package, layer)
    words = sentence.split()
    if not words:
        raise InputError("a sentence without words has no attention; give one with words")
    pieces = package.subwords.pieces(" ".join(words))
    starts = torch.tensor([piece.startswith(WORD_START) for piece in pieces] + [True])
    membership = torch.nn.functional.one_hot(starts.cumsum(0) - 1).float()  # [subwords, words]
    if membership.size(1) != len(words) + 1:
        raise InputError(f"{sentence!r}: its subwords do not keep its words apart; write it in plain characters")
    check_lengths(package, [len(starts)], number, "sentence")
    [ids] = package.subwords.encode([" ".join(words)])
    weights = weights_of_all(model, ids, [END])["encoder"][layer - 1].cpu()  # [heads, subwords, subwords]
    mean = membership / membership.sum(0)
    between = mean.t() @ weights @ membership
    return WordAttention(sentence, [*words, "<EOS>"], [[[round(w, 6) for w in q] for q in h] for h in between.tolist()])


def attention_record(package: Package, lines: Sequence[str], layer: int) -> dict[str, Any]:
    """`word_attention` of several sentences in `layer`, counted from 1."""
    found = [asdict(word_attention(package, sentence, layer, number)) for number, sentence in enumerate(lines, 1)]
    return {"layer": layer, "layers": package.config.architecture.N, "sentences": found}
