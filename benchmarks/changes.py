"""What can be switched off or on in training on a GPU, to measure what it gains."""

import math
from collections.abc import Callable

import torch._inductor.config
import torch.nn.functional as F

from transformer.model import kernels, layers
from transformer.training import recording
from transformer.training.update import Updater


def _without_cuda_graphs() -> None:
    recording.WARM = math.inf  # type: ignore[assignment]


def _without_copies() -> None:
    Updater._copies = lambda _: None  # type: ignore[method-assign]


def _without_relu_in_products() -> None:
    layers.rectified = layers.rectified.__wrapped__  # type: ignore[attr-defined]


def _without_order_in_embeddings() -> None:
    kernels.embedding = F.embedding


def _without_groups() -> None:
    kernels.GROUPS = 1


def _with_combo_kernels() -> None:
    torch._inductor.config.combo_kernels = True


def _with_max_autotune() -> None:
    torch._inductor.config.max_autotune_gemm = True


CHANGES: dict[str, Callable[[], None]] = {
    "without-cuda-graphs": _without_cuda_graphs,  # a step is launched kernel by kernel
    "without-copies": _without_copies,  # each step casts each weight and each gradient
    "without-relu-in-products": _without_relu_in_products,
    "without-order-in-embeddings": _without_order_in_embeddings,  # their gradients are added up in any order
    "without-groups": _without_groups,  # of positions, in attention over parameters
    "with-combo-kernels": _with_combo_kernels,  # PyTorch's compiler joins kernels that do not depend on each other
    "with-max-autotune": _with_max_autotune,  # it tries its own matrix products, into which others can be fused
}
