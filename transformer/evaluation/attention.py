"""Attention weights of a trained model: between subwords, and between words (figures 3 to 5)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.decoding.translate import check_lengths
from transformer.model.ids import END
from transformer.model.masks import Rows
from transformer.model.network import Kind, Network
from transformer.package.loading import Package
from transformer.support.files import InputError

WORD_START = "\u2581"


def chosen_layer(package: Package, layer: int | None) -> int:
    """`layer`, or the last but one, as in figures 3 to 5. Raises InputError when the model has no such layer."""
    layers, _ = package.model.layers_and_heads
    if layer is None:
        return max(1, layers - 1)
    if not 1 <= layer <= layers:
        raise InputError(f"layer {layer}: {package.config.model} has attention in layers 1 to {layers}")
    return layer


@torch.inference_mode()
def weights_of_all(model: Network, source: Sequence[int], target: Sequence[int]) -> dict[Kind, Tensor]:
    """`Network.attention_weights` of a pair of sentences, as ids that the end of sentence closes."""
    pair = (torch.tensor([ids], device=model.embedding.device) for ids in (source, target))
    return model.attention_weights(*map(Rows.of, pair))


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
    if "encoder" not in model.attentions:
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
    sentences = [asdict(word_attention(package, sentence, layer, number)) for number, sentence in enumerate(lines, 1)]
    return {"layer": layer, "layers": package.config.architecture.N, "sentences": sentences}
