import platform
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from transformer.decoding import precision as precisions
from transformer.decoding.beam import BLOCK
from transformer.decoding.precision import PRECISIONS, decoding_autocast, in_precision
from transformer.decoding.search import Search, decoding
from transformer.model.masks import Rows
from transformer.support.files import InputError


def pair():
    torch.manual_seed(1)
    return Rows.of(torch.randint(3, 40, (5, 9))), Rows.of(torch.randint(3, 40, (5, 7)))


@pytest.mark.parametrize("changes", [{}, {"network": "convolutional", "positions": "learned"}])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 0.02)])
def test_each_precision_computes_the_same_logits_up_to_its_rounding(package, precision, tolerance, changes):
    model = package(N=2, **changes).model
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
    assert model.projection is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_on_a_gpu_layer_norm_reads_and_writes_bfloat16(package, monkeypatch):
    """Autocast would convert to float32 and back."""
    model, x = package(N=2).model, torch.randn(9, 16).bfloat16()
    monkeypatch.setattr(precisions, "all_in_bfloat16", lambda *_: True)
    lower = in_precision(model, "bfloat16")
    norms = [module for module in lower.modules() if isinstance(module, precisions._LayerNorm)]
    originals = [module for module in model.modules() if isinstance(module, torch.nn.LayerNorm)]
    assert len(norms) == len(originals) == 10
    with torch.autocast("cpu", torch.bfloat16):
        for norm, original in zip(norms, originals, strict=True):
            torch.nn.init.normal_(original.weight)
            torch.testing.assert_close(
                precisions._LayerNorm(original)(x).float(), original(x.float()), rtol=0.02, atol=0.02
            )
            assert norm(x).dtype == torch.bfloat16


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("capability", [(7, 5), (8, 0)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_only_bfloat16_on_a_gpu_that_multiplies_it_is_kept_between_linear_maps(monkeypatch, device, capability, dtype):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(torch, "autocast", lambda *some, enabled: (*some, enabled))
    embedding, projection = SimpleNamespace(device=torch.device(device)), SimpleNamespace(dtype=dtype)
    whole = device == "cuda" and capability == (8, 0) and dtype == torch.bfloat16
    assert decoding_autocast(SimpleNamespace(embedding=embedding, projection=projection)) == (
        device,
        torch.bfloat16,
        whole,
    )


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


def test_int8_is_ctranslate2_s(package):
    how = (package(), Path(), Search(2, 0.6, 5), "int8", 1)
    with pytest.raises(InputError, match="--precision int8 needs --engine ctranslate2"), decoding(*how):
        pass
