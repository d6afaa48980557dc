"""Profile one step of training: where its time goes, and whether it is compiled and in bfloat16."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")  # categories of a trace
UNFUSED = {"aten::native_layer_norm", "aten::_softmax", "aten::_log_softmax"}  # absent from compiled code
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm"}
ATTENTION = "aten::_scaled_dot_product_"
# A CUDA graph has no operations, only kernels, whose names say what they are.
FUSED_KERNELS = {"fmha_cutlass": "efficient_attention", "flash_fwd": "flash_attention", "sdpa": "cudnn_attention"}
FLOAT32_KERNELS = re.compile(r"sgemm|f32f32_f32|tf32|fmha_cutlass\w_f32")

Event = Mapping[str, Any]
Row = tuple[str, int, float]  # name, calls, ms


def profiled(work: Callable[[], object]) -> tuple[list[Row], list[Event]]:
    """The time of some work, by kernel on a GPU and else by operation, and all events of its trace."""
    gpu = torch.cuda.is_available()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]
    with profile(activities=activities, record_shapes=True) as profiler:
        work()
        if gpu:
            torch.cuda.synchronize()
    with TemporaryDirectory() as folder:
        path = Path(folder, "trace.json")
        profiler.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    operations = [(each.key, each.count, each.self_cpu_time_total / 1e3) for each in profiler.key_averages()]
    return kernels(events) or operations, events


def kernels(events: Iterable[Event]) -> list[Row]:
    """The kernels and copies of a trace, summed by name."""
    sums: dict[str, Row] = {}
    for event in events:
        if event.get("cat") in ON_GPU:
            name, calls, ms = sums.get(event["name"], (event["name"], 0, 0.0))
            sums[name] = name, calls + 1, ms + event["dur"] / 1e3
    return list(sums.values())


def unfused(events: Iterable[Event]) -> set[str]:
    """The operations of a trace that show that the model or the loss is not compiled."""
    return {event["name"] for event in events} & UNFUSED


def in_float32(events: Collection[Event]) -> set[str]:
    """The matrix products and attentions of a trace whose inputs are float32, and the kernels of such."""
    return {
        event["name"]
        for event in events
        if event["name"] in PRODUCTS or event["name"].startswith(ATTENTION)
        if "float" in event.get("args", {}).get("Input type", [])[:2]
    } | {event["name"] for event in events if event.get("cat") == "kernel" and FLOAT32_KERNELS.search(event["name"])}


def attentions(events: Collection[Event]) -> set[str]:
    """PyTorch's names of the fused attentions in a trace; empty if attention is written out."""
    kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
    names = {event["name"].removeprefix(ATTENTION) for event in events if event["name"].startswith(ATTENTION)}
    in_graphs = {name for part, name in FUSED_KERNELS.items() if any(part in kernel for kernel in kernels)}
    return {name for name in names if not name.endswith("backward")} | in_graphs
