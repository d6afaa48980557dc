import dataclasses

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from transformer.model import recurrent
from transformer.model.config import ENCODINGS, AttentionOverParametersConfig, ModelConfig
from transformer.model.flops import forward_flops
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.model.transformer import Transformer

SIZES = {"N": 3, "d_model": 8, "d_ff": 24, "h": 2, "d_k": 3, "d_v": 5, "P_drop": 0.1}
PLAIN = ModelConfig(**SIZES, positions="sinusoidal", max_length=20)
OVER = ModelConfig(
    **SIZES, positions="learned", max_length=20, attention_over_parameters=AttentionOverParametersConfig(2, 4, 6, 7)
)
RECURRENT = ModelConfig(**SIZES, positions="sinusoidal", max_length=20, network="recurrent")
CONVOLUTIONAL = ModelConfig(**SIZES, positions="learned", max_length=20, network="convolutional")
EVEN = dataclasses.replace(PLAIN, d_k=4)  # rotary positions need pairs


def counted(config, pairs, source, target):
    model = network(config, 30).double()  # in float32 an LSTM is one oneDNN operation, which PyTorch does not count
    with FlopCounterMode(display=False) as counter:
        model.logits(model(*(Rows.of(torch.full((pairs, length), 5)) for length in (source, target))))
    return counter.get_total_flops()


@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize(
    "config",
    [PLAIN, OVER, RECURRENT, CONVOLUTIONAL, dataclasses.replace(PLAIN, attention="additive")]
    + [pytest.param(dataclasses.replace(EVEN, positions=name), id=name) for name in ENCODINGS],
)
@pytest.mark.parametrize(("pairs", "source", "target"), [(1, 1, 1), (4, 9, 5), (2, 3, 11)])
def test_the_flops_equal_those_that_pytorch_counts(config, pairs, source, target, monkeypatch):
    monkeypatch.setattr(recurrent, "UNITS", (1, 1))  # no padding
    assert forward_flops(config, 30, np.array([[source, target]] * pairs)) == counted(config, pairs, source, target)


def test_pairs_add_up_and_padding_costs_nothing():
    lengths = np.array([[9, 5], [3, 11], [1, 1]], np.int64)
    single = sum(forward_flops(PLAIN, 30, lengths[i : i + 1]) for i in range(3))
    assert forward_flops(PLAIN, 30, lengths) == single


@pytest.mark.agreement(witness="PyTorch")
def test_a_beam_repeats_the_decoder_and_not_the_encoder():
    """In beam search all hypotheses of a sentence share one encoded source."""
    model = Transformer(PLAIN, 30)
    source, target = torch.ones(2, 6, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.logits(model(Rows.of(source), Rows.of(target)))
    with FlopCounterMode(display=False) as encoder:
        model.memory(model.encode(Rows.of(source)))
    decoder = counter.get_total_flops() - encoder.get_total_flops()
    beam = forward_flops(PLAIN, 30, np.array([[6, 5]] * 2), hypotheses=7)
    assert beam == encoder.get_total_flops() + 7 * decoder


@pytest.mark.agreement(witness="PyTorch")
def test_training_costs_three_times_as_much():
    model = Transformer(PLAIN, 30)
    ids = torch.ones(2, 6, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.logits(model(Rows.of(ids), Rows.of(ids))).sum().backward()
    assert 3 * forward_flops(PLAIN, 30, np.array([[6, 6]] * 2)) == pytest.approx(counter.get_total_flops(), rel=0.02)
