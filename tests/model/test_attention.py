import itertools
from typing import get_args

import pytest
import torch
import torch.nn.functional as F

from transformer.model.attention import (
    AdditiveAttention,
    AttentionOverParameters,
    DotProductAttention,
    EncoderDecoderAttention,
    SelfAttention,
    attention,
    attention_function,
    attention_weights,
    join_heads,
    split_heads,
    xavier_linear,
)
from transformer.model.cache import KeysValues, LayerCache
from transformer.model.config import Attention, ModelConfig
from transformer.model.masks import Mask


def causal(length):
    """The mask of one sentence of a decoder."""
    return Mask(torch.ones(1, length, length, dtype=torch.bool).tril())


def first(*lengths, of):
    """The mask of sentences that read only the first of their keys."""
    return Mask(torch.stack([torch.arange(of) < length for length in lengths])[:, None])


def config(d_model, h, d_k, d_v, kind="scaled", dropout=0.0):
    return ModelConfig(1, d_model, 1, h, d_k, d_v, 0.0, "none", 1, attention=kind, attention_dropout=dropout)


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize("bias", [None, causal(7).bias, first(2, 2, of=7).bias])
@pytest.mark.parametrize(("d_k", "d_v"), [(16, 16), (3, 8), (1, 1)])
def test_attention_equals_that_of_pytorch(bias, d_k, d_v):
    q, k, v = draw(2, 3, 7, d_k), draw(2, 3, 7, d_k) + 1, draw(2, 3, 7, d_v)
    mask = bias.double() if bias is not None else None
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), mask, scale=0.3)
    torch.testing.assert_close(attention(q, k, v, bias, 0.3), expected.float())


def test_bfloat16_attends_with_float32_weights():
    q = draw(1, 1, 3, 4).bfloat16()
    assert attention_weights(q, q, None, 0.5).dtype == torch.float32
    assert attention(q, q, q, None, 0.5).dtype == torch.bfloat16


def test_joining_heads_undoes_splitting_them():
    x = draw(2, 5, 12)
    heads = split_heads(x, 3)
    assert heads.shape == (2, 3, 5, 4)
    assert torch.equal(heads[:, 1], x[:, :, 4:8])
    assert torch.equal(join_heads(heads), x)


def test_a_linear_map_has_glorot_uniform_weights_and_zero_biases():
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


@pytest.mark.agreement(witness="equations of the paper")
def test_self_attention_follows_the_papers_equation_for_multiple_heads():
    layer, x, mask = SelfAttention(config(12, h=3, d_k=5, d_v=2)), draw(2, 6, 12), causal(6)
    q, k, v = layer.query_key_value(x).split([15, 15, 6], -1)
    torch.testing.assert_close(layer(x, mask), layer.output(heads_one_by_one(q, k, v, 3, mask.bias[:, 0])))


@pytest.mark.agreement(witness="equations of the paper")
def test_encoder_decoder_attention_follows_the_papers_equation_for_multiple_heads():
    layer, x, memory = EncoderDecoderAttention(config(12, h=3, d_k=5, d_v=2)), draw(2, 4, 12), draw(2, 6, 12)
    mask = first(6, 3, of=6)
    k, v = layer.key_value(memory).split([15, 6], -1)
    expected = layer.output(heads_one_by_one(layer.query(x), k, v, 3, mask.bias[:, 0]))
    torch.testing.assert_close(layer(x, layer.keys_values(memory), mask), expected)


@pytest.mark.agreement(witness="other papers")
@pytest.mark.parametrize("share", [0.5, 1.0], ids=["some keys hidden", "all keys shown"])
def test_additive_attention_follows_bahdanaus_equation(share):
    attend, q, kv = AdditiveAttention(3, 4), draw(2, 3, 5, 4), KeysValues(draw(2, 3, 7, 4), draw(2, 3, 7, 6))
    shown = torch.rand(2, 5, 7, generator=torch.Generator().manual_seed(1)) < share
    shown[..., 0] = True
    more, scores = draw(2, 3, 5, 7), torch.empty(2, 3, 5, 7)
    mask = Mask(shown, more)
    for b, h, t, s in itertools.product(*map(range, scores.shape)):
        scores[b, h, t, s] = sum(attend.vector[h] * torch.tanh(q[b, h, t] + kv.keys[b, h, s]))
    weights = torch.softmax((scores + more).masked_fill(~shown[:, None], -torch.inf), -1)
    torch.testing.assert_close(attend(q, kv, mask), weights @ kv.values)
    torch.testing.assert_close(attend.weights(q, kv, mask), weights)


