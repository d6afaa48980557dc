"""The code that is compiled for a GPU, tested on a CPU. The compiler runs PyTorch's operations or only counts calls."""

from itertools import islice

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.gpu.made import drawn_lengths, drawn_pairs
from transformer.model.config import ENCODINGS, AttentionOverParametersConfig
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.transformer import Transformer
from transformer.support.device import compile_in_place
from transformer.text.batches import Batches, once
from transformer.training.fused import _part_for_compiler
from transformer.training.passes import PROBABILITIES

STEPS, TOKENS, VOCABULARY = 200, 25_000, 40


@pytest.fixture(autouse=True)
def from_the_start():
    """Discard what was compiled before, and restore PyTorch's settings afterwards."""
    torch._dynamo.reset()
    with torch._dynamo.config.patch(recompile_limit=8):
        yield
    torch._dynamo.reset()


def compiled(model, backend):
    """A model compiled like that of a training, but by `backend`. Graph breaks and other failures are errors."""

    def compile_it(dynamic, options):
        assert options == {"triton.mix_order_reduction": False}  # for PyTorch's own compiler
        nn.Module.compile(model, backend=backend, fullgraph=True, dynamic=dynamic)

    model.compile = compile_it
    compile_in_place(model, model.config.d_model)
    return model


class Counting:
    """A compiler that runs the operations of a graph unchanged."""

    def __init__(self):
        self.graphs = 0

    def __call__(self, graph, _):
        self.graphs += 1
        return graph.forward


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """Pairs with lengths like WMT's, enough for STEPS steps."""
    prefix = tmp_path_factory.mktemp("tokens") / "train"
    return drawn_pairs(prefix, drawn_lengths(STEPS * TOKENS // 27, 256), VOCABULARY)


def of_wmt(pairs, micro, share=slice(None)):
    """The micro-batches of STEPS steps."""
    batches = Batches(pairs, TOKENS, micro, 256, 1, share)
    return [each for *_, step in islice(batches.from_position(0, 0), STEPS) for each in step]


@pytest.mark.parametrize(
    ("micro", "share", "most"),
    [(TOKENS, slice(1, None, 3), 4), (6_000, slice(None), 6)],
    ids=["a third of each step", "micro-batches"],
)
def test_a_model_is_compiled_once_for_each_shape_without_a_break(run_config, pairs, micro, share, most):
    """200 steps and the dev pairs have two shapes each; micro-batches of r and of r + 1 rows are two shapes."""
    counting = Counting()
    with torch.device("meta"):
        model = compiled(Transformer(run_config(P_drop=0.0, max_length=1000).architecture, VOCABULARY), counting)
    train, dev = (
        list({(batch.source.ids.shape, batch.target.ids.shape): batch for batch in batches}.values())
        for batches in (of_wmt(pairs, micro, share), once(pairs, np.arange(250), micro))
    )
    for batches in (train, dev, train):
        model.train(batches is train)
        for batch in batches:
            with torch.set_grad_enabled(batches is train):
                model(*(Rows(*(each.to("meta") for each in rows)) for rows in (batch.source, batch.target)))
    assert counting.graphs == len(train) + len(dev) <= most


def test_the_loss_is_compiled_four_times_at_most(pairs):
    """Once for whole parts, for the rest of a batch, for a batch smaller than a part, and for another eps_ls."""
    counting = Counting()
    loss = torch.compile(_part_for_compiler, backend=counting, fullgraph=True)
    sizes = {batch.target.ids.numel() for batch in of_wmt(pairs, 6_000)} | {1234, 7001}
    rows = PROBABILITIES["cuda"] // 37_000
    for eps_ls in (0.1, 0.0, 0.1):
        for size in sizes:
            logits, target = torch.empty(size, VOCABULARY, device="meta"), torch.empty(size, device="meta").long()
            for start in range(0, size, rows):
                part = slice(start, start + rows)
                loss(logits[part], target[part], eps_ls, torch.empty((), device="meta"))
    assert counting.graphs <= 4


@pytest.mark.parametrize(
    "changes",
    [
        *({"positions": encoding} for encoding in ENCODINGS),
        {"attention_over_parameters": AttentionOverParametersConfig(2, 8, 8, 12)},
    ],
)
def test_the_compiled_model_computes_the_same_as_the_model(run_config, changes):
    model = Transformer(run_config(P_drop=0.0, **changes).architecture, VOCABULARY).double()
    source, target = (Rows.of(torch.randint(END, 8, (3, length))) for length in (17, 20))
    results = []
    for _ in range(2):
        model.zero_grad()
        y = model(source, target)
        y.square().sum().backward()
        results.append(
            [y.detach(), *(parameter.grad for parameter in model.parameters() if parameter.grad is not None)]
        )
        compiled(model, "aot_eager")
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("eps_ls", [0.0, 0.1])
def test_the_compiled_loss_equals_the_definition(dtype, eps_ls):
    logits, target = (3 * torch.randn(50, 30)).to(dtype), torch.randint(END, 30, (50,))
    target[7:12] = PADDING
    exact, shown = logits.double().requires_grad_(), target != PADDING
    share = torch.tensor(1 / 3)
    loss = torch.compile(_part_for_compiler, backend="aot_eager", fullgraph=True)(logits, target, eps_ls, share)
    wanted = torch.full((50, 30), eps_ls / 29).double().scatter(1, target[:, None], 1 - eps_ls)
    reference = -(wanted * exact.log_softmax(1))[shown].sum()
    (reference / 3).backward()
    assert (loss.dtype, logits.dtype) == (torch.float32, dtype)
    torch.testing.assert_close(loss.double(), reference, rtol=1e-6, atol=0)
    torch.testing.assert_close(logits, exact.grad.to(dtype), rtol=1e-5 if dtype == torch.float32 else 1e-2, atol=1e-6)
    assert not logits[~shown].any()
