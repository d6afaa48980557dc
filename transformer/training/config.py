"""The config of training (section 5), and the config of one run, which holds everything that decides its numbers."""

import hashlib
import json
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.model.config import BOUNDED, ModelConfig, Size
from transformer.support.fields import STRICT, Config, Faults, Positive, PositiveNumber, Probability, Seed, check
from transformer.support.strict import plain


def checkpoint_name(step: int) -> str:
    """The name of the file of a step's checkpoint."""
    return f"step-{step}.safetensors"


def endless(warmup: int, steps: int) -> list[str]:
    """A warning if the learning rate still rises at the last step."""
    text = f"a warmup of {warmup} steps does not end in {steps} steps of training; lower warmup or raise steps"
    return [text] * (warmup > steps)


@dataclass(frozen=True, config=STRICT)
class TrainingConfig(Config):
    """How the network is trained (section 5)."""

    steps: Positive = Field(description="training steps")
    warmup: Positive = Field(description="steps in which the learning rate rises")
    learning_rate: PositiveNumber = Field(description="factor of the schedule of section 5.3; the paper's is 1")
    beta1: Probability = Field(description="of Adam")
    beta2: Probability = Field(description="of Adam")
    epsilon: PositiveNumber = Field(description="of Adam")
    eps_ls: Probability = Field(description="label smoothing (section 5.4)")
    batch_tokens: Size = Field(description="source tokens, and target tokens, of one step")
    longest_pair: Positive = Field(description="longest side in subwords; training leaves out longer pairs")
    checkpoint_every: Positive = Field(description="steps between the checkpoints that are averaged")
    average: Positive = Field(description="how many of the last checkpoints are kept; Tables 2 and 4 average them")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        description="auto: float32 if the scaled base is narrower than 64, else bfloat16 if the hardware has it"
    )

    @check
    def _checkpoints_fit(self) -> Faults:
        if self.steps - (self.average - 1) * self.checkpoint_every < 1:
            yield (
                ["average", "steps", "checkpoint_every"],
                f"{self.average} checkpoints that are {self.checkpoint_every} steps apart do not fit into "
                f"{self.steps} steps; raise steps, or lower average or checkpoint_every",
            )

    def checkpoint_steps(self) -> list[int]:
        """The step numbers of the checkpoints kept, the last one first."""
        return [self.steps - i * self.checkpoint_every for i in range(self.average)]


@dataclass(frozen=True, config=STRICT)
class RunConfig(Config):
    """One run: one task, one model and one seed, with all values filled in."""

    task: str = Field(description="name of the task")
    model: str = Field(description="name of the model")
    seed: Seed = Field(description="of the weights, dropout and the order of pairs")
    architecture: ModelConfig = Field(description="the network")
    training: TrainingConfig = Field(description="its training")

    @check
    def _learned_positions_hold_pairs(self) -> Faults:
        longest, most = self.training.longest_pair, self.architecture.max_length
        if longest > most and self.architecture.positions in BOUNDED:
            text = f"{longest} subwords (longest_pair) are more than the {most} learned positions (max_length)"
            text += "; lower longest_pair, or raise max_length"
            yield [("training", "longest_pair"), *(("architecture", key) for key in ("max_length", "positions"))], text

    def sha256(self) -> str:
        """The SHA-256 of everything that decides the run's numbers."""
        return hashlib.sha256(json.dumps(plain(self), sort_keys=True).encode()).hexdigest()
