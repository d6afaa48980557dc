import dataclasses
import doctest

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from transformer.model import transformer
from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.transformer import Transformer

BASE = ModelConfig(N=2, d_model=32, d_ff=64, h=4, d_k=8, d_v=8, P_drop=0.1, positions="sinusoidal", max_length=16)
VARIANTS = {
    "base": {},
    "one head": {"h": 1, "d_k": 32, "d_v": 32},
    "32 heads": {"h": 32, "d_k": 1, "d_v": 1},
    "d_k below d_v": {"d_k": 3, "d_v": 8},
    "d_k above d_v": {"d_k": 8, "d_v": 3},
    "learned positions": {"positions": "learned"},
    "no positions": {"positions": "none"},
    "T5's positions": {"positions": "t5"},
    "ALiBi": {"positions": "alibi", "h": 3},
    "rotary positions": {"positions": "rotary", "d_k": 6},
    "unscaled attention": {"attention": "unscaled"},
    "additive attention": {"attention": "additive"},
    "attention over parameters": {"attention_over_parameters": AttentionOverParametersConfig(2, 4, 6, 24)},
}
V = 20
B, S, T = 3, 7, 6


@pytest.fixture(params=VARIANTS)
def model(request):
    return build(**VARIANTS[request.param]).eval()


def build(**changes):
    torch.manual_seed(1)
    return Transformer(dataclasses.replace(BASE, **changes), V)


def output(model, source, target):
    """The model's output for rows of ids."""
    return model(Rows.of(source), Rows.of(target))


def draw(*shape):
    return torch.randint(3, V, shape, generator=torch.Generator().manual_seed(2))


def sources():
    """Three sentences of 7, 5 and 2 subwords, including their ends."""
    source = draw(B, S)
    for row, length in enumerate((7, 5, 2)):
        source[row, length - 1] = END
        source[row, length:] = PADDING
    return source


def test_the_example_of_the_module_runs():
    failures, examples = doctest.testmod(transformer)
    assert examples
    assert not failures


def test_dropout_of_attention_acts_in_all_three_attentions_in_training_only():
    model, source, target = build(P_drop=0.0, attention_dropout=0.5), sources(), draw(B, T)
    rates = [module.attend.dropout for module in model.modules() if hasattr(module, "attend")]
    assert rates == [0.5] * 3 * BASE.N
    assert not torch.allclose(output(model, source, target), output(model, source, target))
    model.eval()
    assert torch.equal(output(model, source, target), output(model, source, target))


@torch.no_grad()
def test_a_later_target_subword_changes_no_earlier_output(model):
    source, target = sources(), draw(B, T)
    before = output(model, source, target)
    for i in range(T):
        changed = target.clone()
        changed[:, i] = 3 + (changed[:, i] - 2) % (V - 3)
        after = output(model, source, changed)
        torch.testing.assert_close(after[:, : i + 1], before[:, : i + 1])  # a position reads the subwords before it
        for later in range(i + 1, T):
            assert not torch.allclose(after[:, later], before[:, later], atol=1e-4)


@torch.no_grad()
def test_every_source_subword_reaches_every_output(model):
    source, target = sources(), draw(B, T)
    before = output(model, source, target)
    for row, length in enumerate((7, 5, 2)):
        for i in range(length):
            changed = source.clone()
            changed[row, i] = 3 + (changed[row, i] - 2) % (V - 3)
            differs = ((output(model, changed, target) - before).abs() > 1e-5).any(-1)
            assert differs[row].all()
            assert not differs[torch.arange(B) != row].any()


@torch.no_grad()
def test_padding_changes_nothing(model):
    source, target = sources(), draw(B, T)
    expected = output(model, source, target)
    wider = torch.nn.functional.pad(source, (0, 4))
    longer = torch.nn.functional.pad(target, (0, 5))
    torch.testing.assert_close(output(model, wider, longer)[:, :T], expected)
    torch.testing.assert_close(output(model, source[2:, :2], target[2:]), expected[2:])


@torch.no_grad()
def test_decoding_step_by_step_equals_the_forward_pass(model):
    width = 2
    source, target = sources(), draw(B, width, T)
    forward = output(model, source.repeat_interleave(width, 0), target.flatten(0, 1))
    growing = model.begin(source)
    steps = [growing.logits(None).expand(-1, width, -1)]
    growing.follow(torch.zeros(B, width, dtype=torch.long))
    steps += [growing.logits(target[:, :, i - 1]) for i in range(1, T)]
    torch.testing.assert_close(torch.stack(steps, 2).flatten(0, 1), model.logits(forward), rtol=1e-4, atol=1e-5)


def test_every_parameter_has_a_gradient(model):
    model.logits(output(model, sources(), draw(B, T))).logsumexp(-1).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())
    assert all(parameter.grad.any() for parameter in model.parameters())


def test_one_matrix_embeds_source_and_target_and_gives_the_logits():
    model = build()
    assert [name for name, parameter in model.named_parameters() if V in parameter.shape] == ["embedding"]
    torch.testing.assert_close(model.embed(torch.tensor([5])), model.embedding[5:6] * 32**0.5)
    y = torch.randn(4, 32)
    torch.testing.assert_close(model.logits(y), y @ model.embedding.T)
    assert model.embedding.std().item() == pytest.approx(32**-0.5, rel=0.1)


def test_dropout_acts_on_the_embeddings_of_both_sides_in_training_only():
    model, source, target, dropped = build(P_drop=0.0), sources(), draw(B, T), []
    model.dropout.register_forward_hook(lambda *given: dropped.append((given[2] == 0).float().mean().item()))
    model.dropout.p = 0.5
    output(model, source, target)
    output(model.eval(), source, target)
    assert dropped == pytest.approx([0.5, 0.5, 0, 0], abs=0.1)


@torch.no_grad()
def test_sentences_in_one_row_have_the_same_output_as_one_at_a_time(model):
    source, target = sources(), draw(B, T)
    target[:, -1] = END
    lengths = (source != PADDING).sum(1).tolist()
    row = torch.cat([ids[:length] for ids, length in zip(source, lengths, strict=True)])[None]
    together = output(model, torch.nn.functional.pad(row, (0, 3)), torch.nn.functional.pad(target.view(1, -1), (0, 5)))
    torch.testing.assert_close(together[0, : B * T].view(B, T, -1), output(model, source, target))
    assert together.isfinite().all()


@torch.no_grad()
def test_another_number_of_additive_scores_does_not_compile_the_model_again():
    model, compiled, counter = build(attention="additive").eval(), build(attention="additive").eval(), CompileCounter()
    compiled.compile(backend=counter, dynamic=False)
    frames = []
    for ends in ([1, 5], [2, 5], [5], [0, 1, 5]):
        ids = draw(1, 6)
        ids[0, ends] = END
        torch.testing.assert_close(output(compiled, ids, ids), output(model, ids, ids))
        frames.append(counter.frame_count)
    assert frames[0] > 0
    assert len(set(frames)) == 1
