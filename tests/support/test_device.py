import pytest
import torch

from transformer.support import device
from transformer.support.device import choose_device, device_name, faster_precision, sustained_flops
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


def test_flops_are_those_of_the_fastest_product(monkeypatch):
    seconds = iter([5.0, 4.0, 2.0, 3.0, 4.0])
    monkeypatch.setattr(device, "_seconds", lambda *_: next(seconds))
    assert sustained_flops(CPU, torch.float32, 10) == 2 * 10**3 / 2.0


@pytest.mark.parametrize(
    ("gain", "precision"), [(1.0, "float32"), (1.29, "float32"), (1.3, "bfloat16"), (4, "bfloat16")]
)
def test_bfloat16_is_chosen_where_it_is_clearly_faster(monkeypatch, gain, precision):
    monkeypatch.setattr(device, "sustained_flops", lambda _, dtype, __: gain if dtype == torch.bfloat16 else 1.0)
    assert faster_precision(CPU) == precision
