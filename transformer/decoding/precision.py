"""The precision of projections and softmax in decoding on a CPU."""

import copy
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.files import InputError
from transformer.model.transformer import Transformer

ROWS = 256  # for which oneDNN lays out weights


class _PackedLinear(nn.Module):
    """A linear map in float32 by oneDNN: on some CPUs what PyTorch takes by itself is slower by a fifth."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(linear.weight, ROWS)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


class _BFloat16Linear(nn.Module):
    """A linear map of numbers rounded to bfloat16."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.weight = linear.weight.bfloat16()
        self.bias = None if linear.bias is None else linear.bias.bfloat16()

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.bfloat16(), self.weight, self.bias).float()


def _float32_linear(linear: nn.Linear) -> nn.Module:
    return _PackedLinear(linear) if hasattr(torch.ops.mkldnn, "_linear_pointwise") else linear


def _int8_linear(linear: nn.Linear) -> nn.Module:
    """A linear map of weights quantised once, a scale for all, and of inputs quantised as they come."""
    with warnings.catch_warnings(action="ignore"):  # of PyTorch's plans to move it
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(linear), {nn.Linear}, dtype=torch.qint8)[0]


PRECISIONS: dict[str, Callable[[nn.Linear], nn.Module]] = {
    "float32": _float32_linear,
    "bfloat16": _BFloat16Linear,
    "int8": _int8_linear,
}


@torch.no_grad()
def in_precision(model: Transformer, precision: str) -> Transformer:
    """A model whose projections and softmax are computed in one of PRECISIONS; all else stays float32.

    On a GPU it is the model itself. Raises InputError for another precision than float32 there.
    """
    if model.embedding.is_cuda:
        if precision != "float32":
            raise InputError(f"--precision {precision} is for CPUs; leave it out on a GPU")
        return model
    make = PRECISIONS[precision]
    vocabulary, d_model = model.embedding.shape
    softmax = nn.Linear(d_model, vocabulary, bias=False)
    softmax.weight = model.embedding
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, make(child))
    vars(model)["logits"] = make(softmax)  # in place of the method
    return model
