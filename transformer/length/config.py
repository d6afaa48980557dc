"""The config of the study of length (config/length.yaml), and the config of one of its runs."""

from collections.abc import Collection
from dataclasses import dataclass, fields

from transformer.length.problems import TASKS, longest_row
from transformer.model.config import ModelConfig, Positions
from transformer.support.strict import not_a_range, not_a_seed, not_positive, repeated, unknown

LONGEST = 1000  # length of a problem; attention's memory grows with its square
MOST = 10_000  # limit of problems per step, of symbols, and of problems per length


@dataclass(frozen=True)
class Recipe:
    """The settings that all runs of the study share."""

    N: int
    d_model: int
    d_ff: int
    h: int
    P_drop: float
    warmup: int
    learning_rate: float  # multiplies the schedule of section 5.3
    batch: int  # problems per step
    symbols: int  # number of symbols to copy and reverse
    trained: tuple[int, int]  # the smallest and the greatest length of problems in training
    tested: int  # the greatest length of problems in testing
    problems: int  # test problems of each length

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = not_positive(self, "h", "warmup", "learning_rate", "batch", "problems")
        if self.h > 0:
            own = {field.name for field in fields(self)}
            found += [fault for fault in self.network("none", 1).faults() if fault.partition(":")[0] in own]
            if self.d_model % self.h:
                found.append(f"h: {self.h} does not divide d_model, {self.d_model}; choose a divisor")
        for name in ("batch", "symbols", "problems"):
            if (value := getattr(self, name)) > MOST:
                found.append(f"{name}: {value} needs too much memory; give at most {MOST}")
        found += not_a_range("trained", self.trained)
        if self.tested <= self.trained[1]:
            found.append(f"tested: {self.tested} is not above the trained lengths; give more than {self.trained[1]}")
        if self.tested > LONGEST:
            found.append(f"tested: {self.tested} needs too much memory for attention; give at most {LONGEST}")
        if self.symbols < 2:
            found.append(f"symbols: {self.symbols} is too few to tell symbols apart; give at least 2")
        return found

    def network(self, positions: Positions, longest: int) -> ModelConfig:
        """The architecture of runs with these positions, for rows of at most `longest` ids."""
        d_k = self.d_model // self.h
        return ModelConfig(self.N, self.d_model, self.d_ff, self.h, d_k, d_k, self.P_drop, positions, longest)

    def not_turned(self, positions: Collection[Positions]) -> list[str]:
        """A fault when `positions` include rotary ones and the width of a head is odd, so that it has no pairs."""
        if "rotary" in positions and self.h > 0 and self.d_model % (2 * self.h) == self.h:
            share = f"{self.h} heads of a d_model of {self.d_model} have a width of {self.d_model // self.h}"
            return [f"recipe.h: {share}, but rotary positions need an even width; change h or d_model"]
        return []


@dataclass(frozen=True)
class LengthRun:
    """One run: one task, one positional encoding and one seed."""

    task: str
    positions: Positions
    seed: int
    steps: int
    recipe: Recipe

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = [*not_a_seed("seed", self.seed), *not_positive(self, "steps")]
        if self.task not in TASKS:
            found.append("task: " + unknown(self.task, TASKS, "task"))
        return found + self.recipe.not_turned([self.positions])

    def architecture(self) -> ModelConfig:
        """The network of the run."""
        return self.recipe.network(self.positions, longest_row(self.task, self.recipe.tested))


@dataclass(frozen=True)
class Study:
    """The tasks, the positional encodings and the settings of the study."""

    tasks: tuple[str, ...]
    positions: tuple[Positions, ...]
    seeds: tuple[int, ...]
    steps: dict[str, int]  # for each task
    recipe: Recipe

    def faults(self) -> list[str]:
        """What does not fit together in the whole study."""
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
                found.append(f"steps.{task}: missing; give the number of training steps")
        return found + self.recipe.not_turned(self.positions)

    def run(self, task: str, positions: Positions, seed: int) -> LengthRun:
        """The resolved config of one run."""
        return LengthRun(task, positions, seed, self.steps[task], self.recipe)
