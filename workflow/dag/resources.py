"""The resources that jobs request from a cluster."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from snakemake.iocontainers import Wildcards

from transformer.model.parameters import parameters
from workflow.dag.runs import SHARD, Runs
from workflow.experiment.config import Experiment
from workflow.experiment.cost import (
    CORE,
    DEVICES,
    SENTENCES,
    Device,
    Request,
    decoding_flops,
    decoding_hours,
    request,
)

Resource = Callable[..., int]


def growing(first: int | Resource) -> Resource:
    """A request for megabytes or minutes: a number or a function of wildcards. Later attempts double and triple it."""
    size = first if callable(first) else lambda _: first
    return lambda wildcards, attempt: size(wildcards) * min(attempt, 3)


class Demands:
    """Requests that depend on the sizes of texts and models. `resources` are those that the user sets for rules."""

    def __init__(self, experiment: Experiment, runs: Runs, resources: Mapping[str, Mapping[str, Any]]):
        self.experiment, self.runs, self.resources = experiment, runs, resources

    def _device(self, rule: str, threads: int) -> Device:
        """The device by which the time of a rule's job is planned: an A100, or CPU cores if the job has no GPU."""
        gpus = {"gpu": 0, **self.resources.get(rule, {})}["gpu"]  # of Snakemake's type, which may hold an expression
        return replace(CORE, count=threads) if str(getattr(gpus, "raw", gpus)) == "0" else DEVICES["A100"]

    def pairs(self, wildcards: Wildcards) -> int:
        """The number of a task's training pairs and plain sentences. If it is unknown, a million pairs are assumed."""
        pairs, plain = self.experiment.count(wildcards.task)
        return (1_000_000 if pairs is None else pairs) + plain

    def reading_minutes(self, wildcards: Wildcards) -> int:
        """Minutes for a job that reads a task's text once."""
        return 60 + self.pairs(wildcards) // 100_000

    def reading_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for making a corpus."""
        return 2000 + self.pairs(wildcards) // 5000

    def learning_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for learning a vocabulary."""
        return 2000 + min(self.pairs(wildcards), self.experiment.subwords.pairs) // 200

    def learning_threads(self, wildcards: Wildcards) -> int:
        """Threads for learning a vocabulary. A small text gets one: a job of several waits until as many are idle."""
        return min(2, 1 + self.pairs(wildcards) // 2_000_000)

    def encoding_threads(self, wildcards: Wildcards) -> int:
        """Threads for encoding a part."""
        return min(16, 1 + self.pairs(wildcards) // 2_000_000) if wildcards.part == "train" else 1

    def translating_minutes(self, wildcards: Wildcards) -> int:
        """Minutes for translating a part or a shard: 1.5 times what the device takes, with one thread, plus an hour."""
        run, task = self.runs.config(wildcards), self.experiment.tasks[wildcards.task]
        plain = wildcards.part.startswith("plain-")
        flops = (SHARD if plain else SENTENCES) * decoding_flops(run, task, scored=False)
        return 60 + math.ceil(90 * decoding_hours(run, flops, self._device("translate", threads=1)))

    def weights_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes of a model's weights."""
        architecture = self.runs.config(wildcards).architecture
        return 4 * parameters(architecture, self.experiment.tasks[wildcards.task].vocabulary) // 10**6

    def averaging_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for averaging checkpoints."""
        return 2000 + 8 * self.weights_megabytes(wildcards)

    def decoding_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for using a model."""
        return 3000 + 4 * self.weights_megabytes(wildcards)

    def _training(self, wildcards: Wildcards, threads: int = 1) -> Request:
        device = self._device("train", threads)
        return request(self.runs.config(wildcards), self.experiment.tasks[wildcards.task].vocabulary, device)

    def timing_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for timing steps: those of all timed trainings."""
        task, seed = wildcards.task, self.experiment.seeds[0]
        vocabulary = self.experiment.tasks[task].vocabulary
        timed = (self.experiment.run(task, model, seed) for model in self.runs.timed_models(wildcards))
        return sum(request(run, vocabulary, CORE).megabytes for run in timed)

    def training_minutes(self, wildcards: Wildcards, threads: int) -> int:
        """Minutes for a training."""
        return self._training(wildcards, threads).minutes

    def training_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for a training."""
        return self._training(wildcards).megabytes
