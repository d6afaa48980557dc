import dataclasses

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from transformer.decoding.beam import beam_search
from transformer.decoding.sampling import sample
from transformer.model import restricted
from transformer.model.attention import SelfAttention, own_bias, sentence_bias, sentences
from transformer.model.config import ModelConfig
from transformer.model.ids import END
from transformer.model.transformer import Transformer

CONFIG = ModelConfig(N=2, d_model=8, d_ff=16, h=2, d_k=3, d_v=5, P_drop=0.0, positions="sinusoidal", max_length=40)
# The last sentence of the first row has no end.
ROWS = torch.tensor([[5] * 9 + [1] + [6] * 12 + [1] + [7] * 13, [4] * 35 + [1]])


def toy(radius, seed=0):
    torch.manual_seed(seed)
    model = Transformer(dataclasses.replace(CONFIG, attention_radius=radius), 9).eval()
    model.embedding.data *= 3
    return model


@pytest.fixture
def cut_early(monkeypatch):
    """Make blocks small and cut short rows, too."""
    monkeypatch.setattr(restricted, "SMALLEST", 2)
    monkeypatch.setattr(restricted, "LONG", 0)


@pytest.mark.parametrize("causal", [False, True])
def test_a_position_reads_only_its_sentence_and_no_farther_than_the_radius(causal):
    rows = sentences(ROWS)
    bias = sentence_bias(rows, rows, causal, radius=2)
    for row, number in enumerate(rows.number.tolist()):
        for i, j in torch.cartesian_prod(torch.arange(36), torch.arange(36)).tolist():
            read = number[i] == number[j] and abs(i - j) <= 2 and (j <= i or not causal)
            assert (bias[row, 0, i, j] == 0) == read


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("radius", [1, 2, 5, 35, 50])
@pytest.mark.usefixtures("cut_early")
def test_attention_in_blocks_equals_attention_with_a_mask(causal, radius):
    layer, rows = SelfAttention(8, h=2, d_k=3, d_v=5), sentences(ROWS)
    x, weight = torch.randn(2, 2, 36, 8).unbind()
    gradients = []
    for bias in (own_bias(rows, causal, radius), sentence_bias(rows, rows, causal, radius)):
        given = x.clone().requires_grad_()
        (layer(given, bias) * weight).sum().backward()
        gradients.append((given.grad, layer(x, bias), [parameter.grad.clone() for parameter in layer.parameters()]))
        layer.zero_grad()
    assert own_bias(rows, causal, radius).dim() == 5
    torch.testing.assert_close(*gradients)


def test_short_rows_are_not_cut():
    assert own_bias(sentences(ROWS), radius=3).shape == (2, 1, 36, 36)
    assert own_bias(sentences(ROWS.repeat(1, 4)), radius=3).shape == (2, 9, 1, 16, 48)
    assert own_bias(sentences(ROWS.repeat(1, 4)), radius=20).shape == (2, 1, 144, 144)


def test_a_radius_beyond_the_sentences_restricts_nothing():
    (whole, wide), target = (toy(None), toy(35)), ROWS.flip(1)
    torch.testing.assert_close(whole(ROWS, target), wide(ROWS, target))
    assert not torch.allclose(whole(ROWS, target), toy(3)(ROWS, target))


def test_a_subword_changes_outputs_only_within_the_radius_times_the_layers():
    model, other = toy(3), ROWS[1:].clone()
    other[0, 20] = 5
    near = (torch.arange(36) - 20).abs() <= 2 * 3
    encoded, changed = (model.encode(rows)[0][0] for rows in (ROWS[1:], other))
    torch.testing.assert_close(encoded[~near], changed[~near])
    assert (encoded[near] != changed[near]).any(1).all()


@pytest.mark.parametrize("search", ["beam", "sampling"])
@pytest.mark.parametrize("seed", range(4))
def test_decoding_with_the_cache_equals_the_forward_pass(monkeypatch, search, seed):
    monkeypatch.setattr("transformer.decoding.cache.FULL", 6)
    model, source = toy(2, seed), torch.tensor([[3, 4, 5, 6, 7, 1], [8, 3, 1, 0, 0, 0]])
    logits = model.logits
    model.logits = lambda y: logits(y) - 9 * torch.nn.functional.one_hot(torch.tensor(END), 9)  # sentences get long
    if search == "beam":
        found = beam_search(model, source, 3, 0.0, 9)
    else:
        found = [[each] for each in sample(model, source, 9, [np.random.default_rng(i) for i in range(2)])]
    for row, hypotheses in zip(source, found, strict=True):
        for ids, score in hypotheses:
            target = torch.tensor([ids + [END] * (len(ids) < (row != 0).sum() + 9)])
            logp = model.logits(model(row[row != 0][None], target)).log_softmax(-1)
            assert logp.gather(-1, target[:, :, None]).sum().item() == pytest.approx(score, rel=1e-4)
            assert len(ids) > 3


@pytest.mark.parametrize("radius", [0, -3])
def test_a_radius_that_reads_nothing_is_refused(radius):
    with pytest.raises(ValidationError, match=r"attention_radius\n.*greater than 0"):
        dataclasses.replace(CONFIG, attention_radius=radius)
