"""The time of a training step (section 5.2) of several runs, which take turns, alone on the machine."""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from transformer.evaluation.turns import in_turns, used_by_others
from transformer.support.device import device_name, keep_freed_memory, use_gpu
from transformer.support.processes import shared
from transformer.support.provenance import software
from transformer.text.tokens import read_pairs
from transformer.training.config import RunConfig
from transformer.training.loop import Trainer

STEPS = {"cpu": 10, "cuda": 50}  # of a turn, on each type of device; every turn trains on the same batches
WARM = 3  # turns that do not count: memory still grows, and a GPU records the third step of a shape as a CUDA graph
ROUNDS = 10
IDLE = 0.2  # of a core; other programs that use less of the machine do not disturb
PATIENCE = 30.0  # seconds to wait until they use less


@dataclass(frozen=True)
class Step:
    """What a step of a run is."""

    task: str
    model: str
    seed: int
    config_sha256: str
    parameters: int
    precision: str
    compiled: bool
    flops: float  # of its matrix products, like `forward_flops`, without padding
    target_tokens: float


@dataclass(frozen=True)
class Setup:
    """What all runs share. It is sent to their processes."""

    vocabulary: int
    sha256: str  # of the vocabulary's model
    tokens: Path
    device: torch.device
    threads: int
    micro_batch_tokens: int


class Turns:
    """The turns of a run, in a process of its own, like a training. In one process, models leave gaps in memory.

    It begins with the run's initial weights, and every turn trains on the run's first batches. What the steps learn is
    thrown away.
    """

    def __init__(self, config: RunConfig, setup: Setup):
        keep_freed_memory()
        torch.set_num_threads(setup.threads)
        if setup.device.type == "cuda":
            use_gpu(setup.device.index)
        pairs = read_pairs(setup.tokens / "train", setup.vocabulary, setup.sha256)
        with TemporaryDirectory() as folder:
            given = (config, setup.vocabulary, pairs, pairs, Path(folder), setup.device)
            self.trainer = Trainer(*given, micro_batch_tokens=setup.micro_batch_tokens)
        self.trainer.model.train()
        self.trainer.try_compiler()
        every = self.trainer.batches.from_position(0, 0)
        self.steps = [batches for *_, batches in islice(every, STEPS[setup.device.type])]

    def __call__(self, turns: int) -> tuple[float, Step]:
        """Train for some turns. Returns the CPU seconds that they take, and what a step is."""
        start = time.process_time()
        with self.trainer.within_memory():
            for batches in turns * self.steps:
                self.trainer.step(batches)
            self.trainer.check_finite()  # this also waits until a GPU has done all steps
        return time.process_time() - start, self.step()

    def step(self) -> Step:
        """What a step is, on average over a turn."""
        config, state = self.trainer.config, self.trainer.state
        return Step(
            task=config.task,
            model=config.model,
            seed=config.seed,
            config_sha256=config.sha256(),
            parameters=sum(parameter.numel() for parameter in self.trainer.model.parameters()),
            precision=state.precision,
            compiled=self.trainer.updater.model_compiled,
            flops=state.flops / state.step,
            target_tokens=state.target_tokens / state.step,
        )


def step_times(configs: Sequence[RunConfig], setup: Setup) -> dict[str, Any]:
    """The seconds of a step of each run in each round, and how many CPU cores other programs used meanwhile.

    Every round has a turn of each run. Before the first one, this function waits up to PATIENCE seconds for other
    programs to end. Making batches is not measured. Raises the errors of `Trainer` and `shared`.
    """
    with ExitStack() as stack:
        warming = stack.enter_context(ThreadPoolExecutor(len(configs)))  # its threads end when the processes have ended
        turns = [stack.enter_context(shared(1, "--config", "free memory", Turns, config, setup)) for config in configs]

        def take(which: int, count: int = 1) -> tuple[float, Step]:
            [answer] = turns[which]([count])
            return answer

        # All at once, because compiling for a GPU takes minutes.
        steps = [step for _, step in warming.map(partial(take, count=WARM), range(len(turns)))]
        others: list[list[float]] = [[] for _ in turns]

        def watched(which: int, _: int) -> None:
            others[which].append(used_by_others(lambda: take(which)[0]))

        waited = wait_until_idle()
        count = STEPS[setup.device.type]
        seconds = in_turns([partial(watched, which) for which in range(len(turns))], ROUNDS) / count
    return {
        "device": device_name(setup.device),
        "threads": setup.threads,
        "software": software(),
        "rounds": ROUNDS,
        "steps": count,
        "waited": waited,
        "rows": [
            # JSON has no NaN, which stands for an unknown load.
            {**asdict(step), "seconds": each.tolist(), "others": [None if np.isnan(one) else one for one in used]}
            for step, each, used in zip(steps, seconds.T, others, strict=True)
        ],
    }


def wait_until_idle() -> float:
    """Wait until other programs use less than IDLE cores. Prints a line if they do not. Returns the seconds."""
    start, told = time.monotonic(), False
    while (others := used_by_others(_sleep)) > IDLE:
        if time.monotonic() - start > PATIENCE:
            print(f"warning: other programs still use {others:.1f} CPU cores; measuring beside them", file=sys.stderr)
            break
        if not told:
            told = True
            text = f"other programs use {others:.1f} CPU cores; waiting for up to {PATIENCE:.0f} seconds until they end"
            print(text, file=sys.stderr, flush=True)
    return time.monotonic() - start


def _sleep() -> float:
    time.sleep(1)
    return 0.0
