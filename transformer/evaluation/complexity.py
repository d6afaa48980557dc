"""Table 1, measured: a layer's time, FLOPs, memory and sequential operations, and the longest path through a stack.

Shapes are those of attention.py for one sentence of n positions. As in Table 1, attention is measured without its
projections; one more row includes them.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from itertools import count, takewhile
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from transformer.evaluation.layer_sizes import MOST_ADDITIVE, LayerSizes
from transformer.evaluation.restricted import Restricted
from transformer.model.attention import SelfAttention, attention_function, join_heads, split_heads
from transformer.model.cache import KeysValues
from transformer.model.config import Attention, ModelConfig
from transformer.model.masks import Mask
from transformer.support.device import device_name, within_memory

SECONDS, TIMES = 0.1, 3  # each size is measured at least this long and this often
COUNTED = (16, 32, 64, 128)  # lengths n for which sequential operations and paths are counted
PRODUCTS = {getattr(torch.ops.aten, name) for name in ("mm", "addmm", "bmm", "baddbmm", "convolution")}


class _Layer(nn.Module):
    """A layer over [1, n, d]."""

    period = 1  # number of different layers that a stack repeats

    def hop(self, x_1TD: Tensor, layer: int) -> Tensor:  # noqa: ARG002
        """One step of a path: this layer in the role of number `layer` of a period, from 0."""
        return self(x_1TD)


class _Attention(_Layer):
    """Self-attention without projections: its input serves as queries, keys and values."""

    def __init__(self, n: int, d: int, d_k: int, kind: Attention = "scaled", radius: int | None = None):
        super().__init__()
        self.h, self.attend = d // d_k, attention_function(_sizes(d, d_k, kind))
        self.restricted = None if radius is None else Restricted(n, radius)
        self.mask = _everything(n) if radius is None else None

    def forward(self, x_1TD: Tensor) -> Tensor:
        q = split_heads(x_1TD, self.h).contiguous()
        if self.restricted:
            return join_heads(self.restricted(self.attend, q))
        return join_heads(self.attend(q, KeysValues(q, q), self.mask))


class _Projected(_Layer):
    """The model's self-attention, with projections."""

    def __init__(self, n: int, d: int, d_k: int):
        super().__init__()
        self.attention, self.mask = SelfAttention(_sizes(d, d_k)), _everything(n)

    def forward(self, x_1TD: Tensor) -> Tensor:
        return self.attention(x_1TD, self.mask)


class _Recurrent(_Layer):
    """An LSTM."""

    def __init__(self, d: int):
        super().__init__()
        self.lstm = nn.LSTM(d, d, batch_first=True)

    def forward(self, x_1TD: Tensor) -> Tensor:
        return self.lstm(x_1TD)[0]

    def hop(self, x_1TD: Tensor, layer: int) -> Tensor:  # noqa: ARG002
        """One step of the recurrence, from the state at each position to the state at the next."""
        before = torch.cat([torch.zeros_like(x_1TD[:, :1]), x_1TD[:, :-1]], 1)
        return self.lstm(torch.zeros_like(x_1TD).transpose(0, 1), (before, torch.zeros_like(before)))[0].transpose(0, 1)


