import itertools

import pytest
import torch
import torch.nn.functional as F

from transformer.model.attention import (
    ATTENTIONS,
    HIDDEN,
    AdditiveAttention,
    AttentionOverParameters,
    EncoderDecoderAttention,
    KeysValues,
    SelfAttention,
    Sentences,
    attention,
    attention_weights,
    heads,
    join_heads,
    padding_bias,
    sentence_bias,
    sentences,
    split_heads,
    xavier_linear,
)


def causal(length):
    """The bias of one sentence of a decoder."""
    sentence = Sentences(torch.zeros(1, length, dtype=torch.long), torch.arange(length)[None])
    return sentence_bias(sentence, sentence, causal=True)[0, 0]


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("bias", [None, causal(7), padding_bias(torch.tensor([[5, 1] + [0] * 5] * 2))])
@pytest.mark.parametrize("scale", [None, 1.0])
@pytest.mark.parametrize(("d_k", "d_v"), [(16, 16), (3, 8), (1, 1)])
def test_attention_equals_that_of_pytorch(bias, scale, d_k, d_v):
    q, k, v = draw(2, 3, 7, d_k), draw(2, 3, 7, d_k) + 1, draw(2, 3, 7, d_v)
    expected = F.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), bias.double() if bias is not None else None, scale=scale
    )
    torch.testing.assert_close(attention(q, k, v, bias, scale), expected.float())


@pytest.mark.parametrize("shape", [None, (1, 2, 5, 5), (1, 1, 5, 5), (1, 2, 1, 5)])
def test_gradients_of_attention_and_of_a_learned_bias_equal_those_of_pytorch(shape):
    ours, theirs = ([draw(1, 2, 5, 4).add(i).requires_grad_() for i in range(3)] for _ in range(2))
    weight = draw(1, 2, 5, 4)
    for each in (ours, theirs):
        each.append(draw(*shape).requires_grad_() if shape else causal(5).requires_grad_())
    (attention(*ours) * weight).sum().backward()
    (F.scaled_dot_product_attention(*theirs) * weight).sum().backward()
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_weights_sum_to_one_and_large_scores_do_not_overflow():
    weights = attention_weights(1e4 * draw(2, 2, 3, 4), draw(2, 2, 6, 4), None, 1.0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 3))


def test_bfloat16_attends_with_float32_weights():
    q = draw(1, 1, 3, 4).bfloat16()
    assert attention_weights(q, q, None, 0.5).dtype == torch.float32
    assert attention(q, q, q).dtype == torch.bfloat16


def test_joining_heads_undoes_splitting_them():
    x = draw(2, 5, 12)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    assert torch.equal(heads[:, 1], x[:, :, 4:8])
    assert torch.equal(join_heads(heads), x)


def test_the_masks_hide_padding_and_later_positions():
    assert (padding_bias(torch.tensor([[4, 1, 0], [4, 5, 1]])).exp() == 0).tolist() == [
        [[[False, False, True]]],
        [[[False, False, False]]],
    ]
    bias = causal(4)
    assert all((bias[i, j] == 0) == (j <= i) for i in range(4) for j in range(4))
    assert not bias.exp()[bias != 0].any()


def test_a_sentence_reads_itself_or_the_sentence_of_the_same_number():
    source, target = torch.tensor([[5, 5, 1, 6, 1]]), torch.tensor([[7, 1, 8, 8, 1, 0, 0]])
    places = sentences(source), sentences(target)
    assert [each.number.tolist() for each in places] == [[[0, 0, 0, 1, 1]], [[0, 0, 1, 1, 1, 2, 2]]]
    assert [each.position.tolist() for each in places] == [[[0, 1, 2, 0, 1]], [[0, 1, 0, 1, 2, 0, 1]]]
    assert (sentence_bias(*places[::-1])[0, 0] == 0).int().tolist() == [
        *[[1, 1, 1, 0, 0]] * 2,
        *[[0, 0, 0, 1, 1]] * 3,
        *[[0, 0, 0, 0, 0]] * 2,
    ]
    assert (sentence_bias(places[0], places[0], causal=True)[0, 0] == 0).int().tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [0, 0, 0, 1, 0],
        [0, 0, 0, 1, 1],
    ]


