"""Training steps as CUDA graphs: a GPU then runs a whole step at once, and does not wait for Python."""

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from transformer.model import kernels
from transformer.support.device import first_cause
from transformer.text.batches import Batch

Update = Callable[[Batch, Tensor, Tensor], None]  # trains on a batch, given `share` and the learning rate
Shape = tuple[torch.Size, torch.Size]
WARM = 2  # how many steps of a shape run before one is recorded: they compile, and libraries allocate their memory


def record(work: Callable[[], None], pool: Any) -> torch.cuda.CUDAGraph:
    """Record some work as a CUDA graph in the memory `pool`. It is done whenever the graph is replayed, and not now.

    Only this thread has to avoid calls that would spoil the recording: another one may be writing the state.
    """
    graph = torch.cuda.CUDAGraph()
    with (
        torch.cuda.stream(torch.cuda.current_stream()),  # a recording that fails would leave its own stream
        torch.cuda.graph(graph, pool=pool, capture_error_mode="thread_local"),
    ):
        work()
    return graph


def restore_random_state(device: torch.device) -> None:
    """Let random numbers be drawn again after a recording that failed: PyTorch 2.11 would go on recording them.

    Graphs that were recorded before cannot be replayed any more.
    """
    generator = torch.cuda.default_generators[device.index]
    generator.graphsafe_set_state(generator.clone_state())


class _Recorded(NamedTuple):
    """A recorded update: its graph, the rows that it reads, and the gradients that it leaves."""

    graph: torch.cuda.CUDAGraph
    rows: list[Tensor]
    gradients: list[Tensor]


class Recorder:
    """Updates the weights. From the third batch of a shape on, an update is one CUDA graph.

    All graphs share their memory, because an update needs nothing from the one before it but the weights and sums.
    """

    def __init__(self, update: Update, parameters: Iterable[nn.Parameter], device: torch.device):
        self.update, self.parameters, self.device = update, list(parameters), device
        self.numbers = torch.zeros(2, device=device)  # share and learning rate
        self.seen: Counter[Shape] = Counter()
        self.recorded: dict[Shape, _Recorded] = {}
        self.able = True
        self.gradients: list[Tensor] = []  # of the last update

    def __call__(self, batch: Batch, share: float, rate: float) -> None:
        """Update the weights; `share` scales the gradient of the loss (`smoothed_cross_entropy`)."""
        batch = batch.on(self.device)
        self.numbers.copy_(kernels.to_device(torch.tensor([share, rate]), self.device))
        shape = batch.source.ids.shape, batch.target.ids.shape
        self.seen[shape] += 1
        if self.seen[shape] > WARM and shape not in self.recorded and self.able:
            self._record(shape, batch)
        if recorded := self.recorded.get(shape):
            for mine, given in zip(recorded.rows, rows_of(batch), strict=True):
                mine.copy_(given)
            recorded.graph.replay()
            self.gradients = recorded.gradients
        else:
            self.update(batch, *self.numbers.unbind())
            self.gradients = gradients_of(self.parameters)

    def _record(self, shape: Shape, batch: Batch) -> None:
        """Record an update for a shape. Prints one line, and never tries again, if that is impossible."""
        pool = next((each.graph.pool() for each in self.recorded.values()), None)
        try:
            graph = record(lambda: self.update(batch, *self.numbers.unbind()), pool)
        except RuntimeError as error:  # also memory that runs out: a graph keeps what it uses, other updates do not
            self.able = False
            self.recorded.clear()
            self.gradients = []
            if self.device.type == "cuda":
                restore_random_state(self.device)
            why = first_cause(error)
            print(f"steps cannot be recorded as CUDA graphs, so small models train slower ({why})", file=sys.stderr)
        else:
            self.recorded[shape] = _Recorded(graph, rows_of(batch), gradients_of(self.parameters))


def gradients_of(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    """The gradients of those parameters that have one."""
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def rows_of(batch: Batch) -> list[Tensor]:
    """All tensors of a batch's rows."""
    return [*batch.source, *batch.target]
