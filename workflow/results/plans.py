"""The plan of each result that an experiment has: what it reads, and with which parameters it is made."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from transformer.support.strict import read_yaml
from workflow.dag.runs import ByTask, Runs
from workflow.experiment.config import Experiment
from workflow.results.common.plan import Plan, Run
from workflow.results.common.result import Result, languages
from workflow.results.model_notes import model_notes
from workflow.results.rows import Rows, by_task

ON_DEV = ("ende",)  # tasks of Table 3, scored on dev; others are scored on test


class Plans(Rows):
    """The rows of an experiment's tables, and the plan of each result. `numbers` is config/published.yaml."""

    def __init__(self, experiment: Experiment, runs: Runs, numbers: Path):
        super().__init__(experiment, runs, read_yaml(numbers))
        self.numbers = numbers

    @cached_property
    def planned(self) -> list[tuple[str, Result, Plan]]:
        """The results that the experiment has: room, result, plan. None has a plan for which no run is scored."""
        plans = ((room, result, result.plan(self)) for room, result in self.results)
        return [(room, result, plan) for room, result, plan in plans if plan and plan.input.get("scores") != []]

    def released(self, experiment: str) -> Path:
        """The folder of an experiment's released tables."""
        return self.numbers.parents[1] / "results/released" / experiment / "tables"

    def on_dev(self, shown: Sequence[Run], **more: Any) -> Plan:
        """The plan of a table of some runs with scores on dev, as in Table 3. `more` are further parameters."""
        some = by_task(shown)
        plan = self._plan(shown, self.runs.dev_scores(some), more)
        return plan.reading(comparisons=self.runs.comparisons(some))

    def on_test(self, shown: Sequence[Run], **more: Any) -> Plan:
        """The plan of a table of some runs with scores on test. It also reads what says whether they overfit."""
        some = by_task(shown)
        scored = [path for each in some for path in self.scores_of(each)({each: some[each]})]
        histories = self.runs.packages_behind(scored, "history.csv")
        return self._plan(shown, self.runs.averaged_scores(some), more).reading(histories=histories)

    def scores_of(self, task: str, runs: Runs | None = None) -> Callable[[ByTask], list[str]]:
        """The function that gives the scores which every run of a task has: on dev for Table 3's task, else on test."""
        runs = runs or self.runs
        return runs.dev_scores if task in ON_DEV else runs.averaged_scores

    def _plan(self, shown: Sequence[Run], scores: Sequence[str], more: dict[str, Any]) -> Plan:
        tasks = self.experiment.tasks
        params = {
            "notes": self.notes(shown),
            "equal": self.runs.equal,
            "in_full": self.in_full,
            "pairs": {name: f"{task.source}-{task.target}" for name, task in tasks.items()},
            "languages": languages(tasks["ende"]),
        }
        return Plan(self.measured(scores), params | more)

    def measured(self, scores: Sequence[str]) -> dict[str, Any]:
        """The inputs of a table that shows these scores: also the packages behind them."""
        return {"published": self.numbers, "scores": scores, "packages": self.runs.packages_behind(scores)}

    def notes(self, shown: Sequence[Run]) -> list[str]:
        """The notes under a table of these runs."""
        return model_notes(self, shown)
