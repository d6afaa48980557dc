"""Faster ways to compute what other modules of the model define. Only this module asks for a device.

A definition first asks for a kernel (`on_cpu`, `on_gpu`) and calls it by name. What follows is the paper's equation. It
computes where no kernel does, and everywhere with `ON = False`. To change an equation, set ON to False, or its kernel
will go on computing the old one. docs/speed.md says what each kernel gains. Shapes are named as in attention.py.
"""

import math
from contextlib import nullcontext
from typing import Any, TypeGuard, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from transformer.model.ids import PADDING
from transformer.support.device import auto_precision

AnyModule = TypeVar("AnyModule", bound=nn.Module)

ON = True  # False: all is computed by the definitions, those of the loss and of Adam included

GROUPS = 16  # how many groups of positions a GPU treats at a time in attention over parameters, if they can be equal
AT_ONCE = 1 << 19  # how many numbers additive attention computes at a time; more do not fit into a cache
UNIT = 8  # a GPU would copy the bias of attention for rows whose length is no multiple of this
FEW_ROWS = 64  # the gradient of a table with at most this many rows is a product
CUDNN_FIRST = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]
ENCODED = 32  # how many sentences a CPU encodes at a time; fewer are slower, more have more padding


def on_cpu(x: Tensor) -> bool:
    """Whether the kernels for CPUs compute with `x`."""
    return ON and not x.is_cuda


def on_gpu(x: Tensor) -> bool:
    """Whether the kernels for GPUs compute with `x`."""
    return ON and x.is_cuda


def has(module: nn.Module, kind: type[AnyModule]) -> TypeGuard[AnyModule]:
    """Whether a kernel may compute with a module's weights: one of exactly this kind, with a weight and a bias."""
    return type(module) is kind and module.weight is not None and module.bias is not None


def gpu_attention(
    q_BHTK: Tensor, k_BHSK: Tensor, v_BHSE: Tensor, bias: Tensor | None, scale: float, dropout: float
) -> Tensor:
    """Equation 1 by PyTorch's fused attention. On a CPU it is slow, because sentences are short.

    Only attention over parameters has no bias. From CUDA capability 9.0 on (an H100), cuDNN's fused attention trains
    it.
    """
    bias = None if bias is None else bias.to(q_BHTK.dtype)
    cudnn = bias is None and q_BHTK.requires_grad and _has_fast_cudnn()
    with sdpa_kernel(CUDNN_FIRST, set_priority=True) if cudnn else nullcontext():
        return F.scaled_dot_product_attention(q_BHTK, k_BHSK, v_BHSE, attn_mask=bias, dropout_p=dropout, scale=scale)


def _has_fast_cudnn() -> bool:
    """Whether this process's GPU is an H100 or newer."""
    return torch.cuda.get_device_capability() >= (9, 0)


# PyTorch's compiler then calls it, and takes its result for a constant. torch.compiler.assume_constant_result sets this
# mark, too, but loads the compiler.
_has_fast_cudnn._dynamo_marked_constant = True  # type: ignore[attr-defined]


def cpu_attention(q_BHTK: Tensor, k_BHSK: Tensor, v_BHSE: Tensor, bias: Tensor, scale: float) -> Tensor:
    """Equation 1 with a bias and without dropout: in one form for training, in another for inference in float32."""
    if q_BHTK.requires_grad or q_BHTK.dtype != torch.float32:
        return _CPUAttention.apply(q_BHTK, k_BHSK, v_BHSE, bias, scale)
    return torch.add(bias, q_BHTK @ k_BHSK.transpose(-1, -2), alpha=scale).softmax(-1) @ v_BHSE


class _CPUAttention(torch.autograd.Function):
    """Equation 1 and its gradient, with fewer passes over the attention weights than autograd makes."""

    @staticmethod
    def forward(ctx: Any, q_BHTK: Tensor, k_BHSK: Tensor, v_BHSE: Tensor, bias: Tensor, scale: float) -> Tensor:
        q, k, v = (q_BHTK * scale).flatten(0, 1), k_BHSK.flatten(0, 1), v_BHSE.flatten(0, 1)
        scores = torch.bmm(q, k.transpose(1, 2)).unflatten(0, q_BHTK.shape[:2]) + bias
        weights = torch.softmax(scores, -1, out=scores).flatten(0, 1).to(v.dtype)
        ctx.save_for_backward(q, k, v, weights)
        ctx.scale, ctx.heads, ctx.bias = scale, q_BHTK.shape[:2], bias.shape
        return torch.bmm(weights, v).unflatten(0, ctx.heads)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights = ctx.saved_tensors
        grad_y = grad[0].flatten(0, 1)
        grad_weights = torch.bmm(grad_y, v.transpose(1, 2))
        grad_scores = torch._softmax_backward_data(grad_weights, weights, -1, weights.dtype)
        grad_q = torch.bmm(grad_scores, k).mul_(ctx.scale)
        grad_k, grad_v = torch.bmm(grad_scores.transpose(1, 2), q), torch.bmm(weights.transpose(1, 2), grad_y)
        grad_bias = grad_scores.unflatten(0, ctx.heads).sum_to_size(ctx.bias) if ctx.needs_input_grad[3] else None
        return *(each.unflatten(0, ctx.heads) for each in (grad_q, grad_k, grad_v)), grad_bias, None


