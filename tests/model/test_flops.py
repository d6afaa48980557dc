import dataclasses

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from transformer.model import recurrent
from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.model.flops import forward_flops
from transformer.model.networks import network
from transformer.model.positions import ENCODINGS
from transformer.model.transformer import Transformer

SIZES = {"N": 3, "d_model": 8, "d_ff": 24, "h": 2, "d_k": 3, "d_v": 5, "P_drop": 0.1}
PLAIN = ModelConfig(**SIZES, positions="sinusoidal", max_length=20)
OVER = ModelConfig(
    **SIZES, positions="learned", max_length=20, attention_over_parameters=AttentionOverParametersConfig(2, 4, 6, 7)
)
RECURRENT = ModelConfig(**SIZES, positions="sinusoidal", max_length=20, network="recurrent")
EVEN = dataclasses.replace(PLAIN, d_k=4)  # rotary positions need pairs


def counted(config, pairs, source, target):
    model = network(config, 30).double()  # in float32 an LSTM is one oneDNN operation, which PyTorch does not count
    with FlopCounterMode(display=False) as counter:
        model.logits(model(torch.full((pairs, source), 5), torch.full((pairs, target), 5)))
    return counter.get_total_flops()


@pytest.mark.parametrize(
    "config",
    [PLAIN, OVER, RECURRENT, dataclasses.replace(PLAIN, attention="additive")]
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


def test_a_beam_repeats_the_decoder_and_not_the_encoder():
    """In beam search all hypotheses of a sentence share one encoded source."""
    model = Transformer(PLAIN, 30)
    source, target = torch.ones(2, 6, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.logits(model(source, target))
    with FlopCounterMode(display=False) as encoder:
        model.memory(model.encode(source)[0])
    decoder = counter.get_total_flops() - encoder.get_total_flops()
    beam = forward_flops(PLAIN, 30, np.array([[6, 5]] * 2), hypotheses=7)
    assert beam == encoder.get_total_flops() + 7 * decoder


def test_the_cost_of_restricted_self_attention_grows_linearly_with_the_length():
    restricted = dataclasses.replace(PLAIN, attention_radius=4)

    def flops(config, length):
        return forward_flops(config, 30, np.array([[length, 1]]))

    assert flops(restricted, 9) == flops(PLAIN, 9)
    assert flops(restricted, 400) - flops(restricted, 300) == flops(restricted, 300) - flops(restricted, 200)
    assert flops(PLAIN, 300) - flops(restricted, 300) == 2 * 3 * 300 * (300 - 9) * 2 * (3 + 5)


def test_training_costs_three_times_as_much():
    model = Transformer(PLAIN, 30)
    ids = torch.ones(2, 6, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model.logits(model(ids, ids)).sum().backward()
    assert 3 * forward_flops(PLAIN, 30, np.array([[6, 6]] * 2)) == pytest.approx(counter.get_total_flops(), rel=0.02)


@pytest.mark.parametrize(("attention", "scored"), [("scaled", 300), ("additive", 150.5)])
def test_in_a_restricted_decoder_a_position_reads_itself_and_those_before_it(attention, scored):
    whole = dataclasses.replace(PLAIN, attention=attention)
    restricted = dataclasses.replace(whole, attention_radius=4)

    def flops(config, length):
        return forward_flops(config, 30, np.array([[1, length]]))

    assert flops(restricted, 5) == flops(whole, 5)
    saved = (scored - 5) * 2 * 3 + (300 - 5) * 2 * 5  # of keys and of values
    assert flops(whole, 300) - flops(restricted, 300) == 2 * 3 * 300 * saved
