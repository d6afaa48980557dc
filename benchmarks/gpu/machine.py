"""Describe the device and measure its peak speeds."""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

import torch

from benchmarks.peers import PRECISIONS
from transformer.evaluation.turns import seconds
from transformer.support.device import device_name, sustained_flops
from transformer.support.provenance import software

COPIED = 2**30  # bytes
OTHERS = ("triton", "transformers", "ctranslate2")


def nvidia_smi() -> str:
    """What nvidia-smi prints: the driver, the GPUs, and the programs on them; or why there is no such output."""
    try:
        return subprocess.run("nvidia-smi", capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)


def measure(device: torch.device, _tiny: bool) -> Iterator[dict[str, Any]]:
    """The device, its software, the FLOP/s of matrix products, and the bytes/s that a copy reads and writes."""
    print(smi := nvidia_smi(), file=sys.stderr, flush=True)
    yield {"nvidia_smi": smi.splitlines(), "kernel": platform.platform(), "cores": os.cpu_count()}
    gpu = device.type == "cuda"
    described = {"device": device_name(device), "torch": str(torch.__version__), "cuda": torch.version.cuda}
    if gpu:
        properties = torch.cuda.get_device_properties(device)
        described |= {"capability": [properties.major, properties.minor], "bytes": properties.total_memory}
    others = {name: version(name) for name in OTHERS if find_spec(name)}
    yield described | {"software": software() | others, "compiler": shutil.which("cc") or shutil.which("gcc")}
    yield {"flops": {name: sustained_flops(device, dtype) for name, dtype in PRECISIONS.items()}}
    yield {"copy": copied(device, COPIED if gpu else 2**20)}


def copied(device: torch.device, size: int) -> float:
    """The bytes/s that a copy of `size` bytes reads and writes, in the best of five copies."""
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = [seconds(lambda: target.copy_(source)) for _ in range(6)]
    return 2 * size / min(times[1:])