class _Convolution(_Layer):
    """A convolution of width k over positions. A stack repeats the given dilations."""

    def __init__(self, d: int, k: int, dilations: Sequence[int] = (1,), separable: bool = False):
        super().__init__()
        self.over_positions = nn.Conv1d(d, d, k, groups=d if separable else 1)
        self.over_width = nn.Conv1d(d, d, 1) if separable else nn.Identity()
        self.dilations, self.period = dilations, len(dilations)
        self.dilate(dilations[1 % self.period])

    def dilate(self, dilation: int) -> None:
        """Set the dilation, with the padding that keeps the output as long as the input."""
        convolution = self.over_positions
        convolution.dilation = (dilation,)
        convolution.padding = (convolution.kernel_size[0] // 2 * dilation,)

    def forward(self, x_1TD: Tensor) -> Tensor:
        return self.over_width(self.over_positions(x_1TD.transpose(1, 2))).transpose(1, 2)

    def hop(self, x_1TD: Tensor, layer: int) -> Tensor:
        self.dilate(self.dilations[layer])
        return self(x_1TD)


Make = Callable[[int, int, LayerSizes], _Layer]  # of n and d
ADDITIVE = "additive self-attention"
LAYERS: dict[str, Make] = {
    "self-attention": lambda n, d, sizes: _Attention(n, d, sizes.d_k),
    "self-attention with projections": lambda n, d, sizes: _Projected(n, d, sizes.d_k),
    ADDITIVE: lambda n, d, sizes: _Attention(n, d, sizes.d_k, "additive"),
    "recurrent": lambda _, d, __: _Recurrent(d),
    "convolutional": lambda _, d, sizes: _Convolution(d, sizes.k),
    "convolutional, dilated": lambda n, d, sizes: _Convolution(d, sizes.k, _dilations(n, sizes.k)),
    "convolutional, separable": lambda _, d, sizes: _Convolution(d, sizes.k, separable=True),
    "restricted self-attention": lambda n, d, sizes: _Attention(n, d, sizes.d_k, radius=sizes.r),
}


def _dilations(n: int, k: int) -> tuple[int, ...]:
    """The dilations 1, k, k^2 ... below n. A larger one would read padding only."""
    return 1, *takewhile(lambda dilation: dilation < n, (k**layer for layer in count(1)))


def _sizes(d: int, d_k: int, kind: Attention = "scaled") -> ModelConfig:
    """The config of attention whose heads of width d_k have the width d together."""
    return ModelConfig(1, d, 1, d // d_k, d_k, d_k, 0.0, "none", 1, attention=kind)


def _everything(n: int) -> Mask:
    """Each of n positions reads all."""
    return Mask(torch.ones(1, n, n, dtype=torch.bool))


def complexity(sizes: LayerSizes) -> dict[str, Any]:
    """The results of `measured`, `exponents`, `sequential_operations` and `path_length` for each layer, on the CPU.

    Raises InputError when memory runs out.
    """
    torch.manual_seed(1)
    layers = {}
    for name, make in LAYERS.items():
        most = MOST_ADDITIVE if name == ADDITIVE else math.inf
        by = {key: [measured(make, n, d, sizes) for n, d in sizes.points(key, most)] for key in ("n", "d")}
        layers[name] = {
            "by": by,
            "exponents": {key: exponents(rows, key) for key, rows in by.items()},
            "sequential": {str(n): sequential_operations(make(n, sizes.d_k, sizes), n, sizes.d_k) for n in COUNTED},
            "path": {str(n): path_length(make(n, sizes.d_k, sizes), n, sizes.d_k) for n in COUNTED},
        }
    device = device_name(torch.device("cpu"))
    return {"sizes": asdict(sizes), "device": device, "threads": torch.get_num_threads(), "layers": layers}


def measured(make: Make, n: int, d: int, sizes: LayerSizes) -> dict[str, float]:
    """Measure one layer's forward and backward pass in float32.

    Returns the shortest CPU time in seconds, the FLOPs of the matrix products, and the bytes kept for the backward
    pass, including the input but not the weights. Raises InputError when memory runs out.
    """
    with within_memory(f"a layer over {n} positions of width {d}", "choose smaller n and d"):
        layer, x = make(n, d, sizes), torch.randn(1, n, d, requires_grad=True)
        given = list(layer.parameters())
        with kept() as tensors:
            layer(x)
        own = {tensor.untyped_storage().data_ptr() for tensor in given}
        storages = {storage.data_ptr(): storage.nbytes() for storage in map(Tensor.untyped_storage, tensors)}
        with _step_by_step(), FlopCounterMode(display=False, custom_mapping=COUNTED_ANEW) as counter:
            _both_passes(layer, x)
        times: list[float] = []
        while len(times) < TIMES or sum(times) < SECONDS:
            start = time.process_time()
            _both_passes(layer, x)
            times.append(time.process_time() - start)
    kept_bytes = sum(size for place, size in storages.items() if place not in own)
    return {"n": n, "d": d, "seconds": min(times), "flops": counter.get_total_flops(), "bytes": kept_bytes}


def _both_passes(layer: nn.Module, x: Tensor) -> None:
    y = layer(x)
    y.backward(torch.ones_like(y))


@contextmanager
def kept() -> Iterator[list[Tensor]]:
    """Collect the tensors that PyTorch keeps for the backward pass."""
    tensors: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        tensors.append(tensor)
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        yield tensors


def _convolution_backward(of_y: list[int], _: Any, weight: list[int], *rest: Any, **__: Any) -> int:
    """Each of the two gradients takes the forward pass's FLOPs. PyTorch's own count is too high with groups."""
    return sum(rest[-1][:2]) * 2 * of_y[0] * of_y[2] * math.prod(weight)


COUNTED_ANEW = {torch.ops.aten.convolution_backward: _convolution_backward}


@contextmanager
def _step_by_step() -> Iterator[None]:
    """Disable oneDNN, because it runs a whole LSTM as one operation."""
    with warnings.catch_warnings(action="ignore"), torch.backends.mkldnn.flags(enabled=False):
        yield


def exponents(rows: list[dict[str, float]], size: str) -> dict[str, Any]:
    """The power of a size with which time, FLOPs and memory grow.

    It is fitted by least squares to the logarithms, over the larger half of the sizes.
    """
    rows = rows[len(rows) // 2 :]
    x = np.log([row[size] for row in rows])
    fits = {
        key: float(np.polyfit(x, np.log([row[key] for row in rows]), 1)[0]) for key in ("seconds", "flops", "bytes")
    }
    return {**fits, "from": rows[0][size], "to": rows[-1][size]}


class _Chain(TorchDispatchMode):
    """Finds the longest chain of matrix products in which each needs the result of the one before."""

    def __init__(self) -> None:
        super().__init__()
        self.depth: dict[int, int] = {}  # by storage, because views share their numbers
        self.alive: list[Tensor] = []  # keeps tensors alive, so that no address is used again

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = operation(*args, **(kwargs or {}))
        depth = max((self.depth.get(each.untyped_storage()._cdata, 0) for each in _tensors((args, kwargs))), default=0)
        for each in _tensors(output):
            self.alive.append(each)
            place = each.untyped_storage()._cdata
            self.depth[place] = max(self.depth.get(place, 0), depth + (operation.overloadpacket in PRODUCTS))
        return output


def _tensors(tree: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def sequential_operations(layer: nn.Module, n: int, d: int) -> int:
    """The length of a layer's longest chain of matrix products or convolutions that wait for each other."""
    with _step_by_step(), _Chain() as chain:
        layer(torch.randn(1, n, d))
    return max(chain.depth.values())


def path_length(layer: _Layer, n: int, d: int) -> int:
    """The most layers, or steps of a recurrence, that a signal needs from one of n positions to another.

    A layer connects an input with an output if the gradient between them is not zero. Layers are stacked until a
    whole period connects no new pair of positions.
    """
    connected = [_connected(layer, number, n, d) for number in range(layer.period)]
    reach, hops, longest = torch.eye(n), 0, 0
    while hops < longest + layer.period:
        farther = ((connected[hops % layer.period] @ reach + reach) > 0).float()
        hops += 1
        if not torch.equal(farther, reach):
            reach, longest = farther, hops
    return longest


def _connected(layer: _Layer, number: int, n: int, d: int) -> Tensor:
    """[n, n]: 1 where an output position of a hop depends on an input position."""
    x = torch.randn(1, n, d, requires_grad=True)
    outputs = layer.hop(x, number)[0].sum(-1)
    gradients = [torch.autograd.grad(output, x, retain_graph=True)[0][0] for output in outputs]
    return torch.stack([gradient.abs().amax(-1) > 0 for gradient in gradients]).float()
