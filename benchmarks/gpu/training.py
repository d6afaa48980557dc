"""Measure how fast a model of the paper's tables trains, beside models of other libraries for the same function.

The ids are random, with lengths like WMT's. A step has 25,000 subwords on each side (`benchmarks/train.py`).
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
import torch
from torch._dynamo.utils import counters

from benchmarks.gpu.made import ROOT, drawn_lengths, drawn_pairs
from benchmarks.gpu.step import attentions, in_float32, profiled, unfused
from benchmarks.padded import padded, padded_steps
from benchmarks.peers import PEERS, PRECISIONS
from benchmarks.train import ROUND, TRIAL, Meter, Ours, fastest
from transformer.support.device import auto_precision, sustained_flops
from transformer.support.files import one_line
from transformer.text.batches import Batch, Batches, Step
from transformer.text.tokens import Pairs
from transformer.training.config import RunConfig
from workflow.experiment.config import read_experiment
from workflow.experiment.cost import TREE

COMPARED = 100  # pairs on which losses are compared; peers keep much memory for each
SHAPES = 2  # that are measured, the most frequent ones: to compile for one takes half a minute
WARM = 3  # steps of each shape: the third one records the CUDA graph
BESIDE = ("MarianMTModel", "torch.nn.Transformer")
TINY = {"N": 1, "d_model": 32, "d_ff": 64, "h": 2, "d_k": 16, "d_v": 16}
TINY_PARAMETERS = {"h_p": 2, "d_pk": 16, "d_pv": 16, "n_p": 64}


def configured(model: str, tiny: bool) -> tuple[RunConfig, int]:
    """A run of the experiment `paper`, and the size of its vocabulary."""
    experiment = read_experiment([ROOT / "config/paper.yaml"])
    run = experiment.run("", model, 1)
    vocabulary = experiment.tasks["wsj" if model == "parser" else "ende"].vocabulary
    architecture = replace(run.architecture, max_length=run.training.longest_pair)  # the peers have tables of positions
    if not tiny:
        return replace(run, architecture=architecture), vocabulary
    over = architecture.attention_over_parameters
    over = over and replace(over, **TINY_PARAMETERS)
    architecture = replace(architecture, **TINY, attention_over_parameters=over)
    return replace(run, architecture=architecture, training=replace(run.training, batch_tokens=500)), 100


def packed(step: Step, pairs: Pairs) -> list[Batch]:
    """All rows of a step as one batch."""
    return [step.batch(pairs, np.arange(step.shape.rows))]


def main_memory() -> int:
    """Bytes of main memory of this process and of those that it started, where shared memory counts once."""
    own = psutil.Process()
    used = [each.memory_full_info() for each in (own, *own.children(recursive=True))]
    return sum(getattr(each, "pss", each.uss) for each in used)


def measure(model: str, device: torch.device, tiny: bool) -> Iterator[dict[str, Any]]:
    """The speeds of our model, its profile, and then the speeds of each peer."""
    counters.clear()
    run, vocabulary = configured(model, tiny)
    training = run.training
    count, measured = (400, 2) if tiny else (100_000, 3 * ROUND)
    lengths = drawn_lengths(count, training.longest_pair, TREE if model == "parser" else 1.0)
    with TemporaryDirectory() as folder:
        pairs = drawn_pairs(Path(folder, "train"), lengths, vocabulary)
        began = time.perf_counter()
        epoch = list(Batches(pairs, training.batch_tokens, training.batch_tokens, training.longest_pair, 1).epoch(0))
        steps = {step.shape: packed(step, pairs) for step in epoch}
        packing = (time.perf_counter() - began) / len(epoch)
        shapes = Counter(step.shape for step in epoch)
        warm = [shape for shape, _ in shapes.most_common(SHAPES)]

        def ours() -> Ours:
            """Our model after WARM steps of each measured shape."""
            system = Ours(run, vocabulary, pairs, device)
            for shape in warm * WARM:
                system.step(steps[shape])
            return system

        began = time.perf_counter()
        meter = Meter(
            ours, lambda _: list(islice((packed(step, pairs) for step in epoch if step.shape in warm), measured))
        )
        warming = time.perf_counter() - began
        peaks = {name: sustained_flops(device, dtype) for name, dtype in PRECISIONS.items()}
        trainer = meter.system.trainer
        yield {
            "tokens": training.batch_tokens,
            "shapes": len(shapes),
            "warm": len(warm),
            "warming": warming,
            "packing_ms": 1e3 * packing,
            "main_memory": main_memory(),
            "graphs": counters["stats"]["unique_graphs"],
            "breaks": sum(counters["graph_break"].values()),
            "compiled": trainer.updater.compiled,
            "should_compile": device.type == "cuda",
            "precision": trainer.state.precision,
            "should_be_in": auto_precision(device),
        }
        yield {"systems": (systems := {"ours": speeds(meter, peaks)})}
        recorder = trainer.updater.recorder
        yield {"without_cuda_graph": len(warm) - (len(recorder.recorded) if recorder else 0)}
        yield profile_of(meter.system, [steps[shape] for shape in warm])
        if run.architecture.attention_over_parameters:
            return  # the peers do not have this attention
        every = padded_steps(pairs, training.batch_tokens, training.longest_pair)
        theirs = [[batch] for batch in islice(every, measured)]
        some = padded(pairs, np.arange(min(COMPARED, len(pairs))))
        for name in BESIDE:
            systems[name] = beside(*PEERS[name], meter.system, some, theirs, peaks)
            yield {"systems": systems}


def profile_of(ours: Ours, steps: Sequence[list[Batch]]) -> dict[str, Any]:
    """Where the time of the first step goes, and what the kernels of all steps show."""
    rows, events = profiled(partial(ours.step, steps[0]))
    for step in steps[1:]:
        events += profiled(partial(ours.step, step))[1]
    return {
        "profile": sorted(rows, key=lambda row: -row[2]),
        "attention": sorted(attentions(events)),
        "unfused": sorted(unfused(events)),
        "in_float32": sorted(in_float32(events)),
    }


def beside(
    kind: type,
    settings: Sequence[tuple[str, str]],
    ours: Ours,
    some: Batch,
    steps: Sequence[list[Batch]],
    peaks: dict[str, float],
) -> dict[str, Any]:
    """The speeds of a peer in its fastest setting, or the reason why it has none. Its memory is free afterwards.

    Its loss on the pairs `some` must equal ours.
    """
    if not find_spec(kind.needs):
        return {"reason": f"{kind.needs} is not installed"}
    try:
        meter = Meter(partial(fastest, kind, settings, ours, some, steps[:TRIAL]), lambda _: steps)
        meter.system.step(steps[0])
        return speeds(meter, peaks)
    except torch.OutOfMemoryError:
        return {"reason": "out of memory"}
    except (Exception, SystemExit) as error:  # another version of the library may differ
        return {"reason": one_line(error)}


def speeds(meter: Meter, peaks: dict[str, float]) -> dict[str, Any]:
    """Train all rounds of a meter, and return its measurements. `peaks` are the device's FLOP/s in each precision."""
    trainer = meter.system.trainer
    for number in range(len(meter.rounds)):
        meter.round(number)
    return {
        "setting": list(meter.system.setting),
        "ms": 1e3 * median(seconds / len(some) for seconds, some in zip(meter.seconds, meter.rounds, strict=True)),
        "subwords_per_second": float(np.median(meter.speeds())),
        "mfu": meter.flops(trainer.config.architecture, trainer.vocabulary) / peaks[meter.system.setting[0]],
        "padding": float(meter.padding()),
        "bytes": meter.most,
    }
