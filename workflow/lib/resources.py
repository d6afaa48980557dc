"""What jobs ask a cluster for."""

import math
from collections.abc import Callable

from snakemake.iocontainers import Wildcards

from transformer.experiment.config import Experiment
from transformer.experiment.cost import DEVICES, SENTENCES, Request, decoding_flops, decoding_hours, request
from transformer.model.parameters import parameters
from workflow.lib.runs import SHARD, Runs

Resource = Callable[..., int]


def growing(megabytes: int | Resource) -> Resource:
    """Megabytes, a number or a function of wildcards: as many, twice and three times as many in a job's attempts."""
    size = megabytes if callable(megabytes) else lambda _: megabytes
    return lambda wildcards, attempt: size(wildcards) * min(attempt, 3)


class Demands:
    """Requests that follow from the sizes of texts and models."""

    def __init__(self, experiment: Experiment, runs: Runs):
        self.experiment, self.runs = experiment, runs

    def pairs(self, wildcards: Wildcards) -> int:
        """The pairs of a task's train part and its sentences without trees; a million where nobody knows."""
        pairs, plain = self.experiment.count(wildcards.task)
        return (1_000_000 if pairs is None else pairs) + plain

    def reading_minutes(self, wildcards: Wildcards) -> int:
        """Minutes that a job takes which goes through a task's text once."""
        return 60 + self.pairs(wildcards) // 100_000

    def reading_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes that making a corpus takes."""
        return 2000 + self.pairs(wildcards) // 5000

    def learning_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes that learning a vocabulary takes."""
        return 2000 + min(self.pairs(wildcards), self.experiment.subwords.pairs) // 200

    def translating_minutes(self, wildcards: Wildcards) -> int:
        """Minutes that translating a part, or a shard, asks for: half as many again as an A100 takes, and an hour."""
        run, task = self.runs.config(wildcards), self.experiment.tasks[wildcards.task]
        sentences = SHARD if wildcards.part.startswith("plain-") else SENTENCES
        hours = decoding_hours(run, sentences * decoding_flops(run, task, scored=False), DEVICES["A100"])
        return 60 + math.ceil(90 * hours)

    def weights_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes of a model's weights."""
        architecture = self.runs.config(wildcards).architecture
        return 4 * parameters(architecture, self.experiment.tasks[wildcards.task].vocabulary) // 10**6

    def averaging_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes that averaging checkpoints takes."""
        return 2000 + 8 * self.weights_megabytes(wildcards)

    def decoding_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes that using a model takes."""
        return 3000 + 4 * self.weights_megabytes(wildcards)

    def _training(self, wildcards: Wildcards) -> Request:
        return request(self.runs.config(wildcards), self.experiment.tasks[wildcards.task].vocabulary)

    def training_minutes(self, wildcards: Wildcards) -> int:
        """Minutes that a training asks for."""
        return self._training(wildcards).minutes

    def training_megabytes(self, wildcards: Wildcards) -> int:
        """Megabytes that a training asks for."""
        return self._training(wildcards).megabytes
