import platform
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from transformer.decoding.beam import BLOCK
from transformer.decoding.precision import PRECISIONS, in_precision
from transformer.decoding.search import Search, decoding
from transformer.model.masks import Rows
from transformer.support.files import InputError


def pair():
    torch.manual_seed(1)
    return Rows.of(torch.randint(3, 40, (5, 9))), Rows.of(torch.randint(3, 40, (5, 7)))


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.02), ("int8", 0.1)])
def test_each_precision_computes_the_same_logits_up_to_its_rounding(package, precision, tolerance):
    model = package(N=2).model
    lower = in_precision(model, precision)
    with torch.inference_mode():
        exact, found = (each.logits(each(*pair())) for each in (model, lower))
    vocabulary = exact.size(-1)
    assert found.size(-1) % BLOCK == 0
    assert (found[..., vocabulary:] == -torch.inf).all()
    error = (found[..., :vocabulary] - exact).norm() / exact.norm()
    assert error < tolerance
    assert precision == "float32" or error > 1e-5
    assert found.dtype == torch.float32


@pytest.mark.parametrize("precision", PRECISIONS)
def test_changing_the_precision_leaves_the_original_model_unchanged(package, precision):
    model = package().model
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    in_precision(model, precision)
    assert model.softmax is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_without_onednn_pytorch_s_own_product_is_used(package, precision, monkeypatch):
    model = package(N=2).model
    monkeypatch.setattr(platform, "machine", lambda: "arm64")
    monkeypatch.setattr(torch.ops, "mkldnn", None)
    lower = in_precision(model, precision)
    with torch.inference_mode():
        exact, found = (each.logits(each(*pair())) for each in (model, lower))
    found = found[..., : exact.size(-1)]
    assert (found - exact).norm() < 0.02 * exact.norm()


@pytest.mark.parametrize("engines", [["none", "qnnpack"], ["qnnpack", "none"]])
def test_an_engine_for_int8_is_chosen_where_pytorch_has_chosen_none(package, engines, monkeypatch):
    quantized = SimpleNamespace(engine="none", supported_engines=engines)
    monkeypatch.setattr(torch.backends, "quantized", quantized)
    in_precision(package().model, "int8")
    assert quantized.engine == "qnnpack"


def test_int8_is_refused_where_pytorch_has_no_engine_for_it(package, monkeypatch):
    monkeypatch.setattr(torch.backends, "quantized", SimpleNamespace(engine="none", supported_engines=["none"]))
    made = package()
    with pytest.raises(InputError, match="this PyTorch has no int8 products; use float32 or bfloat16"):
        in_precision(made.model, "int8")
    workers = decoding(made, Path(), Search.of(made.config), "int8", 2)
    with pytest.raises(InputError, match="this PyTorch has no int8 products; use float32 or bfloat16"), workers:
        pass
