"""The precision of the linear maps in decoding: all projections, including the logits."""

import copy
import platform
import warnings
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.decoding.beam import BLOCK
from transformer.model.network import Network
from transformer.support.files import InputError

ROWS = 256  # number of input rows for which oneDNN optimises the layout of weights


class _Linear(nn.Module):
    """A linear map in float32 or bfloat16. On x86 CPUs it calls oneDNN, because PyTorch's own choice can be slower."""

    def __init__(self, linear: nn.Linear, dtype: torch.dtype):
        super().__init__()
        self.dtype = dtype
        weight, bias = linear.weight.to(dtype), None if linear.bias is None else linear.bias.to(dtype)
        onednn = torch.ops.mkldnn
        here = not weight.is_cuda and platform.machine() == "x86_64" and hasattr(onednn, "_linear_pointwise")
        if here and (dtype == torch.float32 or onednn._is_mkldnn_bf16_supported()):
            packed = onednn._reorder_linear_weight(weight, ROWS)
            self.product = lambda x: onednn._linear_pointwise(x, packed, bias, "none", [], "")
        else:
            self.product = lambda x: F.linear(x, weight, bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.product(x.to(self.dtype)).float()


def _int8_linear(linear: nn.Linear) -> nn.Module:
    """A linear map in int8. Weights are quantised once, with one scale; inputs are quantised at each call."""
    with warnings.catch_warnings(action="ignore"):  # PyTorch warns that it will move this function
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(linear), {nn.Linear}, dtype=torch.qint8)[0]


PRECISIONS: dict[str, Callable[[nn.Linear], nn.Module]] = {
    "float32": partial(_Linear, dtype=torch.float32),
    "bfloat16": partial(_Linear, dtype=torch.bfloat16),
    "int8": _int8_linear,
}


def check_precision(precision: str, device: torch.device) -> None:
    """Raises InputError for int8 on a GPU, and where PyTorch has no int8 products. Chooses their engine if none is."""
    if precision != "int8":
        return
    if device.type == "cuda":
        raise InputError("--precision int8 works on CPUs only; use bfloat16 on a GPU")
    products = torch.backends.quantized
    if products.engine == "none":  # on Apple silicon, though "qnnpack" is supported
        able = [engine for engine in products.supported_engines if engine != "none"]
        if not able:
            raise InputError("--precision int8: this PyTorch has no int8 products; use float32 or bfloat16")
        products.engine = able[0]


@torch.no_grad()
def in_precision(model: Network, precision: str) -> Network:
    """A copy of a model that computes its projections in one of PRECISIONS. Everything else stays in float32.

    The vocabulary is padded to a multiple of BLOCK with subwords whose logit is -infinity. Raises the errors of
    `check_precision`.
    """
    check_precision(precision, model.embedding.device)
    make = PRECISIONS[precision]
    vocabulary, d_model = model.embedding.shape
    more = -vocabulary % BLOCK
    model = copy.deepcopy(model)
    model.embedding = nn.Parameter(F.pad(model.embedding, (0, 0, 0, more)))
    softmax = nn.Linear(d_model, vocabulary + more, device=model.embedding.device)
    softmax.weight = model.embedding
    softmax.bias.zero_()[vocabulary:] = -torch.inf
    for module in list(model.modules()):
        if isinstance(module, nn.LSTM):
            module.flatten_parameters()  # cuDNN needs contiguous weights; copying has scattered them
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, make(child))
    model.softmax = make(softmax)
    return model
