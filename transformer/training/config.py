"""The config of training (section 5), and the config of one run, which holds everything that decides its numbers."""

import hashlib
import json
from dataclasses import dataclass
from typing import Literal

from transformer.model.config import BOUNDED, ModelConfig, not_a_size
from transformer.support.strict import not_a_seed, not_positive, plain


@dataclass(frozen=True)
class TrainingConfig:
    """How the network is trained (section 5)."""

    steps: int
    warmup: int
    learning_rate: float  # multiplies the schedule of section 5.3; the paper's is 1
    beta1: float
    beta2: float
    epsilon: float
    eps_ls: float
    batch_tokens: int  # source tokens, and target tokens, of one step
    longest_pair: int  # in subwords; training leaves out longer pairs
    checkpoint_every: int  # steps between the checkpoints that are averaged
    average: int  # how many of the last checkpoints are kept; Tables 2 and 4 average them
    precision: Literal["auto", "float32", "bfloat16"]

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = not_positive(self, "steps", "warmup", "learning_rate", "epsilon")
        found += not_a_size(self, "batch_tokens")
        found += not_positive(self, "longest_pair", "checkpoint_every", "average")
        for name in ("beta1", "beta2", "eps_ls"):
            if not 0 <= getattr(self, name) < 1:
                found.append(f"{name}: {getattr(self, name)} is not in [0, 1)")
        if self.steps - (self.average - 1) * self.checkpoint_every < 1:
            found.append(
                f"average: {self.average} checkpoints that are {self.checkpoint_every} steps apart do not fit into "
                f"{self.steps} steps; raise steps, or lower average or checkpoint_every"
            )
        return found

    def checkpoint_steps(self) -> list[int]:
        """The step numbers of the checkpoints kept, the last one first."""
        return [self.steps - i * self.checkpoint_every for i in range(self.average)]


@dataclass(frozen=True)
class RunConfig:
    """One run: one task, one model and one seed, with all values filled in."""

    task: str
    model: str
    seed: int
    architecture: ModelConfig
    training: TrainingConfig

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = not_a_seed("seed", self.seed)
        longest, most = self.training.longest_pair, self.architecture.max_length
        if longest > most and self.architecture.positions in BOUNDED:
            found.append(f"longest_pair: {longest} is more than the {most} learned positions (max_length); lower it")
        return found

    def sha256(self) -> str:
        """The SHA-256 of everything that decides the run's numbers."""
        return hashlib.sha256(json.dumps(plain(self), sort_keys=True).encode()).hexdigest()
