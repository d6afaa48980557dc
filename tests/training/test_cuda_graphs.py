"""CUDA graphs of updates, tested on a CPU: a graph here does the recorded work again when it is replayed."""

import numpy as np
import pytest
import torch
from torch import nn

from transformer.model.ids import END
from transformer.model.masks import Rows
from transformer.text.batches import Batch
from transformer.training import cuda_graphs
from transformer.training.cuda_graphs import WARM, Recorder

CPU = torch.device("cpu")


class Graph:
    """Work that is done when it is replayed, in the same memory. `pools` collects the memory of all graphs."""

    def __init__(self, work, pool, pools):
        self.work, self.pool = work, lambda: "the pool"
        pools.append(pool)

    def replay(self):
        self.work()


@pytest.fixture
def pools(monkeypatch):
    pools = []
    monkeypatch.setattr(cuda_graphs, "record", lambda work, pool: Graph(work, pool, pools))
    return pools


def batch(length, seed):
    ids = torch.from_numpy(np.random.default_rng(seed).integers(END + 1, 20, (2, length)))
    return Batch(Rows.of(ids), Rows.of(ids + 1), np.array([[length, length]]))


class Learner:
    """A weight whose gradient depends on all that an update is given."""

    def __init__(self):
        self.weight, self.calls = nn.Parameter(torch.zeros(())), 0
        self.weight.grad = torch.zeros(())

    def update(self, batch, share, rate):
        self.calls += 1
        of = sum(part.double().mean() for part in (*batch.source, *batch.target))
        self.weight.grad.copy_(share * of)
        self.weight.data -= rate * self.weight.grad


def test_a_recorded_update_reads_the_new_batch_and_numbers(pools):
    ours, plain = Learner(), Learner()
    recorder = Recorder(ours.update, [ours.weight], CPU)
    for number, length in enumerate((5, 7, 5, 5, 7, 5, 7, 7, 5)):
        given = batch(length, number), 1 / (number + 3), 0.1 + number
        recorder(*given)
        plain.update(given[0], *torch.tensor(given[1:]))
        assert torch.equal(ours.weight, plain.weight)
        assert torch.equal(recorder.gradients[0], plain.weight.grad)
    assert pools == [None, "the pool"]


def test_the_first_batches_of_a_shape_are_not_recorded(pools):
    learner = Learner()
    recorder = Recorder(learner.update, [learner.weight], CPU)
    for number in range(WARM):
        recorder(batch(5, number), 1.0, 0.1)
        recorder(batch(7, number), 1.0, 0.1)
    assert not pools
    recorder(batch(5, 3), 1.0, 0.1)
    assert len(pools) == 1


def refused(work, pool):  # noqa: ARG001
    raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nmore")


def exhausted(work, pool):  # noqa: ARG001
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def exhausted_and_hidden(work, pool):
    """As PyTorch does when it ends a recording that failed."""
    try:
        exhausted(work, pool)
    finally:
        refused(work, pool)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (refused, "RuntimeError: CUDA error: operation not permitted when stream is capturing"),
        (exhausted_and_hidden, "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    ],
)
def test_updates_that_cannot_be_recorded_run_as_they_are_and_one_line_says_so(monkeypatch, pools, capsys, fault, why):
    """The graphs that were recorded before have given their memory back by then."""
    learner, held = Learner(), []
    recorder = Recorder(learner.update, [learner.weight], CPU)
    for number in range(WARM + 1):
        recorder(batch(5, number), 1.0, 0.1)
    assert len(pools) == 1
    learner.calls = 0
    recorder.update = lambda *given: (held.append((recorder.recorded, recorder.gradients)), learner.update(*given))
    monkeypatch.setattr(cuda_graphs, "record", fault)
    for number in range(6):
        recorder(batch(7, number), 1.0, 0.1)
        recorder(batch(5, number), 1.0, 0.1)
    assert learner.calls == 12
    assert ({}, []) in held
    assert capsys.readouterr().err == f"steps cannot be recorded as CUDA graphs, so small models train slower ({why})\n"
