import torch

from transformer.support import cpu


def test_instructions_for_bfloat16_are_those_that_pytorch_finds():
    able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    assert cpu.cpu_precision() == ("bfloat16" if able else "float32")


def test_the_speed_of_a_core_is_that_of_the_fastest_of_five_products_by_all(monkeypatch):
    readings = iter([0.0, 5.0, 9.0, 11.0, 14.0, 18.0])
    monkeypatch.setattr(cpu, "cores", lambda: 4)
    monkeypatch.setattr(cpu, "SIZE", 10)
    monkeypatch.setattr(cpu.time, "perf_counter", lambda: next(readings))
    assert cpu.core_flops() == 2 * 10**3 / 2 / 4
