import doctest

import pytest
import torch
from small_networks import TRANSFORMER, V, output
from small_networks import transformer as small_transformer
from torch._dynamo.testing import CompileCounter

from transformer.model import transformer
from transformer.model.ids import END

B, S, T = 3, 7, 6


def draw(*shape):
    return torch.randint(3, V, shape, generator=torch.Generator().manual_seed(2))


def test_the_example_of_the_module_runs():
    failures, examples = doctest.testmod(transformer)
    assert examples
    assert not failures


def test_dropout_of_attention_acts_in_all_three_attentions_in_training_only():
    model, source, target = small_transformer(P_drop=0.0, attention_dropout=0.5), draw(B, S), draw(B, T)
    rates = [module.attend.dropout for module in model.modules() if hasattr(module, "attend")]
    assert rates == [0.5] * 3 * TRANSFORMER.N
    assert not torch.allclose(output(model, source, target), output(model, source, target))
    model.eval()
    assert torch.equal(output(model, source, target), output(model, source, target))


def test_one_matrix_embeds_source_and_target_and_gives_the_logits():
    model = small_transformer()
    assert [name for name, parameter in model.named_parameters() if V in parameter.shape] == ["embedding"]
    torch.testing.assert_close(model.embed(torch.tensor([5])), model.embedding[5:6] * 32**0.5)
    y = torch.randn(4, 32)
    torch.testing.assert_close(model.logits(y), y @ model.embedding.T)
    assert model.embedding.std().item() == pytest.approx(32**-0.5, rel=0.1)


def test_dropout_acts_on_the_embeddings_of_both_sides_in_training_only():
    model, source, target, dropped = small_transformer(P_drop=0.0), draw(B, S), draw(B, T), []
    model.dropout.register_forward_hook(lambda *given: dropped.append((given[2] == 0).float().mean().item()))
    model.dropout.p = 0.5
    output(model, source, target)
    output(model.eval(), source, target)
    assert dropped == pytest.approx([0.5, 0.5, 0, 0], abs=0.1)


@torch.no_grad()
def test_another_number_of_additive_scores_does_not_compile_the_model_again():
    model, compiled = (small_transformer(attention="additive").eval() for _ in range(2))
    counter = CompileCounter()
    compiled.compile(backend=counter, dynamic=False)
    frames = []
    for ends in ([1, 5], [2, 5], [5], [0, 1, 5]):
        ids = draw(1, 6)
        ids[0, ends] = END
        torch.testing.assert_close(output(compiled, ids, ids), output(model, ids, ids))
        frames.append(counter.frame_count)
    assert frames[0] > 0
    assert len(set(frames)) == 1
