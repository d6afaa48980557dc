"""The runs of an experiment, and their files."""

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from snakemake.iocontainers import Wildcards

from transformer.corpora.moses import MosesFiles
from transformer.corpora.self_training import SelfTraining
from transformer.model.flops import forward_flops
from transformer.support.strict import plain
from transformer.training.config import RunConfig, checkpoint_name
from workflow.dag.paths import Paths
from workflow.experiment.config import Experiment
from workflow.experiment.tasks import FRESH, way

ByTask = Mapping[str, Sequence[str]]  # some of the runs, as the models of each task
SHARD = 10_000  # plain sentences per job; `plan` estimates 3 minutes on an A100 for the parser of `paper`


class Runs:
    """The runs of an experiment: task x model x seed. Rows of a task that are equal at this scale are one run."""

    def __init__(self, experiment: Experiment, paths: Paths):
        self.experiment, self.paths, self.seeds = experiment, paths, experiment.seeds
        self.rows: ByTask = {name: task.models for name, task in experiment.tasks.items() if task.models}
        self.equal = {task: experiment.equal_models(task) for task in self.rows}
        self.trained: ByTask = {task: list(equal) for task, equal in self.equal.items()}
        self.run_of = {
            (task, row): model for task, equal in self.equal.items() for model, rows in equal.items() for row in rows
        }
        one_by_one = [(task, model) for task, models in self.rows.items() for model in models]
        self.costliest_first = sorted(one_by_one, key=lambda run: -self._cost(*run))
        # Further settings for decoding dev, besides the task's own: folder in average-N -> settings.
        searched = {f"{way(each)}/": each for each in experiment.searched()}
        self.own_search = next(iter(searched), "")
        self.searches = {folder: each for folder, each in searched.items() if folder != self.own_search}
        self.awaited = {corpus.gold for corpus in experiment.corpora.values() if isinstance(corpus, SelfTraining)}

    def with_seeds(self, seeds: Sequence[int]) -> "Runs":
        """The same runs with these seeds."""
        runs = copy(self)
        runs.seeds = tuple(seeds)
        return runs

    @cached_property
    def timed(self) -> dict[str, list[str]]:
        """The models whose steps are timed: those of claims about time all of whose rows are run, by task.

        If packages are given, no time is measured, because nothing is trained.
        """
        timed: dict[str, list[str]] = {}
        about = [claim for claim in self.experiment.claims.values() if claim.metric == "step_time"]
        for claim in [] if self.experiment.packages else about:
            models = {self.run_of.get(run) for run in claim.runs()}
            if None not in models and len(models) > 1:
                [task] = {task for task, _ in claim.runs()}
                timed[task] = [model for model in self.trained[task] if model in {*models, *timed.get(task, ())}]
        return timed

    @property
    def step_times(self) -> list[str]:
        """The measured times."""
        return [self.paths.step_time.format(task=task, tried="") for task in self.timed]

    def timed_models(self, wildcards: Wildcards) -> list[str]:
        """The models of a task whose steps are timed together."""
        return list(self.tried) if wildcards.tried else self.timed[wildcards.task]

    def timed_configs(self, wildcards: Wildcards) -> list[str]:
        """The configs of the runs of a task whose steps are timed, of the first seed."""
        run = f"{self.paths.run}/config.yaml"
        first = {"task": wildcards.task, "seed": self.experiment.seeds[0]}
        return [run.format(model=model, **first) for model in self.timed_models(wildcards)]

    def config(self, wildcards: Wildcards) -> RunConfig:
        """A run's config."""
        return self.experiment.run(wildcards.task, wildcards.model, int(wildcards.seed))

    def resolved(self, wildcards: Wildcards) -> Any:
        """A run's config, as mappings."""
        return plain(self.config(wildcards))

    def _cost(self, task: str, model: str) -> float:
        """A number that is proportional to the FLOPs of a run."""
        run = self.experiment.run(task, model, self.experiment.seeds[0])
        lengths = np.full((1, 2), min(run.training.longest_pair, 32))
        return run.training.steps * forward_flops(run.architecture, self.experiment.tasks[task].vocabulary, lengths)

    def priority(self, wildcards: Wildcards) -> int:
        """The priority of a training: -1 if a corpus waits for it, otherwise lower.

        Runs of a lower seed come first, so an experiment that is interrupted has whole seeds. Of one seed, costlier
        runs come first. All are below 0, the priority of jobs that use a finished run.
        """
        if wildcards.task in self.awaited:
            return -1
        run = (wildcards.task, wildcards.model)
        place = self.costliest_first.index(run) if run in self.costliest_first else len(self.costliest_first)
        return -2 - int(wildcards.seed) * (len(self.costliest_first) + 1) - place

    def average(self, task: str, model: str) -> int:
        """The number of a model's checkpoints that are averaged for Tables 2 and 4."""
        return self.experiment.run(task, model, self.experiment.seeds[0]).training.average

    def last_checkpoints(self, wildcards: Wildcards) -> list[str]:
        """The checkpoints that a package averages."""
        steps = self.config(wildcards).training.checkpoint_steps()[: int(wildcards.average)]
        return [f"{self.paths.run}/checkpoints/{checkpoint_name(step)}".format(**wildcards) for step in steps]

    def models_of(self, task: str, rows: Iterable[str]) -> list[str]:
        """The models of some rows of a task. Rows that the experiment does not run are skipped."""
        return list(dict.fromkeys(self.run_of[task, row] for row in rows if (task, row) in self.run_of))

    def files_of(self, task: str, rows: Iterable[str], pattern: str) -> list[str]:
        """One file of each run of some rows of `task`, for each seed. Rows that are not run are skipped."""
        return [
            f"{self.paths.results}/runs/{task}/{model}/{seed}/{pattern}"
            for model in self.models_of(task, rows)
            for seed in self.seeds
        ]

    def files(self, some: ByTask, pattern: str) -> list[str]:
        """One file of each of some runs. The order does not depend on the pattern."""
        return [path for task, models in some.items() for path in self.files_of(task, models, pattern)]

    def averaged_scores(self, some: ByTask, part: str = "test") -> list[str]:
        """The scores of some runs on a part, with as many averaged checkpoints as the model's config says."""
        return [
            path
            for task, models in some.items()
            for model in self.models_of(task, models)
            for path in self.files_of(task, [model], f"average-{self.average(task, model)}/{part}.scores.json")
        ]

    def searched(self, task: str, model: str, search: str, part: str = "dev") -> list[str]:
        """The scores of a run decoded with one of `searches`. Empty unless it is the run of `figures`."""
        if (task, model) != self.experiment.drawn:
            return []
        if search == self.own_search:
            return self.averaged_scores({task: [model]}, part)
        if search not in self.searches:
            return []
        return self.files_of(task, [model], f"average-{self.average(task, model)}/{search}{part}.scores.json")

    def dev_scores(self, some: ByTask, part: str = "dev") -> list[str]:
        """The scores of some runs, with as many averaged checkpoints as Table 3 has (in the paper, one)."""
        return self.files(some, f"average-{self.experiment.table3_average}/{part}.scores.json")

    def comparisons(self, some: ByTask) -> list[str]:
        """The comparisons of some runs with the base of the same seed, if base is run, on the text of `dev_scores`."""
        others = {
            task: [model for model in self.models_of(task, models) if model != "base"]
            for task, models in some.items()
            if "base" in self.trained.get(task, ())
        }
        return self.files(others, f"average-{self.experiment.table3_average}/dev.comparison.json")

    def packages_behind(self, files: Iterable[str], name: str = "config.json") -> list[str]:
        """One file of each package that made some of `files`, which are in average-N or in a folder of it."""
        runs = f"{self.paths.results}/runs"
        packages = dict.fromkeys("/".join(Path(file).relative_to(runs).parts[:4]) for file in files)
        return [f"{self.paths.packages}/{package}/package/{name}" for package in packages]

    def further_tests(self, *tasks: str) -> list[str]:
        """The names of the further test sets of some tasks."""
        corpora = map(self.experiment.corpus_of, tasks)
        return list(dict.fromkeys(part for each in corpora if isinstance(each, MosesFiles) for part in each.tests))

    def records(self, some: Iterable[str]) -> list[str]:
        """The records of the corpora of some tasks. Tasks that are not run are skipped."""
        return [f"{self.paths.corpus(task)}/corpus.json" for task in some if task in self.trained]

    def attention(self) -> str:
        """The file with the attention that figures 3 to 5 show."""
        task, model = self.experiment.drawn
        folder = f"average-{self.average(task, model)}"
        [first, *_] = self.files_of(task, [model], f"{folder}/attention.json")
        return first

    def plain_shards(self, task: str) -> list[str]:
        """The shards `plain-K-of-N` of a task's plain sentences, in order. Each is parsed by its own job.

        The config decides their number, so it is known before the sentences exist. All shards have about equal size.
        """
        _, sentences = self.experiment.count(task)
        count = max(1, math.ceil(sentences / SHARD))
        return [f"plain-{number}-of-{count}" for number in range(1, count + 1)]

    @property
    def tried(self) -> dict[str, list[int]]:
        """The seeds with which an idea is screened and confirmed, and that of the other row, its control."""
        trial = self.experiment.trial
        return {trial.row: [*self.seeds, *FRESH], trial.against: [self.seeds[0]]} if trial else {}

    def tried_scores(self, model: str, seeds: Sequence[int]) -> list[str]:
        """The scores of an idea or of its control on dev, as Table 3 has them."""
        folder = f"{self.paths.results}/runs/{self.experiment.drawn[0]}/{model}"
        return [f"{folder}/{seed}/average-{self.experiment.table3_average}/dev.scores.json" for seed in seeds]

    def parses_of(self, corpus: SelfTraining) -> str:
        """The file with the parses of a self-training corpus's plain sentences."""
        model = self.run_of[corpus.gold, corpus.parser]
        run = f"{self.paths.results}/runs/{corpus.gold}/{model}/{self.experiment.seeds[0]}"
        return f"{run}/average-{self.average(corpus.gold, corpus.parser)}/plain.translation"
