"""Small networks, and pairs of sentences for them: alone, padded, and in rows."""

import dataclasses
from functools import partial

import torch
from torch import nn

from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.model.convolutional import Convolutional
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.recurrent import Recurrent
from transformer.model.transformer import Transformer

V = 20
LENGTHS = ((7, 3), (5, 6), (2, 1), (1, 8))  # of source and target of each pair
SIZES = {"d_model": 16, "d_ff": 1, "h": 1, "d_k": 1, "d_v": 1, "P_drop": 0.1}
CONVOLUTIONAL = ModelConfig(N=3, positions="learned", max_length=9, network="convolutional", **SIZES)
RECURRENT = ModelConfig(N=4, positions="sinusoidal", max_length=1, network="recurrent", **SIZES)

TRANSFORMER = ModelConfig(
    N=2, d_model=32, d_ff=64, h=4, d_k=8, d_v=8, P_drop=0.1, positions="sinusoidal", max_length=16
)
VARIANTS = {
    "base": {},
    "one head": {"h": 1, "d_k": 32, "d_v": 32},
    "32 heads": {"h": 32, "d_k": 1, "d_v": 1},
    "d_k below d_v": {"d_k": 3, "d_v": 8},
    "d_k above d_v": {"d_k": 8, "d_v": 3},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "T5's positions": {"positions": "t5"},
    "ALiBi": {"positions": "alibi", "h": 3},
    "rotary positions": {"positions": "rotary", "d_k": 6},
    "unscaled attention": {"attention": "unscaled"},
    "additive attention": {"attention": "additive"},
    "attention over parameters": {"attention_over_parameters": AttentionOverParametersConfig(2, 4, 6, 24)},
}


def transformer(**changes):
    torch.manual_seed(1)
    return Transformer(dataclasses.replace(TRANSFORMER, **changes), V)


def convolutional():
    torch.manual_seed(1)
    model = Convolutional(CONVOLUTIONAL, V).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:  # zeros would hide what a bias does
            nn.init.normal_(parameter, std=0.5)
    return model


def recurrent():
    torch.manual_seed(1)
    return Recurrent(RECURRENT, V).eval()


NETWORKS = {
    "recurrent": recurrent,
    "convolutional": convolutional,
    **{name: partial(transformer, **changes) for name, changes in VARIANTS.items()},
}


def output(model, source, target):
    """The model's output for rows of ids."""
    return model(Rows.of(source), Rows.of(target))


def drawn(side):
    """The sentences of one side, each closed by its end."""
    generator = torch.Generator().manual_seed(2 + side)
    return [
        torch.cat([torch.randint(3, V, (pair[side] - 1,), generator=generator), torch.tensor([END])])
        for pair in LENGTHS
    ]


def padded(sentences):
    return nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=PADDING)


def rows(side):
    """All sentences in two rows: the first three with padding after them, and the last."""
    sentences = drawn(side)
    return padded([torch.cat([*sentences[:3], torch.full((2,), PADDING)]), sentences[3]])


def alone(model):
    """The output for each pair, one pair at a time."""
    return [output(model, source[None], target[None])[0] for source, target in zip(drawn(0), drawn(1), strict=True)]


def in_rows(model):
    """The output for each pair, all pairs together in rows."""
    y, lengths = output(model, rows(0), rows(1)), [target for _, target in LENGTHS]
    return [*y[0].split([*lengths[:3], y.size(1) - sum(lengths[:3])])[:3], y[1, : lengths[3]]]
