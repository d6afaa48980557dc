"""Describe the device and measure its peak speeds."""

import shutil
from collections.abc import Iterator
from typing import Any

import torch

from benchmarks.measuring import seconds
from benchmarks.peers import PRECISIONS
from transformer.support.device import choose_device, device_name, sustained_flops
from transformer.support.provenance import software

COPIED = 2**30  # bytes


def measure(_model: str, _seconds: float, tiny: bool) -> Iterator[dict[str, Any]]:
    """The device, its software, the FLOP/s of matrix products, and the bytes/s that a copy reads and writes."""
    device = choose_device()
    gpu = device.type == "cuda"
    described = {"device": device_name(device), "gpu": gpu, "torch": str(torch.__version__), "cuda": torch.version.cuda}
    if gpu:
        properties = torch.cuda.get_device_properties(device)
        described |= {"capability": [properties.major, properties.minor], "bytes": properties.total_memory}
    yield described | {"software": software(), "compiler": shutil.which("cc") or shutil.which("gcc")}
    if gpu or tiny:
        yield {"flops": {name: sustained_flops(device, dtype) for name, dtype in PRECISIONS.items()}}
        yield {"copy": copied(device, COPIED if gpu else 2**20)}


def copied(device: torch.device, size: int) -> float:
    """The bytes/s that a copy of `size` bytes reads and writes, in the best of five copies."""
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = [seconds(lambda: target.copy_(source)) for _ in range(6)]
    return 2 * size / min(times[1:])