def additive_scores(q_BHTK: Tensor, k_BHSK: Tensor, vector_HK: Tensor, shown_BTS: Tensor) -> Tensor:
    """The scores of additive attention: only those that a query may read, because a packed row has many sentences.

    Where queries may read everything, a CPU's cache limits how many scores are computed at a time.
    """
    (b, h, t, _), s = q_BHTK.shape, k_BHSK.size(2)
    if shown_BTS.all():  # to pick scores would take three times as long
        k = k_BHSK.contiguous()[:, :, None]
        parts = q_BHTK.contiguous()[:, :, :, None].split(max(1, AT_ONCE // k.numel()), 2)
        scores = [torch.tanh(part + k) @ vector_HK[:, None, :, None] for part in parts]
        return torch.cat([each.squeeze(-1).float() for each in scores], 2)
    row, query, key = shown_BTS.expand(b, t, s).nonzero(as_tuple=True)
    query_P, key_P = row * t + query, row * s + key
    q, k = (x.transpose(1, 2).reshape(-1, h * x.size(-1)) for x in (q_BHTK, k_BHSK))
    both = q.index_select(0, query_P).add_(k.index_select(0, key_P)).tanh_()
    scores_PH = (both.unflatten(1, (h, -1)).transpose(0, 1) @ vector_HK[:, :, None]).squeeze(2).t().float()
    scores = scores_PH.new_zeros(b * t * s, h).index_copy(0, query_P * s + key, scores_PH)
    return scores.view(b, t, s, h).permute(0, 3, 1, 2)


def _kept(x: Tensor, p: float) -> Tensor:
    """1 where dropout keeps an element of `x` (on a CPU) and 0 where it drops it, in the type of `x`.

    Each element takes 16 random bits, and one draw serves four elements. This avoids PyTorch's slow booleans.
    """
    draws = torch.randint(-(1 << 63), (1 << 63) - 1, (x.numel() // 4 + 1,))
    bits = draws.view(torch.int16)[: x.numel()].view_as(x)
    return torch.ge(bits, round(p * 65536) - 32768, out=torch.empty_like(x))


def dropout(x: Tensor, p: float) -> Tensor:
    """Dropout in training on a CPU."""
    return _CPUDropout.apply(x, p)


class _CPUDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        mask = _kept(x, p)
        ctx.save_for_backward(mask)
        ctx.scale = 1 / (1 - p)
        return (x * mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return (grad[0] * mask).mul_(ctx.scale), None


def residual(norm: nn.LayerNorm, x: Tensor, y: Tensor, p: float) -> Tensor:
    """LayerNorm(x + Dropout(y)) as one operation on a CPU, which keeps only what its gradient needs."""
    return _CPUResidual.apply(x, y, norm.weight, norm.bias, norm.eps, p)


class _CPUResidual(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, eps: float, p: float) -> Tensor:
        ctx.scale = 1 / (1 - p)
        mask = _kept(y, p) if p else None
        total = x + y if mask is None else torch.addcmul(x, mask, y, value=ctx.scale)
        output, mean, rstd = torch.native_layer_norm(total, weight.shape, weight, bias, eps)
        ctx.save_for_backward(total, mask, mean, rstd, weight, bias)
        return output

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor | None, ...]:
        total, mask, mean, rstd, weight, bias = ctx.saved_tensors
        grad_x, grad_weight, grad_bias = torch.ops.aten.native_layer_norm_backward(
            grad[0], total, weight.shape, mean, rstd, weight, bias, [True, True, True]
        )
        grad_y = grad_x if mask is None else (grad_x * mask).mul_(ctx.scale)
        return grad_x, grad_y, grad_weight, grad_bias, None, None


def linear_relu(linear: nn.Linear, x: Tensor) -> Tensor:
    """max(0, x W + b) on a GPU. The product itself adds the bias and cuts at 0, so its result is written once."""
    dtype = product_dtype(x.device, x.dtype)
    return _GPULinearReLU.apply(*(each.to(dtype) for each in (x, linear.weight, linear.bias)))


class _GPULinearReLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        flat = x.flatten(0, -2)
        y = torch._addmm_activation(bias, flat, weight.t())
        ctx.save_for_backward(flat, weight, y)
        return y.view(*x.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat, weight, y = ctx.saved_tensors
        grad_y = grad[0].reshape(y.shape)
        grad_sum = torch.ops.aten.threshold_backward(grad_y, y, 0)
        grad_x = (grad_sum @ weight).view(*grad[0].shape[:-1], -1)
        return grad_x, grad_sum.t() @ flat, grad_sum.sum(0)


def embedding(ids: Tensor, table: Tensor) -> Tensor:
    """The rows of a table, [..., D]. On a GPU the gradient is summed in a fixed order.

    PyTorch's compiler would add it up with atomic operations, in another order each time. PyTorch's own operation sorts
    the ids, and adds the gradients of each one by one. If a table has few rows, products are faster.
    """
    return _GPUEmbedding.apply(ids, table) if on_gpu(table) else F.embedding(ids, table)


class _GPUEmbedding(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, ids: Tensor, table: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.rows = len(table)
        return F.embedding(ids, table)

    @staticmethod
    def backward(ctx: Any, *grad: Tensor) -> tuple[None, Tensor]:
        ids = ctx.saved_tensors[0]
        if ctx.rows > FEW_ROWS:
            return None, torch.ops.transformer.embedding_gradient(grad[0], ids, ctx.rows)
        each = (ids.flatten(1)[:, :, None] == torch.arange(ctx.rows, device=ids.device)).type_as(grad[0])
        return None, (each.transpose(1, 2) @ grad[0].flatten(1, -2)).sum(0)


def _embedding_gradient(gradient: Tensor, ids: Tensor, rows: int) -> Tensor:
    return torch.ops.aten.embedding_dense_backward(gradient, ids, rows, -1, False)


# An operation of our own, because the compiler replaces PyTorch's.
_operations = torch.library.Library("transformer", "DEF")
_operations.define("embedding_gradient(Tensor gradient, Tensor ids, int rows) -> Tensor")
_operations.impl("embedding_gradient", _embedding_gradient, "CompositeExplicitAutograd")


def mask_bias(bias_RHTS: Tensor) -> Tensor:
    """The bias of a mask. In inference on a GPU it has the type of products, so that each layer need not convert it."""
    if on_gpu(bias_RHTS) and not torch.is_grad_enabled():
        return bias_RHTS.to(product_dtype(bias_RHTS.device, bias_RHTS.dtype))
    return bias_RHTS


def groups(x_BTD: Tensor) -> int:
    """Into how many equal groups attention over parameters divides all positions; one on a CPU.

    The gradient of a few heads alone would not use all processors of a GPU.
    """
    return math.gcd(x_BTD[..., 0].numel(), GROUPS) if on_gpu(x_BTD) else 1


class LSTM(nn.LSTM):
    """PyTorch's LSTM, in float32 on a GPU and on a CPU that does not multiply bfloat16.

    Under autocast to bfloat16, cuDNN computes in float16, in which small gradients vanish, and oneDNN refuses LSTMs on
    a CPU that does not multiply bfloat16.
    """

    def forward(  # type: ignore[override]
        self, x: Tensor, before: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The outputs [B, T, D], and the last output and cell, [1, B, D] each. `before` has those before the first."""
        if not x.is_cuda and auto_precision(x.device) == "bfloat16":
            return super().forward(x, before)
        with torch.autocast(x.device.type, enabled=False):
            return super().forward(x.type_as(self.all_weights[0][0]), before)


def encoder_batches(source_BS: Tensor) -> list[Tensor]:
    """The sentences that are encoded together: on a CPU a few at a time, padded only to the longest of these."""
    if not on_cpu(source_BS):
        return [source_BS]
    return [part[:, : int((part != PADDING).sum(1).max())] for part in source_BS.split(ENCODED)]


def product_dtype(device: torch.device, otherwise: torch.dtype) -> torch.dtype:
    """The type in which a device computes products: that of autocast if it is on, and `otherwise` else."""
    return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else otherwise


def row_padding(length: int, device: torch.device) -> int:
    """How many more places rows of a length need on a device."""
    return -length % UNIT if device.type == "cuda" else 0


def to_device(x: Tensor, device: torch.device) -> Tensor:
    """`x` on a device. The copy to a GPU is asynchronous."""
    return x.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else x.to(device)
