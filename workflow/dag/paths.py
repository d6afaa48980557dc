"""The paths of an experiment: folders, and patterns with wildcards in braces."""

from dataclasses import dataclass
from pathlib import Path

from transformer.package.config import HASHED
from workflow.experiment.config import Experiment


@dataclass(frozen=True)
class Paths:
    """The folders of an experiment."""

    downloads: str  # shared by all experiments
    results: str
    packages: str  # {results}/runs, or a given folder with the same layout
    run: str  # of a run, like the next two
    log: str
    benchmark: str

    @classmethod
    def of(cls, experiment: Experiment) -> "Paths":
        """The folders that an experiment's config names."""
        folder = Path(experiment.results)  # Path leaves out a slash at the end and a ./ at the beginning
        results = str(folder / experiment.experiment)
        packages = str(Path(experiment.packages or f"{results}/runs"))
        of_run = (f"{results}/{kind}/{{task}}/{{model}}/{{seed}}" for kind in ("runs", "logs", "benchmarks"))
        return cls(str(folder / "downloads"), results, packages, *of_run)

    @property
    def complexity(self) -> str:
        """The measurements for Table 1."""
        return f"{self.results}/complexity/complexity.json"

    @property
    def step_time(self) -> str:
        """The times of a training step of models of a task: of those of claims, or of an idea and its control."""
        return f"{self.results}/step_time/{{task}}{{tried}}.json"

    def answer(self, idea: str, confirming: bool) -> str:
        """The answer of the screening of an idea, or of its confirmation."""
        return f"{self.results}/ideas/{idea}{'.confirmation' * confirming}.json"

    @property
    def package(self) -> list[str]:
        """The files of a package, config.json first."""
        folder = f"{self.packages}/{{task}}/{{model}}/{{seed}}/average-{{average}}/package"
        return [f"{folder}/{name}" for name in ("config.json", *HASHED)]

    def corpus(self, task: str) -> str:
        """The folder of a task's text."""
        return f"{self.results}/corpora/{task}"
