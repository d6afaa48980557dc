import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from transformer.support import device
from transformer.support.device import auto_precision, choose_device, device_name, sustained_flops
from transformer.support.files import InputError

CPU = torch.device("cpu")


def test_without_a_gpu_the_cpu_is_chosen(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device() == CPU


def test_more_processes_than_gpus_are_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(InputError, match="3 processes or more want a GPU each, but PyTorch finds 2; start fewer"):
        choose_device(2)


def test_the_device_has_a_name():
    assert device_name(CPU).strip()


@pytest.mark.parametrize(("place", "size", "products"), [("cpu", 1024, 1), ("cuda", 8192, 5)])
def test_flops_are_those_of_the_fastest_large_products(monkeypatch, place, size, products):
    seconds = iter([5.0, 4.0, 2.0, 3.0, 4.0])

    shapes = []
    monkeypatch.setattr(torch, "mm", lambda a, b, **_: shapes.append((a.shape, b.shape)))
    monkeypatch.setattr(device, "_seconds", lambda work, _: work() or next(seconds))
    with FakeTensorMode():
        assert sustained_flops(torch.device(place), torch.float32) == products * 2 * size**3 / 2.0
    assert shapes == [((size, size),) * 2] * 5 * products


@pytest.mark.parametrize(("capability", "precision"), [((7, 5), "float32"), ((8, 0), "bfloat16"), ((9, 0), "bfloat16")])
def test_on_a_gpu_precision_follows_from_its_capability(monkeypatch, capability, precision):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    assert auto_precision(torch.device("cuda")) == precision


@pytest.mark.parametrize("avx512", [False, True])
@pytest.mark.parametrize("amx", [False, True])
def test_on_a_cpu_precision_follows_from_its_instructions_and_not_from_a_timing(monkeypatch, avx512, amx):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(device, "_seconds", None)
    assert auto_precision(CPU) == ("bfloat16" if avx512 or amx else "float32")
