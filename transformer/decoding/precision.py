"""The precision of the linear maps in decoding: all projections, including the one to logits."""

import copy
import platform

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from transformer.decoding.beam import BLOCK
from transformer.model import kernels
from transformer.model.network import Network
from transformer.support.device import auto_precision

ROWS = 256  # number of input rows for which oneDNN optimises the layout of weights


class _Linear(nn.Module):
    """A linear map in float32 or bfloat16. On x86 CPUs it calls oneDNN, because PyTorch's own choice can be slower.

    The result becomes float32, except in the context `decoding_autocast`.
    """

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
        y = self.product(x.to(self.dtype))
        return y if torch.is_autocast_enabled(y.device.type) else y.float()


class _LayerNorm(nn.Module):
    """A LayerNorm in bfloat16, for `decoding_autocast`. Autocast would convert its input to float32 and back."""

    def __init__(self, norm: nn.LayerNorm):
        super().__init__()
        self.weight, self.bias, self.eps = norm.weight.bfloat16(), norm.bias.bfloat16(), norm.eps

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast(x.device.type, enabled=False):
            return F.layer_norm(x.bfloat16(), self.weight.shape, self.weight, self.bias, self.eps)


PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@torch.no_grad()
def in_precision(model: Network, precision: str) -> Network:
    """A copy of a model that computes its projections in one of PRECISIONS; for all else, see `decoding_autocast`.

    The vocabulary is padded to a multiple of BLOCK with subwords whose logit is -infinity.
    """
    dtype = PRECISIONS[precision]
    vocabulary, d_model = model.embedding.shape
    more = -vocabulary % BLOCK
    model = copy.deepcopy(model)
    model.embedding = nn.Parameter(F.pad(model.embedding, (0, 0, 0, more)))
    projection = nn.Linear(d_model, vocabulary + more, device=model.embedding.device)
    projection.weight = model.embedding
    projection.bias.zero_()[vocabulary:] = -torch.inf
    for module in list(model.modules()):
        if isinstance(module, nn.LSTM):
            module.flatten_parameters()  # cuDNN needs contiguous weights; copying has scattered them
        for name, child in module.named_children():
            if type(child) is nn.Linear:  # and no subclass, which may compute otherwise
                setattr(module, name, _Linear(child, dtype))
            elif kernels.has(child, nn.LayerNorm) and all_in_bfloat16(precision, child.weight.device):
                setattr(module, name, _LayerNorm(child))
    model.projection = _Linear(projection, dtype)
    return model


def decoding_autocast(model: Network) -> torch.autocast:
    """The context for decoding with a copy of `in_precision`.

    If the copy is in bfloat16 on a GPU that multiplies bfloat16, it also keeps all between the linear maps, attention
    and caches in bfloat16, as training does. Elsewhere it changes nothing, and all else is in float32.
    """
    device, dtype = model.embedding.device, getattr(model.projection, "dtype", torch.float32)
    whole = dtype == torch.bfloat16 and all_in_bfloat16("bfloat16", device)
    return torch.autocast(device.type, torch.bfloat16, enabled=whole)


def all_in_bfloat16(precision: str, device: torch.device) -> bool:
    """Whether a copy in this precision also has all between its linear maps, and its caches, in bfloat16."""
    return precision == "bfloat16" and device.type == "cuda" and auto_precision(device) == "bfloat16"