def test_a_linear_map_has_glorot_uniform_weights_and_zero_biases():
    torch.manual_seed(1)
    linear, limit = xavier_linear(100, 300), (6 / 400) ** 0.5
    assert 0.99 * limit < linear.weight.abs().max() <= limit
    assert linear.weight.mean().abs() < limit / 100
    assert not linear.bias.any()


def heads_one_by_one(q, k, v, h, bias):
    """Equation 1 for each head; then the heads are concatenated (section 3.2.2)."""
    parts = zip(q.chunk(h, -1), k.chunk(h, -1), v.chunk(h, -1), strict=True)
    return torch.cat(
        [torch.softmax(a @ b.transpose(-1, -2) / a.size(-1) ** 0.5 + bias, -1) @ c for a, b, c in parts], -1
    )


def test_self_attention_follows_the_papers_equation_for_multiple_heads():
    layer, x, bias = SelfAttention(12, h=3, d_k=5, d_v=2), draw(2, 6, 12), causal(6)
    q, k, v = layer.query_key_value(x).split([15, 15, 6], -1)
    torch.testing.assert_close(layer(x, bias), layer.output(heads_one_by_one(q, k, v, 3, bias)))


def test_encoder_decoder_attention_follows_the_papers_equation_for_multiple_heads():
    layer, x, memory = EncoderDecoderAttention(12, h=3, d_k=5, d_v=2), draw(2, 4, 12), draw(2, 6, 12)
    ids = torch.tensor([[3, 3, 3, 3, 3, 1], [3, 3, 1, 0, 0, 0]])
    k, v = layer.key_value(memory).split([15, 6], -1)
    expected = layer.output(heads_one_by_one(layer.query(x), k, v, 3, padding_bias(ids)[:, 0]))
    torch.testing.assert_close(layer(x, layer.keys_values(memory), padding_bias(ids)), expected)


def test_additive_attention_follows_bahdanaus_equation():
    layer, q, k, v, bias = (
        AdditiveAttention(3, 4),
        draw(2, 3, 5, 4),
        draw(2, 3, 7, 4),
        draw(2, 3, 7, 6),
        draw(2, 1, 5, 7),
    )
    scores = torch.empty(2, 3, 5, 7)
    for b, h, t, s in itertools.product(*map(range, scores.shape)):
        scores[b, h, t, s] = sum(layer.vector[h] * torch.tanh(q[b, h, t] + k[b, h, s])) + bias[b, 0, t, s]
    torch.testing.assert_close(layer(q, k, v, bias), torch.softmax(scores, -1) @ v)
    torch.testing.assert_close(layer.weights(q, k, bias), torch.softmax(scores, -1))
    assert layer.vector.abs().max() <= (6 / 5) ** 0.5


def test_additive_attention_is_the_same_beside_a_hidden_key():
    attend, q, k = AdditiveAttention(3, 4), draw(2, 3, 5, 4), draw(2, 3, 7, 4)
    alone = attend.weights(q, k[:, :, :6], torch.zeros(1, 1, 1, 6))
    beside = attend.weights(q, k, torch.tensor([0.0] * 6 + [HIDDEN]).view(1, 1, 1, 7))
    torch.testing.assert_close(beside, torch.nn.functional.pad(alone, (0, 1)))


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_dropout_acts_on_attention_s_weights_in_training_only(kind):
    p, attend = 0.25, ATTENTIONS[kind](2, 4, 0.25)
    q, k, values = draw(3, 2, 40, 4).requires_grad_(), draw(3, 2, 40, 4), torch.eye(40).expand(3, 2, 40, 40)
    weights = attend.weights(q, k, torch.zeros(3, 1, 40, 40)).detach()
    torch.testing.assert_close(attend.eval()(q, k, values, torch.zeros(3, 1, 40, 40)).detach(), weights)
    dropped = attend.train()(q, k, values, torch.zeros(3, 1, 40, 40)).detach()  # the values show the weights
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.02)
    torch.testing.assert_close(dropped[dropped > 0], weights[dropped > 0] / (1 - p))


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_a_step_equals_the_last_position_of_the_forward_pass(kind):
    layer, x, memory = EncoderDecoderAttention(12, 3, 4, 2, kind), draw(2, 4, 12), draw(2, 6, 12)
    keys_values, bias = layer.keys_values(memory), padding_bias(torch.tensor([[3] * 6, [3] * 4 + [0] * 2]))
    torch.testing.assert_close(layer.step(x[:, 3:], keys_values, bias), layer(x, keys_values, bias)[:, 3:])


