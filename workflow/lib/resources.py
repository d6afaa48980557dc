"""The resources that jobs request from a cluster."""

import math
from collections.abc import Callable

from snakemake.iocontainers import Wildcards

from transformer.experiment.config import Experiment
from transformer.experiment.cost import DEVICES, SENTENCES, Request, decoding_flops, decoding_hours, request
from transformer.model.parameters import parameters
from workflow.lib.runs import SHARD, Runs

Resource = Callable[..., int]


def growing(first: int | Resource) -> Resource:
    """A request for megabytes or minutes: a number or a function of wildcards. Later attempts double and triple it."""
    size = first if callable(first) else lambda _: first
    return lambda wildcards, attempt: size(wildcards) * min(attempt, 3)


class Demands:
    """Requests that depend on the sizes of texts and models."""

    def __init__(self, experiment: Experiment, runs: Runs):
        self.experiment, self.runs = experiment, runs

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
        """Minutes for translating a part or a shard: 1.5 times what an A100 takes, plus an hour."""
        run, task = self.runs.config(wildcards), self.experiment.tasks[wildcards.task]
        plain = wildcards.part.startswith("plain-")
        flops = (SHARD if plain else SENTENCES) * decoding_flops(run, task, scored=False)
        hours = decoding_hours(run, flops, DEVICES["A100"])
        return 60 + math.ceil(90 * hours)

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

    def _training(self, wildcards: Wildcards) -> Request:
        return request(self.runs.config(wildcards), self.experiment.tasks[wildcards.task].vocabulary)

    def timing_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for timing steps: those of all timed trainings."""
        task, seed = wildcards.task, self.experiment.seeds[0]
        vocabulary = self.experiment.tasks[task].vocabulary
        timed = (self.experiment.run(task, model, seed) for model in self.runs.timed[task])
        return sum(request(run, vocabulary).megabytes for run in timed)

    def training_minutes(self, wildcards: Wildcards) -> int:
        """Minutes for a training."""
        return self._training(wildcards).minutes

    def training_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes for a training."""
        return self._training(wildcards).megabytes
