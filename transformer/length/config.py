"""The study of length as config/length.yaml describes it, and one run of it, resolved."""

from dataclasses import dataclass

from transformer.length.problems import TASKS, longest_row
from transformer.model.config import ModelConfig
from transformer.support.strict import fill, not_a_range, not_a_seed, not_positive, repeated, unknown

LONGEST = 1000  # length of a problem; attention takes memory by its square


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
        """What is impossible about these values; what is about the network, `LengthRun` says."""
        found = not_positive(self, "h", "warmup", "learning_rate", "batch", "problems")
        found += not_a_range("trained", self.trained)
        if self.tested <= self.trained[1]:
            found.append(f"tested: {self.tested} is no unseen length; give more than {self.trained[1]} (trained)")
        if self.tested > LONGEST:
            found.append(f"tested: {self.tested} is too long for attention's memory; give at most {LONGEST}")
        if self.symbols < 2:
            found.append(f"symbols: {self.symbols} leave nothing to tell apart; give at least 2")
        if self.h > 0 and self.d_model % self.h:
            found.append(f"h: {self.h} heads do not share out a d_model of {self.d_model}; choose a divisor")
        return found


@dataclass(frozen=True)
class LengthRun:
    """One run: task x positional encoding x seed."""

    task: str
    positions: str
    seed: int
    steps: int
    recipe: Recipe

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = [*not_a_seed("seed", self.seed), *not_positive(self, "steps")]
        if self.task not in TASKS:
            found.append("task: " + unknown(self.task, TASKS, "task"))
        if not found and not self.recipe.faults():
            self._fill(found)
        return found

    def architecture(self) -> ModelConfig:
        """The network of the run."""
        return self._fill([])

    def _fill(self, faults: list[str]) -> ModelConfig:
        recipe = self.recipe
        d_k = recipe.d_model // recipe.h
        sizes = {name: getattr(recipe, name) for name in ("N", "d_model", "d_ff", "h", "P_drop")}
        length = longest_row(self.task, recipe.tested)
        return fill(
            ModelConfig, sizes | {"d_k": d_k, "d_v": d_k, "positions": self.positions, "max_length": length}, "", faults
        )


@dataclass(frozen=True)
class Study:
    """Which tasks are learnt with which positional encodings, and how."""

    tasks: tuple[str, ...]
    positions: tuple[str, ...]
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
        found += [f"steps.{task}: missing; say how long it is trained" for task in self.tasks if task not in self.steps]
        for task in self.tasks:
            for positions in self.positions:
                for seed in self.seeds:
                    found += self.run(task, positions, seed).faults()
        return list(dict.fromkeys(found))

    def run(self, task: str, positions: str, seed: int) -> LengthRun:
        """The resolved config of one run."""
        return LengthRun(task, positions, seed, self.steps.get(task, 1), self.recipe)
