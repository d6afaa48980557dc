"""The study of length as config/length.yaml describes it, and one run of it, resolved."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from transformer.length.problems import TASKS, longest_row
from transformer.model.config import ModelConfig, Positions
from transformer.support.strict import not_a_range, not_a_seed, not_positive, repeated, unknown

LONGEST = 1000  # length of a problem; attention takes memory by its square
MOST = 10_000  # problems of a step, symbols, problems of a length


@dataclass(frozen=True)
class Recipe:
    """What all runs of the study share."""

    N: int
    d_model: int
    d_ff: int
    h: int
    P_drop: float
    warmup: int
    learning_rate: float  # multiplies the schedule of section 5.3
    batch: int  # problems of a step
    symbols: int  # that are copied and reversed
    trained: tuple[int, int]  # the least and the greatest length of problems to learn from
    tested: int  # the greatest length of problems to test on
    problems: int  # to test on, of each length

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = not_positive(self, "h", "warmup", "learning_rate", "batch", "problems")
        if self.h > 0:
            own = {field.name for field in fields(self)}
            found += [fault for fault in self.network("none", 1).faults() if fault.partition(":")[0] in own]
            if self.d_model % self.h:
                found.append(f"h: {self.h} heads do not share out a d_model of {self.d_model}; choose a divisor")
        for name in ("batch", "symbols", "problems"):
            if (value := getattr(self, name)) > MOST:
                found.append(f"{name}: {value} is too much for memory; give at most {MOST}")
        found += not_a_range("trained", self.trained)
        if self.tested <= self.trained[1]:
            found.append(f"tested: {self.tested} is no unseen length; give more than {self.trained[1]} (trained)")
        if self.tested > LONGEST:
            found.append(f"tested: {self.tested} is too long for attention's memory; give at most {LONGEST}")
        if self.symbols < 2:
            found.append(f"symbols: {self.symbols} leave nothing to tell apart; give at least 2")
        return found

    def network(self, positions: Positions, longest: int) -> ModelConfig:
        """That of the runs with these positions, for rows of up to so many ids."""
        d_k = self.d_model // self.h
        return ModelConfig(self.N, self.d_model, self.d_ff, self.h, d_k, d_k, self.P_drop, positions, longest)

    def not_turned(self, positions: Collection[Positions]) -> list[str]:
        """A fault when rotary positions are among these, but the numbers of a head are no pairs."""
        if "rotary" in positions and self.h > 0 and self.d_model % (2 * self.h) == self.h:
            share = f"{self.h} heads share out a d_model of {self.d_model} by {self.d_model // self.h}"
            return [f"recipe.h: {share}, an odd number; rotary positions turn pairs, so make it even"]
        return []


@dataclass(frozen=True)
class LengthRun:
    """One run: task x positional encoding x seed."""

    task: str
    positions: Positions
    seed: int
    steps: int
    recipe: Recipe

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = [*not_a_seed("seed", self.seed), *not_positive(self, "steps")]
        if self.task not in TASKS:
            found.append("task: " + unknown(self.task, TASKS, "task"))
        return found + self.recipe.not_turned([self.positions])

    def architecture(self) -> ModelConfig:
        """The network of the run."""
        return self.recipe.network(self.positions, longest_row(self.task, self.recipe.tested))


@dataclass(frozen=True)
class Study:
    """Which tasks are learnt with which positional encodings, and how."""

    tasks: tuple[str, ...]
    positions: tuple[Positions, ...]
    seeds: tuple[int, ...]
    steps: dict[str, int]  # of a task
    recipe: Recipe

    def faults(self) -> list[str]:
        """What does not fit together, in all runs."""
        found = []
        for name in ("tasks", "positions", "seeds"):
            values = getattr(self, name)
            found += repeated(name, values)
            if not values:
                found.append(f"{name}: is empty; give at least one")
        found += [f"tasks: {unknown(task, TASKS, 'task')}" for task in self.tasks if task not in TASKS]
        found += [fault for seed in self.seeds for fault in not_a_seed("seeds", seed)]
        for task, steps in self.steps.items():
            if task not in TASKS:
                found.append(f"steps.{task}: {unknown(task, TASKS, 'task')}")
            elif steps < 1:
                found.append(f"steps.{task}: {steps} is not positive")
        for task in self.tasks:
            if task in TASKS and task not in self.steps:
                found.append(f"steps.{task}: missing; say how long it is trained")
        return found + self.recipe.not_turned(self.positions)

    def run(self, task: str, positions: Positions, seed: int) -> LengthRun:
        """The resolved config of one run."""
        return LengthRun(task, positions, seed, self.steps[task], self.recipe)
