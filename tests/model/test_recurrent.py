import dataclasses
from collections import defaultdict

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import nn

from transformer.model.config import ModelConfig
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.recurrent import Memory, Recurrent, SourceAttention
from transformer.support.device import compile_in_place

CONFIG = ModelConfig(
    N=4, d_model=16, d_ff=1, h=1, d_k=1, d_v=1, P_drop=0.1, positions="sinusoidal", max_length=1, network="recurrent"
)
V = 20
LENGTHS = ((7, 3), (5, 6), (2, 1), (1, 4))  # of source and target of each pair


@pytest.fixture
def model():
    torch.manual_seed(1)
    return Recurrent(CONFIG, V).eval()


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


def test_sentences_in_rows_have_the_same_output_and_gradients_as_one_at_a_time(model):
    gradients = []
    outputs = [alone(model), in_rows(model)]
    for one, other in zip(*outputs, strict=True):
        torch.testing.assert_close(one, other)
    for found in outputs:
        model.zero_grad()
        model.logits(torch.cat(found)).logsumexp(-1).square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
    for one, other in zip(*gradients, strict=True):
        assert one.any()
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_an_output_depends_on_its_whole_source_and_on_the_target_before_it(model):
    source, target = drawn(0)[0][None], drawn(1)[1][None]
    before = output(model, source, target)
    for i in range(source.size(1)):
        changed = source.clone()
        changed[:, i] = 3 + (changed[:, i] - 2) % (V - 3)
        assert ((output(model, changed, target) - before).abs() > 1e-7).any(-1).all()
    for i in range(target.size(1)):
        changed = target.clone()
        changed[:, i] = 3 + (changed[:, i] - 2) % (V - 3)
        after = output(model, source, changed)
        torch.testing.assert_close(after[:, : i + 1], before[:, : i + 1])
        assert not any(torch.allclose(after[:, later], before[:, later]) for later in range(i + 1, target.size(1)))


@torch.no_grad()
def test_decoding_step_by_step_equals_the_forward_pass(model):
    sources = drawn(0)[:3]
    width, target = 2, torch.randint(3, V, (3, 2, 6), generator=torch.Generator().manual_seed(5))
    whole = output(model, padded([source for source in sources for _ in range(width)]), target.flatten(0, 1))
    growing = model.begin(padded(sources))
    found = [growing.logits(None).expand(-1, width, -1)]
    growing.follow(torch.zeros(3, width, dtype=torch.long))
    for i in range(1, 6):
        found.append(growing.logits(target[:, :, i - 1]))
    torch.testing.assert_close(torch.stack(found, 2).flatten(0, 1), model.logits(whole), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_states_follow_the_chosen_hypotheses_and_the_kept_sentences(model):
    sources, tokens = drawn(0)[:3], torch.tensor([[3, 4], [5, 6], [7, 8]])

    def after(rows, origin, more):
        growing = model.begin(padded([sources[row] for row in rows]))
        growing.logits(None)
        growing.follow(torch.zeros(len(rows), 2, dtype=torch.long))
        growing.logits(tokens[rows])
        growing.follow(origin)
        return growing, more

    growing, more = after([0, 1, 2], torch.tensor([[1, 0], [1, 1], [0, 1]]), torch.tensor([[9, 9], [9, 10], [11, 9]]))
    growing.select(torch.tensor([1, 2]))
    found = growing.logits(more[1:])
    for row, tokens_before, token in ((0, [6], 9), (0, [6], 10), (1, [7], 11), (1, [8], 9)):
        target = torch.tensor([[*tokens_before, token, 3]])
        wanted = model.logits(output(model, sources[row + 1][None], target))[0, 2]
        assert any(torch.allclose(each, wanted, atol=1e-5) for each in found[row])


@pytest.mark.agreement(witness="other papers")
@torch.no_grad()
def test_attention_over_the_source_follows_bahdanaus_equation(model):
    torch.manual_seed(3)
    attention, x, encoded = SourceAttention(16), torch.randn(2, 5, 16), torch.randn(2, 4, 16)
    bias = torch.zeros(2, 1, 4)
    bias[1, :, 3] = -torch.inf
    memory = Memory(attention.key(encoded), encoded, bias)
    read = attention(x, memory)
    for b, t in ((0, 0), (0, 4), (1, 2)):
        scores = [
            float(attention.score.weight[0] @ torch.tanh(attention.query(x[b, t]) + attention.key(encoded[b, s])))
            for s in range(4 - b)
        ]
        weights = torch.tensor(scores).softmax(0)
        torch.testing.assert_close(read[b, t], weights @ encoded[b, : 4 - b])
    pair = (Rows.of(padded(drawn(side))) for side in (0, 1))
    weights = model.attention_weights(*pair)["encoder-decoder"]
    assert weights.shape == (4, 1, 6, 7)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4, 1, 6))
    assert not weights[2, :, :, 2:].any()


def test_bfloat16_is_close_to_float32(model):
    exact = output(model, rows(0), rows(1))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model.logits(output(model, rows(0), rows(1)))
    torch.testing.assert_close(rounded.float(), model.logits(exact), rtol=0.1, atol=0.02)
    rounded.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() and parameter.grad.any() for parameter in model.parameters())


def test_the_network_is_neither_compiled_nor_recorded_on_a_gpu(model):
    compile_in_place(model, CONFIG.d_model)
    assert model._compiled_call_impl is None
    assert model.waits


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"N": 1}, "1 is too few layers; a recurrent network needs 2 or more"),
        ({"positions": "learned"}, "does not use learned positions; leave this key at sinusoidal"),
        *(
            ({field: value}, "a recurrent network does not use it; remove this key")
            for field, value in (("attention", "additive"), ("attention_dropout", 0.1))
        ),
    ],
)
def test_what_is_impossible_in_a_recurrent_network_is_a_fault(changes, fault):
    with pytest.raises(ValidationError, match=fault):
        dataclasses.replace(CONFIG, **changes)


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
    fed, read = F.pad(model.embed(target[None, :-1]), (0, 0, 1, 0)), torch.zeros(1, 0, CONFIG.d_model)
    for i in range(len(target)):  # the first layer reads what attention read one position before
        z = through(model.decoder[0], torch.cat([fed[:, : i + 1], F.pad(read, (0, 0, 1, 0))], -1))
        read = model.attention(z, memory)
    for i, layer in enumerate(model.decoder[1:]):
        z = through(layer, torch.cat([z, read], -1)) + (z if i else 0)
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
