"""The config of the study of length (config/length.yaml), and the config of one of its runs."""

from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from transformer.length.problems import TASKS, longest_row
from transformer.model.config import ModelConfig, Positions, Size, odd
from transformer.support.faults import unknown
from transformer.support.fields import (
    STRICT,
    Config,
    Faults,
    Positive,
    PositiveNumber,
    Probability,
    Range,
    Seed,
    SomeDistinct,
    check,
)

LONGEST = 1000  # the greatest length of a problem; attention's memory grows with its square
Few = Annotated[int, Field(ge=1, le=10_000)]  # problems per step or per length, which memory has to hold


def _task(name: str) -> str:
    if name not in TASKS:
        raise ValueError(unknown(name, TASKS, "task"))
    return name


TaskName = Annotated[str, AfterValidator(_task)]


@dataclass(frozen=True, config=STRICT)
class Recipe(Config):
    """The settings that all runs of the study share."""

    N: Size = Field(description="layers")
    d_model: Size = Field(description="width of the embeddings and of every layer's output")
    d_ff: Size = Field(description="width of the feed-forward layers' inner layer")
    h: Positive = Field(description="attention heads; the keys and values of one have a width of d_model / h")
    P_drop: Probability = Field(description="dropout, as in a model")
    warmup: Positive = Field(description="steps in which the learning rate rises")
    learning_rate: PositiveNumber = Field(description="factor of the schedule of section 5.3")
    batch: Few = Field(description="problems per step")
    symbols: int = Field(ge=2, le=10_000, description="number of symbols to copy and reverse")
    trained: Range = Field(description="the smallest and the greatest length of problems in training")
    tested: int = Field(le=LONGEST, description="greatest length of problems in the test")
    problems: Few = Field(description="test problems of each length")

    @check
    def _heads(self) -> Faults:
        yield from odd("d_model", self.d_model, "sines and cosines come in pairs")
        if self.d_model % self.h:
            yield "h", f"{self.h} does not divide d_model, {self.d_model}; choose a divisor"

    @check
    def _longer(self) -> Faults:
        if self.tested <= self.trained[1]:
            yield "tested", f"{self.tested} is not above the trained lengths; give more than {self.trained[1]}"

    def network(self, positions: Positions, longest: int) -> ModelConfig:
        """The architecture of runs with these positions, for rows of at most `longest` ids."""
        d_k = self.d_model // self.h
        return ModelConfig(self.N, self.d_model, self.d_ff, self.h, d_k, d_k, self.P_drop, positions, longest)

    def unpaired(self, positions: Collection[Positions]) -> Faults:
        """A fault when `positions` include rotary ones and the width of a head is odd, so that it has no pairs."""
        if "rotary" in positions and (width := self.d_model // self.h) % 2:
            share = f"{self.h} heads of a d_model of {self.d_model} have a width of {width}"
            yield ("recipe", "h"), f"{share}, but rotary positions need an even width; change h or d_model"


@dataclass(frozen=True, config=STRICT)
class LengthRun(Config):
    """One run: one task, one positional encoding and one seed."""

    task: TaskName = Field(description="name of the task")
    positions: Positions = Field(description="the positional encoding")
    seed: Seed = Field(description="of the weights and the problems")
    steps: Positive = Field(description="training steps")
    recipe: Recipe = Field(description="the settings that all runs share")

    @check
    def _pairs(self) -> Faults:
        yield from self.recipe.unpaired([self.positions])

    def architecture(self) -> ModelConfig:
        """The network of the run."""
        return self.recipe.network(self.positions, longest_row(self.task, self.recipe.tested))


@dataclass(frozen=True, config=STRICT)
class Study(Config):
    """The tasks, the positional encodings and the settings of the study."""

    tasks: SomeDistinct[TaskName] = Field(description="the tasks (transformer/length/problems.py)")
    positions: SomeDistinct[Positions] = Field(description="values of a model's key `positions`")
    seeds: SomeDistinct[Seed] = Field(description="every run is trained once for each of them")
    steps: dict[TaskName, Positive] = Field(description="training steps of each task")
    recipe: Recipe = Field(description="the settings that all runs share")

    @check
    def _every_task_has_steps(self) -> Faults:
        for task in self.tasks:
            if task not in self.steps:
                yield ("steps", task), "missing; give the number of training steps"

    @check
    def _pairs(self) -> Faults:
        yield from self.recipe.unpaired(self.positions)

    def run(self, task: str, positions: Positions, seed: int) -> LengthRun:
        """The resolved config of one run."""
        return LengthRun(task, positions, seed, self.steps[task], self.recipe)
