"""Make PyTorch compile for an NVIDIA H100 in a process that has no GPU.

PyTorch then accepts fake tensors of a GPU, and its compiler writes code for one. It changes PyTorch in many places that
are not public, so use it only in a process of its own.
"""

import ctypes
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import torch
import torch._inductor.config
import torch._inductor.fx_passes.fuse_attention
import torch._inductor.utils
import torch.nn.functional as F
from torch import Tensor
from torch._dynamo.device_interface import CudaInterface
from torch.utils import cpp_extension

H100 = SimpleNamespace(
    name="NVIDIA H100 80GB HBM3",
    major=9,
    minor=0,
    multi_processor_count=132,
    total_memory=80 << 30,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    max_threads_per_block=1024,
    warp_size=32,
    L2_cache_size=50 << 20,
    shared_memory_per_block=49152,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    gcnArchName="",
)


class _Nothing(nullcontext[None]):
    """A context of a device that does nothing."""


def pretend() -> None:
    """Make this process believe that it has an H100. Raises RuntimeError when the C++ compiler fails."""
    _load_hooks()
    _replace(
        torch.cuda,
        is_available=True,
        is_initialized=True,
        device_count=1,
        current_device=0,
        get_device_properties=H100,
        get_device_capability=(9, 0),
        is_bf16_supported=True,
        get_rng_state=torch.zeros(16, dtype=torch.uint8),
        set_rng_state=None,
        set_device=None,
        synchronize=None,
        _lazy_init=None,
        _exchange_device=0,
        _maybe_exchange_device=0,
    )
    torch.cuda.device = torch.cuda._DeviceGuard = _Nothing  # type: ignore[assignment, misc]
    _replace(torch._C, _cuda_getDevice=0, _cuda_isCurrentStreamCapturing=False, _cuda_setDevice=None)
    _replace(CudaInterface.Worker, get_device_properties=H100, current_device=0, set_device=None)
    _replace(
        CudaInterface,
        get_compute_capability=90,
        get_device_properties=H100,
        device_count=1,
        is_available=True,
        current_device=0,
        get_raw_stream=0,
        is_triton_capable=True,
        is_bf16_supported=True,
    )
    for module in [module for name, module in sys.modules.items() if name.startswith("torch._inductor")]:
        if hasattr(module, "has_triton"):
            _replace(module, has_triton=True)
    _replace(torch.utils._triton, triton_hash_with_backend="")
    # These look for patterns by running them, or time products.
    _replace(torch._inductor.fx_passes.fuse_attention, _sfdp_init=None)
    torch._inductor.config.joint_graph_constant_folding = False
    torch._inductor.config.shape_padding = False
    torch.set_autocast_dtype("cuda", torch.bfloat16)
    torch._C._set_only_lift_cpu_tensors(True)  # tensors of given numbers begin on the CPU
    F.scaled_dot_product_attention = _attention  # type: ignore[assignment]


def _replace(place: Any, **values: Any) -> None:
    """Replace functions by others that return the same value each time."""
    for name, value in values.items():
        setattr(
            place,
            name,
            staticmethod(lambda *_, value=value, **__: value)
            if isinstance(place, type)
            else lambda *_, value=value, **__: value,
        )


def _load_hooks() -> None:
    """Compile and load pretended.cpp."""
    libraries = Path(torch.__file__).parent / "lib"
    with TemporaryDirectory() as folder:
        library = Path(folder, "pretended.so")
        command = ["g++", "-std=c++20", "-shared", "-fPIC", str(Path(__file__).with_suffix(".cpp")), "-o", str(library)]
        command += [f"-I{path}" for path in cpp_extension.include_paths()]
        command += [
            f"-L{libraries}",
            "-lc10",
            "-ltorch_cpu",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
        ]
        process = subprocess.run(command, capture_output=True, text=True)
        if process.returncode:
            raise RuntimeError(process.stderr)
        ctypes.CDLL(str(library)).pretend()


def _attention(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, scale: float | None = None
) -> Tensor:
    """What F.scaled_dot_product_attention becomes on a GPU: memory-efficient attention, under autocast in bfloat16."""
    if torch.is_autocast_enabled("cuda"):
        q, k, v, attn_mask = (each if each is None else each.bfloat16() for each in (q, k, v, attn_mask))  # type: ignore[assignment]
    if attn_mask is not None:
        if any(stride % 8 for stride in attn_mask.stride()[:-1]):
            length = attn_mask.size(-1)
            attn_mask = F.pad(attn_mask, (0, -length % 8))[..., :length]
        attn_mask = attn_mask.expand(q.size(0), q.size(1), q.size(2), k.size(2))
    output, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(
        q, k, v, attn_mask, True, dropout_p, False, scale=scale
    )
    return output
