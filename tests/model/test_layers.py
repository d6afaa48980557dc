import dataclasses

import pytest
import torch
import torch.nn.functional as F

from transformer.model.attention import AttentionOverParameters
from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer, FeedForward, Residual, position_wise
from transformer.model.masks import Mask

CONFIG = ModelConfig(N=1, d_model=8, d_ff=16, h=2, d_k=4, d_v=4, P_drop=0.0, positions="sinusoidal", max_length=9)


def normal(x):
    return F.layer_norm(x, x.shape[-1:], eps=1e-6)


@pytest.mark.agreement(witness="equations of the paper")
def test_the_feed_forward_layer_is_equation_2():
    layer, x = FeedForward(8, 16), torch.randn(2, 3, 8)
    inner = (x @ layer.inner.weight.T + layer.inner.bias).clamp(min=0)
    torch.testing.assert_close(layer(x), inner @ layer.outer.weight.T + layer.outer.bias)


@pytest.mark.agreement(witness="equations of the paper")
def test_an_encoder_layer_normalises_after_each_residual():
    layer, x, mask = EncoderLayer(CONFIG), torch.randn(2, 5, 8), Mask(torch.ones(2, 1, 5, dtype=torch.bool))
    y = normal(x + layer.self_attention(x, mask))
    torch.testing.assert_close(layer(x, mask), normal(y + layer.position_wise(y)))


@pytest.mark.agreement(witness="equations of the paper")
def test_a_decoder_layer_normalises_after_each_residual():
    layer, x, source_mask = DecoderLayer(CONFIG), torch.randn(2, 5, 8), Mask(torch.ones(2, 1, 6, dtype=torch.bool))
    causal = Mask(torch.ones(1, 5, 5, dtype=torch.bool).tril())
    memory = layer.encoder_attention.keys_values(torch.randn(2, 6, 8))
    y = normal(x + layer.self_attention(x, causal))
    y = normal(y + layer.encoder_attention(y, memory, source_mask))
    torch.testing.assert_close(layer(x, causal, memory, source_mask), normal(y + layer.position_wise(y)))


def test_dropout_acts_on_the_sub_layer_and_not_on_the_residual_and_only_in_training():
    residual, x, ones = Residual(64, 0.5), torch.randn(4, 64), torch.ones(4, 64)
    assert not torch.allclose(residual(x, ones), normal(x + ones), atol=0.1)
    torch.testing.assert_close(residual(x, 0 * ones), normal(x))
    torch.testing.assert_close(residual.eval()(x, ones), normal(x + ones))


@pytest.mark.agreement(witness="tensor2tensor")
def test_the_epsilon_of_layer_norm_is_that_of_the_authors_code():
    x = 1e-3 * torch.randn(4, 64)  # so small that epsilon counts
    torch.testing.assert_close(Residual(64, 0.0)(x, 0 * x), normal(x))


def test_a_residual_has_the_type_of_the_sub_layer():
    residual, x, y = Residual(6, 0.1), torch.randn(4, 6).requires_grad_(), torch.randn(4, 6).bfloat16()
    output = residual(x, y.requires_grad_())
    output.sum().backward()
    assert (output.dtype, x.grad.dtype, y.grad.dtype) == (torch.bfloat16, torch.float32, torch.bfloat16)
    assert residual.norm.weight.grad.dtype == torch.float32


def test_attention_over_parameters_replaces_the_feed_forward_layer():
    over = dataclasses.replace(CONFIG, attention_over_parameters=AttentionOverParametersConfig(2, 4, 4, 6))
    assert isinstance(position_wise(CONFIG), FeedForward)
    assert isinstance(position_wise(over), AttentionOverParameters)
    assert not any(isinstance(module, FeedForward) for module in DecoderLayer(over).modules())
