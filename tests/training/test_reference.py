"""The batched model and its loss against the paper's equations, which this file computes pair by pair, head by head."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from transformer.model.ids import END
from transformer.model.masks import Rows
from transformer.model.transformer import Transformer
from transformer.support.device import compile_in_place
from transformer.text.batches import Batch
from transformer.training.loss import batch_loss
from workflow.experiment.config import read_experiment

VOCABULARY, EPS_LS = 90, 0.1
SENTENCES = [(9, 12), (17, 3), (1, 1), (30, 24)]  # subwords of source and target
PARSES = [(40, 150), (61, 230)]
ROWS = {  # of the tables: model and lengths
    "base": ("base", SENTENCES),
    "one head": ("A-h1", SENTENCES),
    "32 heads": ("A-h32", SENTENCES),
    "d_k below d_v": ("B-dk16", SENTENCES),
    "learned positions": ("E-learned", SENTENCES),
    "no positions": ("E-none", SENTENCES),
    "T5's positions": ("E-t5", SENTENCES),
    "ALiBi": ("E-alibi", SENTENCES),
    "rotary positions": ("E-rotary", SENTENCES),
    "attention over parameters": ("aop1", SENTENCES),
    "parser": ("parser", PARSES),
}
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def normalised(x, w, name):
    """LayerNorm."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt() * w[f"{name}.weight"] + w[f"{name}.bias"]


def linear(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def attended(q, k, v, bias):
    """Equation 1 for each head, joined. `bias` is added to the scores [heads, queries, keys]."""
    heads = []
    for q_head, k_head, v_head, own in zip(*(x.chunk(len(bias), 1) for x in (q, k, v)), bias, strict=True):
        heads.append((q_head @ k_head.T / math.sqrt(q_head.size(1)) + own).softmax(-1) @ v_head)
    return torch.cat(heads, 1)


def bucket(behind, causal):
    """T5's bucket for a key: a half of the buckets hold one distance each, the others widen up to 128."""
    buckets, far = (32, max(behind, 0)) if causal else (16, abs(behind))
    exact = buckets // 2
    wide = exact + int(exact * math.log(max(far, exact) / exact) / math.log(128 / exact) + 1e-9)
    return (far if far < exact else min(wide, buckets - 1)) + 16 * (behind < 0 and not causal)


def relative(w, config, length, causal):
    """What self-attention adds to its scores: what the encoding says of each distance, and -infinity to later keys."""
    behind = torch.arange(length)[:, None] - torch.arange(length)
    bias = torch.zeros(config.h, length, length).double()
    if config.positions == "t5":
        buckets = torch.tensor([[bucket(each, causal) for each in row] for row in behind.tolist()])
        bias = w[f"{'target' if causal else 'source'}_positions.table"][buckets].permute(2, 0, 1)
    if config.positions == "alibi":
        bias = torch.stack([-behind.abs().double() / 2 ** (8 * head / config.h) for head in range(1, config.h + 1)])
    return bias.masked_fill(behind < 0, -math.inf) if causal else bias


def turned(x, config):
    """RoFormer: a pair of a head's elements is a complex number, and each position turns it further."""
    if config.positions != "rotary":
        return x
    angles = torch.arange(len(x))[:, None] / 10000 ** (torch.arange(0, config.d_k, 2).double() / config.d_k)
    pairs = torch.view_as_complex(x.unflatten(1, (config.h, -1, 2)))
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)[:, None]).flatten(1)


def sub_layers(x, w, layer, config, causal, memory=None):
    """One layer: self-attention, attention to the encoder's output if it is given, position-wise feed-forward."""
    keys, values = config.h * config.d_k, config.h * config.d_v
    q, k, v = linear(x, w, f"{layer}.self_attention.query_key_value").split([keys, keys, values], 1)
    y = attended(turned(q, config), turned(k, config), v, relative(w, config, len(x), causal))
    x = normalised(x + linear(y, w, f"{layer}.self_attention.output"), w, f"{layer}.residuals.0.norm")
    if memory is not None:
        q = linear(x, w, f"{layer}.encoder_attention.query")
        k, v = linear(memory, w, f"{layer}.encoder_attention.key_value").split([keys, values], 1)
        y = attended(q, k, v, torch.zeros(config.h, len(x), len(memory)))
        x = normalised(x + linear(y, w, f"{layer}.encoder_attention.output"), w, f"{layer}.residuals.1.norm")
    name = f"{layer}.position_wise"
    if parameters := config.attention_over_parameters:
        scale, heads = math.sqrt(config.d_model), []
        for i, q in enumerate(linear(x, w, f"{name}.query").chunk(parameters.h_p, 1)):
            k, v = w[f"{name}.memory_keys"][i] * math.sqrt(parameters.h_p), w[f"{name}.memory_values"][i] * scale
            heads.append((q @ k.T).softmax(-1) @ v)
        y = linear(torch.cat(heads, 1), w, f"{name}.output")
    else:
        y = linear(linear(x, w, f"{name}.inner").relu(), w, f"{name}.outer")
    return normalised(x + y, w, f"{layer}.residuals.{1 if memory is None else 2}.norm")


