from collections import defaultdict

import pytest
import torch
import torch.nn.functional as F
from small_networks import RECURRENT as CONFIG
from small_networks import drawn, output, recurrent
from torch import nn

from transformer.model.recurrent import Memory, SourceAttention
from transformer.support.device import compile_in_place


@pytest.fixture
def model():
    return recurrent()


@pytest.mark.agreement(witness="other papers")
@torch.no_grad()
def test_attention_over_the_source_follows_bahdanaus_equation():
    torch.manual_seed(3)
    attention, x, encoded = SourceAttention(16), torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    bias = torch.zeros(2, 1, 4)
    bias[1, :, 3] = -torch.inf
    memory = Memory(attention.key(encoded), encoded, bias)
    context = attention(x, memory)
    for b, t in ((0, 0), (0, 4), (1, 2)):
        scores = [
            float(attention.score.weight[0] @ torch.tanh(attention.query(x[b, t]) + attention.key(encoded[b, s])))
            for s in range(4 - b)
        ]
        weights = torch.tensor(scores).softmax(0)
        torch.testing.assert_close(context[b, t], weights @ encoded[b, : 4 - b])


def test_the_network_is_neither_compiled_nor_recorded_on_a_gpu(model):
    compile_in_place(model, CONFIG.d_model)
    assert model._compiled_call_impl is None
    assert model.host_syncs


@pytest.mark.agreement(witness="other papers")
@torch.no_grad()
def test_the_output_is_that_of_the_published_layers(model):
    (source, *_), (target, *_) = (drawn(side) for side in (0, 1))

    def through(lstm, x):
        return nn.LSTM.forward(lstm, x)[0]

    x = model.embed(source[None])
    y = torch.cat([through(model.forwards, x), through(model.backwards, x.flip(1)).flip(1)], -1)
    for i, layer in enumerate(model.encoder):
        y = through(layer, y) + (y if i else 0)
    memory = Memory(model.attention.key(y), y, torch.zeros(1, 1, len(source)))
    fed, context = F.pad(model.embed(target[None, :-1]), (0, 0, 1, 0)), torch.zeros(1, 0, CONFIG.d_model)
    for i in range(len(target)):  # the first layer reads the context of one position before
        z = through(model.decoder[0], torch.cat([fed[:, : i + 1], F.pad(context, (0, 0, 1, 0))], -1))
        context = model.attention(z, memory)
    for i, layer in enumerate(model.decoder[1:]):
        z = through(layer, torch.cat([z, context], -1)) + (z if i else 0)
    torch.testing.assert_close(output(model, source[None], target[None]), z)


def test_dropout_acts_on_the_input_of_every_lstm_in_training_only(model):
    zeros = defaultdict(list)  # the share of zeros in each input of each LSTM; the first of the decoder has one a step
    for lstm in (each for each in model.modules() if isinstance(each, nn.LSTM)):
        lstm.register_forward_pre_hook(lambda lstm, given: zeros[lstm].append((given[0] == 0).float().mean()))
    model.dropout.p = 0.9
    for training in (False, True):
        zeros.clear()
        model.train(training)
        output(model, drawn(0)[1][None], drawn(1)[1][None])
        assert len(zeros) == 2 * CONFIG.N + 1
        assert all((torch.stack(shares).mean() > 0.75) == training for shares in zeros.values())
