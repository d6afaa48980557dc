import dataclasses
import math
from collections import Counter

import pytest
import torch
import torch.nn.functional as F
from small_networks import CONVOLUTIONAL as CONFIG
from small_networks import V, alone, convolutional, drawn, output, rows

from transformer.model.convolutional import Convolutional, Windows
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows


@pytest.fixture
def model():
    return convolutional()


def fairseq(model, source, target):
    """The decoder's output [T, D] for a pair of sentences, written from fairseq's `fconv` and PyTorch's convolutions.

    The start of the output is a vector of zeros, and embeddings and positions are ours.
    """
    half = math.sqrt(0.5)

    def convolved(linear, x, before, after):
        weight = linear.weight.unflatten(1, (3, -1)).transpose(1, 2)  # [2D, K, D] to [2D, D, K]
        a, b = (F.conv1d(F.pad(x.t(), (before, after)), weight) + linear.bias[:, None]).chunk(2)
        return (a * torch.sigmoid(b)).t()

    def embedded(ids, table):
        words = torch.stack([model.embedding[i] if i is not None else torch.zeros(16) for i in ids])
        return 0.1 * math.sqrt(16) * (words + table[: len(ids)])

    e = embedded(source.tolist(), model.source_positions.table)
    x = F.linear(e, model.into_encoder.weight, model.into_encoder.bias)
    for layer in model.encoder:
        x = (convolved(layer.convolution, x, 1, 1) + x) * half
    z = F.linear(x, model.from_encoder.weight, model.from_encoder.bias)
    values = (z + e) * half

    g = embedded([None, *target.tolist()[:-1]], model.target_positions.table)
    y = F.linear(g, model.into_decoder.weight, model.into_decoder.bias)
    for layer in model.decoder:
        residual = y
        y = convolved(layer.convolution.convolution, y, 2, 0)
        d = (F.linear(y, layer.query.weight, layer.query.bias) + g) * half
        context = torch.softmax(d @ z.t(), -1) @ values
        m = len(source)
        context = context * (m * math.sqrt(1 / m))
        y = (F.linear(context, layer.output.weight, layer.output.bias) + y) * half
        y = (y + residual) * half
    return F.linear(y, model.from_decoder.weight, model.from_decoder.bias)


@pytest.mark.agreement(witness="fairseq")
@torch.no_grad()
def test_the_output_is_that_of_the_published_layers(model):
    for found, source, target in zip(alone(model), drawn(0), drawn(1), strict=True):
        torch.testing.assert_close(found, fairseq(model, source, target))


@torch.no_grad()
def test_a_decoder_reads_two_more_subwords_in_each_layer(model):
    model.decoder = model.decoder[:1]
    source, target = drawn(0)[0][None], drawn(1)[3][None]
    changed = target.clone()
    changed[:, 1] = 3 + (changed[:, 1] - 2) % (V - 3)
    differs = (output(model, source, changed) - output(model, source, target)).abs().amax(-1) > 1e-7
    assert differs[0].tolist() == [False, False, True, True, True, False, False, False]


def test_the_forward_pass_has_one_graph_for_all_batches_of_a_shape_and_reads_nothing_from_a_gpu(model):
    assert not model.host_syncs
    graphs = Counter()

    def count(graph, _):
        graphs["made"] += 1
        return graph.forward

    compiled = torch.compile(model, backend=count, fullgraph=True)
    found = [compiled(Rows.of(rows(0).roll(turn, 0)), Rows.of(rows(1).roll(turn, 0))) for turn in (0, 1)]
    assert graphs["made"] == 1
    torch.testing.assert_close(found[0], output(model, rows(0), rows(1)))
    torch.testing.assert_close(found[0], found[1].roll(1, 0))


def test_dropout_acts_on_embeddings_the_inputs_of_convolutions_and_the_output_in_training_only(model):
    inputs = []
    model.dropout.register_forward_hook(lambda *given: inputs.append((given[2] == 0).float().mean()))
    model.dropout.p = 0.9
    for training in (False, True):
        inputs.clear()
        model.train(training)
        output(model, drawn(0)[1][None], drawn(1)[3][None])
        assert len(inputs) == 2 * (1 + CONFIG.N) + 1
        assert all((share > 0.75) == training for share in inputs)


@torch.no_grad()
def test_variances_stay_as_they_are():
    torch.manual_seed(2)
    model = Convolutional(dataclasses.replace(CONFIG, d_model=256, N=12, max_length=40, P_drop=0.0), 1000)
    pair = [Rows.of(torch.randint(3, 1000, (8, 40))) for _ in range(2)]
    given = model.stack_input(model.embed(pair[0].ids), model.source_positions, pair[0].position)
    memory, y = model.memory(pair[0]), model(*pair)
    assert all(0.5 < float(each.std() / given.std()) < 2 for each in (memory.keys, memory.values, y))
    assert float(model.logits(y).std()) < 0.5  # so all subwords are about as likely at first


def test_a_window_has_zeros_where_the_sentence_ends():
    found = Rows.of(torch.tensor([[5, 6, END, 7, END, PADDING]]))
    x = torch.arange(1.0, 7)[None, :, None]
    assert Windows(found, after=1)(x)[0].tolist() == [
        [0, 1, 2], [1, 2, 3], [2, 3, 0], [0, 4, 5], [4, 5, 0], [0, 6, 0]
    ]  # fmt: skip
    assert Windows(found, after=0)(x)[0].tolist() == [
        [0, 0, 1], [0, 1, 2], [1, 2, 3], [0, 0, 4], [0, 4, 5], [0, 0, 6]
    ]  # fmt: skip
