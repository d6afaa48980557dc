"""Attention between words (figures 3 to 5), from the model's attention between subwords."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from transformer.decoding.translate import check_lengths
from transformer.model.transformer import Transformer
from transformer.package.package import Package
from transformer.support.files import InputError

WORD_START = "\u2581"


@dataclass(frozen=True)
class WordAttention:
    """Weights [head][query][key] between the words of a sentence, its end counted as one."""

    source: str
    words: list[str]
    weights: list[list[list[float]]]


@torch.inference_mode()
def word_attention(package: Package, sentence: str, layer: int) -> WordAttention:
    """Encoder self-attention in `layer`, counted from 1, between the words of a sentence, told apart by blanks.

    To a word: the sum over its subwords; from a word: the mean over them (Clark et al. 2019). Raises InputError
    when the sentence has no words or too many, or the model no such layer or no self-attention.
    """
    architecture, model = package.config.architecture, package.model
    if not isinstance(model, Transformer):
        raise InputError(
            f"{package.config.model} is a {architecture.network} network, whose encoder has no self-attention; "
            "name a Transformer, or see what it translates from with `translate --attention`"
        )
    if not 1 <= layer <= architecture.N:
        raise InputError(f"layer {layer}: the encoder of {package.config.model} has layers 1 to {architecture.N}")
    words = sentence.split()
    if not words:
        raise InputError("a sentence without words has no attention; give one with words")
    pieces = package.subwords.pieces(" ".join(words))
    starts = torch.tensor([piece.startswith(WORD_START) for piece in pieces] + [True])
    membership = torch.nn.functional.one_hot(starts.cumsum(0) - 1).float()  # [subwords, words]
    if membership.size(1) != len(words) + 1:
        raise InputError(f"{sentence!r}: its subwords do not keep its words apart; write it in plain characters")
    check_lengths(package, [len(starts)])
    ids = torch.tensor(package.subwords.encode([" ".join(words)]), device=model.embedding.device)
    weights = model.encoder_attention_weights(ids, layer)[0].cpu()  # [heads, subwords, subwords]
    mean = membership / membership.sum(0)
    between = mean.t() @ weights @ membership
    return WordAttention(sentence, [*words, "<EOS>"], [[[round(w, 6) for w in q] for q in h] for h in between.tolist()])


def attention_record(package: Package, sentences: Sequence[str], layer: int | None = None) -> dict[str, Any]:
    """`word_attention` of several sentences, by default in the last layer but one, as figures 3 to 5 show it."""
    layers = package.config.architecture.N
    layer = max(1, layers - 1) if layer is None else layer
    found = [asdict(word_attention(package, sentence, layer)) for sentence in sentences]
    return {"layer": layer, "layers": layers, "sentences": found}