def positions(w, side, length, config):
    """What is added to the embeddings."""
    if config.positions == "learned":
        return w[f"{side}_positions.table"][:length] * math.sqrt(config.d_model)
    if config.positions != "sinusoidal":
        return 0
    angles = [[p / 10000 ** (2 * (i // 2) / config.d_model) for i in range(config.d_model)] for p in range(length)]
    return torch.tensor([[math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(row)] for row in angles]).double()


def reference(w, config, pairs):
    """The summed smoothed cross-entropy, computed pair by pair."""
    total = 0
    for source, target in pairs:
        x = w["embedding"][source] * math.sqrt(config.d_model) + positions(w, "source", len(source), config)
        for i in range(config.N):
            x = sub_layers(x, w, f"encoder.{i}", config, causal=False)
        shifted = torch.cat([torch.zeros(1, config.d_model).double(), w["embedding"][target[:-1]]])
        y = shifted * math.sqrt(config.d_model) + positions(w, "target", len(target), config)
        for i in range(config.N):
            y = sub_layers(y, w, f"decoder.{i}", config, causal=True, memory=x)
        wanted = torch.full((len(target), VOCABULARY), EPS_LS / (VOCABULARY - 1)).double()
        wanted[range(len(target)), target] = 1 - EPS_LS
        total -= (wanted * (y @ w["embedding"].T).log_softmax(-1)).sum()
    return total


def in_rows(pairs, counts):
    """Pairs as a batch with the given number of pairs in each row."""
    lengths = np.array([[len(side) for side in pair] for pair in pairs])
    rows = [pairs[end - count : end] for end, count in zip(np.cumsum(counts), counts, strict=True)]
    sides = ([torch.cat([pair[side] for pair in row]) for row in rows] for side in (0, 1))
    return Batch(*(Rows.of(torch.nn.utils.rnn.pad_sequence(side, batch_first=True)) for side in sides), lengths)


@pytest.fixture(params=ROWS, scope="module")
def row(request):
    """A row's model (the paper's width, two layers, no dropout), pairs, loss, gradients; whether scores are large."""
    name, lengths = ROWS[request.param]
    config = read_experiment([Path("config/paper.yaml")]).run("", name, 1).architecture
    config = replace(config, N=2, P_drop=0.0, attention_dropout=0.0)
    torch.manual_seed(3)
    model = Transformer(config, VOCABULARY)
    with torch.no_grad():
        for parameter in model.parameters():  # give biases and LayerNorms an effect
            parameter += 0.02 * torch.randn_like(parameter)
    pairs = [
        tuple(torch.cat([torch.randint(END + 1, VOCABULARY, (n - 1,)), torch.tensor([END])]) for n in both)
        for both in lengths
    ]
    w = {name: parameter.detach().double().requires_grad_() for name, parameter in model.named_parameters()}
    loss = reference(w, config, pairs)
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in w.items()}
    return model.train(), pairs, loss.item(), gradients, config.attention_over_parameters is not None


@pytest.mark.agreement(witness="equations of the paper")
@pytest.mark.parametrize("packed", [False, True], ids=["a pair a row", "pairs in rows"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_loss_and_gradients_equal_the_equations(row, device, dtype, packed):
    """Up to rounding, which changes a gradient a lot where a ReLU is close to 0 or two keys have similar scores.

    A GPU sums float32 in another order (k by k: 1e-7 of the loss) and so may switch ReLUs (6e-3 of a gradient each). If
    it rounded products to TF32, this would change at least 8e-6 of the loss.
    """
    model, pairs, exact, gradients, sharp = row
    batch = in_rows(pairs, [len(pairs) - 1, 1] if packed else [1] * len(pairs))
    of_loss, of_gradient = (1e-6, 2e-3) if device == "cpu" else (3e-6, 2e-2)
    if dtype == torch.bfloat16:
        of_loss, of_gradient = (1e-2, 0.5) if sharp else (5e-3, 0.1)
    model = model.to(device)
    compiled = (
        device == "cuda" and packed and dtype == torch.bfloat16
    )  # as in training; compiling takes most of the time
    if compiled:
        compile_in_place(model, model.config.d_model)
    model.zero_grad()
    with torch.autocast(device, dtype, enabled=dtype == torch.bfloat16):
        loss = batch_loss(model, batch, EPS_LS, compiled=compiled)
    loss.backward()
    assert loss.item() == pytest.approx(exact, rel=of_loss)
    whole = sum(gradient.square().sum() for gradient in gradients.values()).sqrt()
    for name, parameter in model.named_parameters():
        error = (parameter.grad.cpu().double() - gradients[name]).norm()
        assert error <= of_gradient * gradients[name].norm() + 1e-6 * whole, name