def test_unscaled_attention_lacks_only_the_root_of_d_k():
    layer, x, bias = SelfAttention(12, 3, 4, 2, "unscaled"), draw(2, 6, 12), causal(6)
    q, k, v = layer.project(x)
    torch.testing.assert_close(layer.attend(q, k, v, bias), attention(2 * q, k, v, bias))


def test_a_step_writes_to_the_cache_from_its_place_on_and_reads_what_the_bias_allows():
    layer, x = SelfAttention(8, h=2, d_k=3, d_v=5), draw(2, 4, 8)
    cache, bias = KeysValues(draw(2, 2, 9, 3), draw(2, 2, 9, 5)), torch.full((2, 1, 2, 9), -torch.inf)
    before = cache.keys.clone()
    bias[:, :, 0, [1, 4, 7]] = bias[:, :, 1, [8]] = 0
    for place in (1, 4):
        cache.keys[:, :, place], cache.values[:, :, place] = (part[:, :, place // 4] for part in layer.project(x)[1:])
    y = layer.step(x[:, 2:], cache, 7, bias)
    torch.testing.assert_close(y[:, 0], layer(x[:, :3], causal(3))[:, 2])
    torch.testing.assert_close(y[:, 1], layer(x[:, 3:], causal(1))[:, 0])
    assert torch.equal(cache.keys[:, :, [0, 2, 3, 5, 6]], before[:, :, [0, 2, 3, 5, 6]])


def test_attention_over_parameters_follows_the_appendix():
    layer, x = AttentionOverParameters(16, h_p=2, d_pk=3, d_pv=5, n_p=7), draw(2, 4, 16)
    q = layer.query(x).unflatten(-1, (2, 3)).transpose(1, 2)
    keys = layer.memory_keys * 2**0.5  # sqrt(h_p); no 1 / sqrt(d_pk)
    weights = torch.softmax(q @ keys.transpose(-1, -2), -1)
    expected = layer.output((weights @ (layer.memory_values * 4)).transpose(1, 2).flatten(2))  # sqrt(16) = 4
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer(x[:, 1:2]), expected[:, 1:2])  # each position by itself


def test_in_aop1_the_authors_code_and_the_paper_agree():
    layer, x = AttentionOverParameters(16, h_p=4, d_pk=4, d_pv=4, n_p=7), draw(1, 5, 16)
    q = split_heads(layer.query(x), 4)
    y = attention(q, (layer.memory_keys * 4)[None], (layer.memory_values * 4)[None])  # divides by sqrt(d_pk)
    torch.testing.assert_close(layer(x), layer.output(join_heads(y)))


def test_the_scores_over_parameters_have_unit_variance_at_first():
    """Larger scores would saturate the softmax, as section 3.2.1 says of large d_k."""
    torch.manual_seed(1)
    layer, x = AttentionOverParameters(256, h_p=4, d_pk=64, d_pv=64, n_p=300), draw(1, 300, 256)
    scores = layer.h_p**0.5 * split_heads(layer.query(x), 4).detach() @ layer.memory_keys.transpose(-1, -2)
    assert scores.std().item() == pytest.approx(1, rel=0.1)


def test_heads_and_their_gradients_equal_those_of_split_heads():
    sizes, x = (6, 6, 9), draw(2, 5, 21).requires_grad_()
    ours, wanted = heads(x, 3, sizes), [split_heads(part, 3) for part in x.split(sizes, -1)]
    gradients = [draw(*each.shape) for each in wanted]
    torch.testing.assert_close(list(ours), wanted)
    torch.testing.assert_close(torch.autograd.grad(ours, x, gradients), torch.autograd.grad(wanted, x, gradients))


@pytest.mark.parametrize("bias", [causal(7), padding_bias(torch.tensor([[5, 1] + [0] * 5] * 2))])
def test_attention_is_the_same_with_and_without_gradients(bias):
    q, k, v = draw(2, 3, 7, 4), draw(2, 3, 7, 4) + 1, draw(2, 3, 7, 5)
    torch.testing.assert_close(attention(q.clone().requires_grad_(), k, v, bias), attention(q, k, v, bias))
