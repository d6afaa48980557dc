"""Two small networks besides the Transformer, and pairs of sentences for them: alone, padded, and in rows."""

import torch
from torch import nn

from transformer.model.config import ModelConfig
from transformer.model.convolutional import Convolutional
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.recurrent import Recurrent

V = 20
LENGTHS = ((7, 3), (5, 6), (2, 1), (1, 8))  # of source and target of each pair
SIZES = {"d_model": 16, "d_ff": 1, "h": 1, "d_k": 1, "d_v": 1, "P_drop": 0.1}
CONVOLUTIONAL = ModelConfig(N=3, positions="learned", max_length=9, network="convolutional", **SIZES)
RECURRENT = ModelConfig(N=4, positions="sinusoidal", max_length=1, network="recurrent", **SIZES)


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
