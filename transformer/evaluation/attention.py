"""Attention weights of a trained model: between subwords, and between words (figures 3 to 5)."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from transformer.decoding.translate import check_lengths
from transformer.model.ids import END
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.masks import Rows
from transformer.model.transformer import Transformer
from transformer.package.loading import Package
from transformer.support.files import InputError
from transformer.trees.symbols import split_words

Kind = Literal["encoder", "decoder", "encoder-decoder"]  # the three attentions of section 3.2.3


def chosen_layer(package: Package, layer: int | None) -> int:
    """`layer`, by default the last but one as in figures 3 to 5.

    Raises InputError when the model has no such layer, or is not a Transformer.
    """
    config = package.config.architecture
    if config.network != "transformer":
        raise InputError(
            f"{package.config.model} is a {config.network} network, whose encoder has no self-attention; "
            "name a Transformer"
        )
    if layer is None:
        return max(1, config.N - 1)
    if not 1 <= layer <= config.N:
        raise InputError(
            f"layer {layer}: {package.config.model} has attention in layers 1 to {config.N}; choose one of these"
        )
    return layer


@torch.inference_mode()
def weights_of_all(model: Transformer, source: Sequence[int], target: Sequence[int]) -> dict[Kind, Tensor]:
    """Weights [layer, head, query, key] of each of a Transformer's attentions, for one pair of sentences.

    The sentences are ids that the end of sentence closes. A decoder's query is the position that a target id is
    predicted at. In decoder self-attention, key 0 is the start and key j > 0 is target id j - 1.
    """
    rows = [Rows.of(torch.tensor([ids], device=model.embedding.device)) for ids in (source, target)]
    encoder, decoder = cast(Iterable[EncoderLayer], model.encoder), cast(Iterable[DecoderLayer], model.decoder)
    kinds: dict[Kind, list[nn.Module]] = {
        "encoder": [layer.self_attention.attend for layer in encoder],
        "decoder": [layer.self_attention.attend for layer in decoder],
        "encoder-decoder": [layer.encoder_attention.attend for layer in decoder],
    }
    weights = dict[nn.Module, Tensor]()

    def note(attend: Any, given: tuple[Any, ...]) -> None:
        weights[attend] = attend.weights(*given)

    with ExitStack() as hooks:
        for attend in chain.from_iterable(kinds.values()):
            hooks.enter_context(attend.register_forward_pre_hook(note))
        model(*rows)
    return {kind: torch.cat([weights[attend] for attend in modules]) for kind, modules in kinds.items()}


@dataclass(frozen=True)
class WordAttention:
    """Weights [head][query][key] between the words of a sentence, its end counted as one."""

    source: str
    words: list[str]
    weights: list[list[list[float]]]


@torch.inference_mode()
def word_attention(package: Package, sentence: str, layer: int, number: int = 1) -> WordAttention:
    """Encoder self-attention in `layer`, counted from 1, between the words of a sentence (`split_words`).

    The weight to a word is the sum over its subwords; the weight from a word is the mean (Clark et al. 2019).
    Words without subwords are left out, and a message says so. Messages call the sentence by its `number`. Raises
    InputError when it has no words or too many, and those of `chosen_layer`.
    """
    layer = chosen_layer(package, layer)
    words = split_words(sentence)
    [ids] = package.subwords.encode([" ".join(words)])
    if len(ids) == 1:
        raise InputError("a sentence without words has no attention; give one with words")
    check_lengths(package, [len(ids)], number, "sentence")
    places = torch.tensor([*package.subwords.words_of_pieces(words), len(words)])
    read, places = places.unique(return_inverse=True)
    if unread := len(words) + 1 - len(read):
        print(f"sentence {number}: {unread} of {len(words)} words have no subwords and are left out", file=sys.stderr)
    membership = torch.nn.functional.one_hot(places).float()  # [subwords, words]
    weights = weights_of_all(cast(Transformer, package.model), ids, [END])["encoder"][
        layer - 1
    ].cpu()  # [heads, subwords, subwords]
    mean = membership / membership.sum(0)
    between = mean.t() @ weights @ membership
    words = [[*words, "<EOS>"][place] for place in read.tolist()]
    return WordAttention(sentence, words, [[[round(w, 6) for w in q] for q in h] for h in between.tolist()])


def attention_record(package: Package, lines: Sequence[str], layer: int | None) -> dict[str, Any]:
    """`word_attention` of several sentences in `chosen_layer`. Raises the InputErrors of both."""
    layer = chosen_layer(package, layer)
    sentences = [asdict(word_attention(package, sentence, layer, number)) for number, sentence in enumerate(lines, 1)]
    return {"layer": layer, "layers": package.config.architecture.N, "sentences": sentences}