def test_the_vectors_of_additive_attention_have_glorot_s_limit():
    vector, limit = AdditiveAttention(50, 64).vector, (6 / 65) ** 0.5
    assert 0.99 * limit < vector.abs().max() <= limit


@pytest.mark.parametrize("kind", get_args(Attention))
def test_dropout_acts_on_attention_s_weights_in_training_only(kind):
    p, attend, mask = 0.25, attention_function(config(8, 2, 4, 4, kind, 0.25)), first(40, of=40)
    q, kv = draw(3, 2, 40, 4).requires_grad_(), KeysValues(draw(3, 2, 40, 4), torch.eye(40).expand(3, 2, 40, 40))
    weights = attend.weights(q, kv, mask).detach()
    torch.testing.assert_close(attend.eval()(q, kv, mask).detach(), weights)
    dropped = attend.train()(q, kv, mask).detach()  # the values show the weights
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.02)
    torch.testing.assert_close(dropped[dropped > 0], weights[dropped > 0] / (1 - p))


def test_unscaled_attention_lacks_only_the_root_of_d_k():
    q, kv, mask = draw(2, 3, 6, 4), KeysValues(draw(2, 3, 6, 4) + 1, draw(2, 3, 6, 2)), causal(6)
    scaled, unscaled = (attention_function(config(12, 3, 4, 4, kind)) for kind in ("scaled", "unscaled"))
    torch.testing.assert_close(unscaled(q, kv, mask), scaled(2 * q, kv, mask))


def test_with_a_cache_self_attention_writes_from_its_place_on_and_reads_what_the_mask_shows():
    layer, x = SelfAttention(config(8, h=2, d_k=3, d_v=5)), draw(2, 4, 8)
    cache, before = LayerCache(), KeysValues(draw(2, 2, 9, 3), draw(2, 2, 9, 5))
    cache.kept, cache.places = KeysValues(*(each.clone() for each in before)), 9
    shown = torch.zeros(2, 2, 9, dtype=torch.bool)
    shown[:, 0, [1, 4, 7]] = shown[:, 1, [8]] = True
    with torch.no_grad():
        for i, place in enumerate((1, 4)):
            cache.place = place
            layer(x[:, i : i + 1], first(9, of=9), cache=cache)
        cache.place = 7
        y = layer(x[:, 2:], Mask(shown), cache=cache)
    torch.testing.assert_close(y[:, 0], layer(x[:, :3], causal(3))[:, 2])
    torch.testing.assert_close(y[:, 1], layer(x[:, 3:], causal(1))[:, 0])
    assert torch.equal(cache.kept.keys[:, :, [0, 2, 3, 5, 6]], before.keys[:, :, [0, 2, 3, 5, 6]])


@pytest.mark.agreement(witness="equations of the paper")
def test_attention_over_parameters_follows_the_appendix():
    layer, x = AttentionOverParameters(16, h_p=2, d_pk=3, d_pv=5, n_p=7), draw(2, 4, 16)
    q = layer.query(x).unflatten(-1, (2, 3)).transpose(1, 2)
    keys = layer.memory_keys * 2**0.5  # sqrt(h_p); no 1 / sqrt(d_pk)
    weights = torch.softmax(q @ keys.transpose(-1, -2), -1)
    expected = layer.output((weights @ (layer.memory_values * 4)).transpose(1, 2).flatten(2))  # sqrt(16) = 4
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer(x[:, 1:2]), expected[:, 1:2])  # each position by itself


@pytest.mark.agreement(witness="tensor2tensor")
def test_in_aop1_the_authors_code_and_the_paper_agree():
    layer, x = AttentionOverParameters(16, h_p=4, d_pk=4, d_pv=4, n_p=7), draw(1, 5, 16)
    q = split_heads(layer.query(x), 4)
    kv = KeysValues((layer.memory_keys * 4)[None], (layer.memory_values * 4)[None])
    y = DotProductAttention(4**-0.5)(q, kv, first(7, of=7))  # divides by sqrt(d_pk)
    torch.testing.assert_close(layer(x), layer.output(join_heads(y)))


def test_the_scores_over_parameters_have_unit_variance_at_first():
    """Larger scores would saturate the softmax, as section 3.2.1 says of large d_k."""
    layer, x = AttentionOverParameters(256, h_p=4, d_pk=64, d_pv=64, n_p=300), draw(1, 300, 256)
    scores = layer.h_p**0.5 * split_heads(layer.query(x), 4).detach() @ layer.memory_keys.transpose(-1, -2)
    assert scores.std().item() == pytest.approx(1, rel=0.1)
    assert (layer.memory_values * layer.scale).std().item() == pytest.approx(1, rel=0.1)
