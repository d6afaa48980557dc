"""What can be switched off or on in training on a GPU, to measure what it gains."""

import math
from typing import Any
from unittest.mock import patch

import torch.nn.functional as F


def make(name: str) -> None:
    """Make a change in this process, until it ends."""
    patch(*CHANGES[name]).start()


CHANGES: dict[str, tuple[str, Any]] = {  # name -> what takes another value, and the value
    # A step is launched kernel by kernel.
    "without-cuda-graphs": ("transformer.training.cuda_graphs.WARM", math.inf),
    # Each step casts each weight and each gradient.
    "without-copies": ("transformer.training.update.Updater._bfloat16_weights", lambda _: None),
    "without-relu-in-products": ("transformer.model.kernels.linear_relu", lambda linear, x: F.relu(linear(x))),
    # The gradients of embeddings are added up in any order.
    "without-order-in-embeddings": ("transformer.model.kernels.embedding", F.embedding),
    # One kernel sums all gradients of a LayerNorm.
    "with-mixed-sums": ("transformer.support.device.LONG", 0),
}
