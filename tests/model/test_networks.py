"""What holds for each network."""

import dataclasses

import pytest
import torch
from pydantic import ValidationError
from small_networks import CONVOLUTIONAL, NETWORKS, RECURRENT, V, alone, drawn, in_rows, output, padded, rows


@pytest.fixture(params=NETWORKS)
def model(request):
    return NETWORKS[request.param]().eval()


def test_sentences_in_rows_have_the_same_output_and_gradients_as_one_at_a_time(model):
    gradients, outputs = [], [alone(model), in_rows(model)]
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
        torch.testing.assert_close(after[:, : i + 1], before[:, : i + 1], rtol=0, atol=0)
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
def test_inputs_follow_the_chosen_hypotheses_and_the_kept_sentences(model):
    sources, tokens = drawn(0)[:3], torch.tensor([[3, 4], [5, 6], [7, 8]])
    growing = model.begin(padded(sources))
    growing.logits(None)
    growing.follow(torch.zeros(3, 2, dtype=torch.long))
    growing.logits(tokens)
    growing.follow(torch.tensor([[1, 0], [1, 1], [0, 1]]))
    growing.select(torch.tensor([1, 2]))
    found = growing.logits(torch.tensor([[9, 10], [11, 9]]))
    for sentence, hypothesis, before in ((0, 0, [6, 9]), (0, 1, [6, 10]), (1, 0, [7, 11]), (1, 1, [8, 9])):
        wanted = model.logits(output(model, sources[sentence + 1][None], torch.tensor([[*before, 3]])))[0, 2]
        torch.testing.assert_close(found[sentence, hypothesis], wanted, rtol=1e-4, atol=1e-5)


def test_bfloat16_is_close_to_float32(model):
    exact = output(model, rows(0), rows(1))
    with torch.autocast("cpu", torch.bfloat16):
        rounded = model.logits(output(model, rows(0), rows(1)))
    atol = 0.02 if model.config.network == "recurrent" else 0.05
    torch.testing.assert_close(rounded.float(), model.logits(exact), rtol=0.1, atol=atol)
    rounded.float().square().sum().backward()
    assert all(parameter.grad.isfinite().all() and parameter.grad.any() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("config", "changes", "fault"),
    [
        (RECURRENT, {"N": 1}, "1 is too few layers; a recurrent network needs 2 or more"),
        (RECURRENT, {"positions": "learned"}, "does not use learned positions; leave this key at sinusoidal"),
        (CONVOLUTIONAL, {"positions": "alibi"}, "does not use alibi positions; leave this key at learned"),
        *(
            (config, {field: value}, f"a {config.network} network does not use it; remove this key")
            for config in (RECURRENT, CONVOLUTIONAL)
            for field, value in (("attention", "additive"), ("attention_dropout", 0.1))
        ),
    ],
)
def test_what_is_impossible_in_a_network_is_a_fault(config, changes, fault):
    with pytest.raises(ValidationError, match=fault):
        dataclasses.replace(config, **changes)
