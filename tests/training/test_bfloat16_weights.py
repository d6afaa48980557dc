import pytest
import torch

from transformer.model.config import AttentionOverParametersConfig
from transformer.model.ids import END
from transformer.model.masks import Rows
from transformer.model.transformer import Transformer
from transformer.training.bfloat16_weights import Bfloat16Weights

VOCABULARY = 40
MODELS = {
    "base": {},
    "rotary positions": {"positions": "rotary"},
    "attention over parameters": {"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 12)},
}


def rows(length):
    return Rows.of(torch.randint(END, VOCABULARY, (3, length)))


@pytest.mark.agreement(witness="PyTorch")
@pytest.mark.parametrize("changes", MODELS.values(), ids=MODELS)
def test_a_model_with_copies_has_the_output_and_gradients_of_autocast(run_config, changes):
    model = Transformer(run_config(P_drop=0.0, N=2, **changes).architecture, VOCABULARY)
    source, target, found = rows(9), rows(11), []
    weights = Bfloat16Weights(model)
    for forward in (model, weights):
        model.zero_grad()
        weights.refresh()
        with torch.autocast("cpu", torch.bfloat16):
            y = forward(source, target)
        y.float().square().sum().backward()
        if forward is weights:
            weights.give_gradients()
        found.append([y, *(each.grad.clone() for each in model.parameters() if each.grad is not None)])
    assert len(found[0]) == len(found[1])
    for one, other in zip(*found, strict=True):
        assert one.dtype == other.dtype
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)
