"""What can be switched off or on in training on a GPU, to measure what it gains."""

import math
from collections.abc import Callable


def _without_cuda_graphs() -> None:
    from transformer.training import cuda_graphs

    cuda_graphs.WARM = math.inf  # type: ignore[assignment]


def _without_copies() -> None:
    from transformer.training.update import Updater

    Updater._bfloat16_weights = lambda _: None  # type: ignore[assignment, method-assign]


def _without_relu_in_products() -> None:
    import torch.nn.functional as F

    from transformer.model import kernels

    kernels.linear_relu = lambda linear, x: F.relu(linear(x))


def _without_order_in_embeddings() -> None:
    import torch.nn.functional as F

    from transformer.model import kernels

    kernels.embedding = F.embedding


def _with_mixed_sums() -> None:
    from transformer.support import device

    device.LONG = 0


CHANGES: dict[str, Callable[[], None]] = {
    "without-cuda-graphs": _without_cuda_graphs,  # a step is launched kernel by kernel
    "without-copies": _without_copies,  # each step casts each weight and each gradient
    "without-relu-in-products": _without_relu_in_products,
    "without-order-in-embeddings": _without_order_in_embeddings,  # their gradients are added up in any order
    "with-mixed-sums": _with_mixed_sums,  # one kernel for all gradients of a LayerNorm
}
