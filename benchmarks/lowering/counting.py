"""Count what one update of the weights asks of a GPU, without a GPU.

The update runs twice on fake tensors, which have shapes but no content. PyTorch's compiler writes the code of its
graphs, which is read here and not run.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
import torch._inductor.compile_fx as inductor
import torch._inductor.config
from torch import Tensor, nn
from torch._inductor.graph import GraphLowering
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import GraphModule
from torch.utils.flop_counter import flop_registry

from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.text.batches import Batch, Shape
from transformer.training import loss, update
from transformer.training.config import RunConfig
from transformer.training.distributed import ALONE
from transformer.training.update import Updater

KERNEL = re.compile(r"^(triton_\w+) = async_compile\.triton\('triton_\w+', '''(.*?)'''", re.M | re.S)
LAUNCH = re.compile(r"\b(triton_\w+)\.run\(")
LIBRARY = re.compile(r"\b(?:extern_kernels|torch\.ops\.\w+)\.(\w+)[.\w]*\(")
FREE = {"aten::detach", "aten::empty", "aten::empty_strided", "aten::_unsafe_view", "prim::device"}
PRODUCTS = {"mm", "addmm", "bmm", "baddbmm", "_addmm_activation"}


@dataclass
class Graph:
    """A compiled graph: Triton kernels by name with their launches and GB, calls of libraries, and FLOPs.

    `float32` names its products of float32 numbers. `calls` counts how often an update runs the graph.
    """

    name: str
    kernels: dict[str, tuple[int, float]]
    libraries: Counter[str]
    flops: int
    float32: list[str]
    calls: int = 0


@dataclass
class Counts:
    """What one update asks of a GPU: its graphs, and the operations outside of them."""

    graphs: list[Graph] = field(default_factory=list)
    outside: Counter[str] = field(default_factory=Counter)

    @property
    def kernels(self) -> int:
        """Launches of Triton's kernels."""
        return sum(graph.calls * launches for graph in self.graphs for launches, _ in graph.kernels.values())

    @property
    def gigabytes(self) -> float:
        """What these kernels read and write, in GB."""
        return sum(graph.calls * size for graph in self.graphs for _, size in graph.kernels.values())

    @property
    def libraries(self) -> Counter[str]:
        """Calls of libraries inside graphs, by name."""
        sums: Counter[str] = Counter()
        for graph in self.graphs:
            sums.update({name: graph.calls * calls for name, calls in graph.libraries.items()})
        return sums

    @property
    def products(self) -> int:
        """Matrix products, of graphs and outside of them."""
        outside = Counter({name.split(".")[1]: calls for name, calls in self.outside.items()})
        return sum(calls for name, calls in (self.libraries + outside).items() if name in PRODUCTS)

    @property
    def flops(self) -> int:
        """FLOPs of the products and attentions inside graphs."""
        return sum(graph.calls * graph.flops for graph in self.graphs)


class _Lowered(Exception):  # noqa: N818 - no error
    """The compiler has written the code; the rest of its work needs a GPU."""


class _Fake(FakeTensorMode):
    """Fake tensors, and a count of the operations on them while `outside` is not None."""

    outside: Counter[str] | None = None

    def dispatch(self, function: Any, *given: Any, **named: Any) -> Any:
        """Run an operation. Views, and what only reads a shape, do nothing on a GPU."""
        if self.outside is not None and isinstance(function, torch._ops.OpOverload) and not _free(function):
            self.outside[str(function)] += 1
        if function._overloadpacket is torch.ops.aten._fused_adam_:  # PyTorch has no fake version of it
            return None
        return super().dispatch(function, *given, **named)

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Operations that a compiled graph does are not counted again."""
        outside, self.outside = self.outside, None
        try:
            yield
        finally:
            self.outside = outside


def _free(function: torch._ops.OpOverload) -> bool:
    """Whether an operation does nothing on a GPU, or only takes memory."""
    return function.is_view or function._schema.name in FREE


def count(run: RunConfig, vocabulary: int, shape: Shape) -> Counts:
    """What an update of a run's model asks of a GPU, for one batch of a shape.

    Call `pretend` first. Raises PyTorch's error when the model cannot be compiled as a whole.
    """
    counts, code = Counts(), []

    def to_code(lowering: GraphLowering) -> None:
        code.append(getattr(text := lowering.codegen()[0], "value", text))
        raise _Lowered

    def inner(graph: GraphModule, example: Sequence[Tensor], **given: Any) -> Callable[[list[Tensor]], Any]:
        code.clear()
        try:
            inductor.compile_fx_inner(graph, example, **given)
        except Exception:  # of another type, because the compiler wraps it
            if not code:
                raise
        kind = "backward" if given.get("is_backward") else "forward"
        known = _read(f"{kind} {len(counts.graphs)}", code[0], graph)
        counts.graphs.append(known)

        def call(given: list[Tensor]) -> Any:
            known.calls += 1
            with fake.uncounted():
                return graph(*given)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    def backend(graph: GraphModule, example: Sequence[Tensor], options: dict[str, Any] | None = None) -> Any:
        return inductor.compile_fx(graph, example, inner_compile=inner, config_patches=options)

    with (
        torch._inductor.config.patch(fx_graph_cache=False, profile_bandwidth=True),
        torch._functorch.config.patch(enable_autograd_cache=False),
        patch.object(GraphLowering, "compile_to_module", to_code),
        patch.object(loss, "_compiled_part", lambda: part),
        patch.object(update, "can_compile", lambda: True),
        patch.object(torch, "manual_seed", lambda _: None),
        _Fake(allow_non_fake_inputs=True) as fake,
    ):
        part = torch.compile(loss._fused_part, backend=backend, fullgraph=True)
        with torch.device("cuda"):
            model = network(run.architecture, vocabulary)
        model.prepare(max(shape[1:]))
        model.compile = lambda **given: nn.Module.compile(model, backend=backend, fullgraph=True, **given)  # type: ignore[method-assign]
        device = model.embedding.device
        updater = Updater(model, run.training, device, ALONE)
        updater.precision = "bfloat16"
        batch = Batch(*(_rows(shape.rows, length, device) for length in shape[1:]), np.ones((1, 2), dtype=np.int64))
        numbers = torch.ones(2, device=device)
        for last in (False, True):
            for graph in counts.graphs:
                graph.calls = 0
            fake.outside = counts.outside if last else None
            updater.update([batch], *numbers.unbind())
    return counts


def _rows(rows: int, length: int, device: torch.device) -> Rows:
    return Rows(*(torch.ones(rows, length, dtype=torch.long, device=device) for _ in range(3)))


def _read(name: str, code: str, graph: GraphModule) -> Graph:
    """What the code of a graph launches, and the FLOPs of its operations."""
    sizes = {kernel: re.search(r"'kernel_num_gb': ([0-9.e+-]+)", text) for kernel, text in KERNEL.findall(code)}
    launches = Counter(LAUNCH.findall(code))
    kernels = {
        kernel: (number, number * float(found[1]) if (found := sizes.get(kernel)) else 0.0)
        for kernel, number in launches.items()
    }
    flops, float32 = 0, []
    for node in graph.graph.nodes:
        if (packet := getattr(node.target, "_overloadpacket", None)) in flop_registry:
            given = torch.fx.node.map_arg(node.args, lambda each: each.meta["val"])
            flops += flop_registry[packet](*given, **node.kwargs, out_val=node.meta["val"])
            if torch.float32 in [each.dtype for each in given[:2] if isinstance(each, Tensor)]:
                float32.append(str(node.target))
    return Graph(name, kernels, Counter(LIBRARY.findall(code)), flops, float32)
