"""Lower precision of matrix products for decoding on a CPU."""

import copy
import warnings
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.model.transformer import Transformer


class _PackedLinear(nn.Module):
    """A linear map in float32 by oneDNN, on weights laid out for it: on some CPUs PyTorch's own choice is slower."""

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


def _int8_linear(linear: nn.Linear) -> nn.Module:
    """A linear map of weights quantised once, a scale for all, and of inputs quantised as they come."""
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        return torch.ao.quantization.quantize_dynamic(nn.Sequential(linear), {nn.Linear}, dtype=torch.qint8)[0]


ROWS = 256  # for which weights are laid out
PRECISIONS: dict[str, Callable[[nn.Linear], nn.Module] | None] = {
    "float32": _PackedLinear if hasattr(torch.ops.mkldnn, "_linear_pointwise") else None,
    "bfloat16": _BFloat16Linear,
    "int8": _int8_linear,
}


@torch.inference_mode()
def in_precision(model: Transformer, precision: str) -> Transformer:
    """A model whose projections and softmax are computed in one of PRECISIONS; all else stays float32."""
    make = PRECISIONS[precision]
    if make is None:
        return model
    vocabulary, d_model = model.embedding.shape
    softmax = nn.Linear(d_model, vocabulary, bias=False)
    softmax.weight = nn.Parameter(model.embedding, requires_grad=False)
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, nn.Linear):
                setattr(module, name, make(child))
    vars(model)["logits"] = make(softmax)  # in place of the method
    return model
