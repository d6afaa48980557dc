"""Which runs each table shows: those of the paper's rows, and the user's own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from workflow.dag.runs import ByTask, Runs
from workflow.experiment.config import Experiment
from workflow.results import load
from workflow.results.common.plan import Run
from workflow.results.common.result import Table


class Rows:
    """The rows of an experiment's tables, beside the paper's `published` numbers (config/published.yaml)."""

    def __init__(self, experiment: Experiment, runs: Runs, published: Mapping[str, Any]):
        self.experiment, self.runs, self.published = experiment, runs, published
        self.results = load()
        self.tables = {result.name: result for _, result in self.results if isinstance(result, Table)}
        self.shown = {name: table.shows(self) if table.shows else [] for name, table in self.tables.items()}
        self.own: dict[
            str, list[Run]
        ] = {}  # the trained runs that the paper does not have, by each table that has them
        self.own_rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in self.tables}
        papers = {run for shown in self.shown.values() for run in shown}
        others = [(task, model) for task, models in runs.rows.items() for model in models]
        for name, table in self.tables.items():
            rows = {run: table.own_row(self, *run) for run in others if table.own_row and run not in papers}
            if own := {run: row for run, row in rows.items() if row}:
                self.own[name], self.own_rows[name] = list(own), list(own.values())
                self.shown[name] = [*self.shown[name], *own]

    @cached_property
    def in_full(self) -> list[str]:
        """The tasks whose tables also show the literature and the rows that are not run.

        A translation task with one model has nothing to compare. Tables show only the row of this model.
        """
        rows, tasks = self.runs.rows, self.experiment.tasks
        return [task for task in rows if len(rows[task]) > 1 or tasks[task].kind == "parsing"]

    def some(self, name: str) -> ByTask:
        """The models that a table shows, by task."""
        return by_task(self.shown[name])

    def trained(self, shown: Iterable[Run]) -> list[Run]:
        """Those of some runs that the experiment trains."""
        return [(task, model) for task, model in shown if model in self.runs.rows.get(task, ())]

    def parsers(self) -> ByTask:
        """All trained parsers."""
        tasks = self.experiment.tasks
        return {task: models for task, models in self.runs.trained.items() if tasks[task].kind == "parsing"}

    @property
    def curves(self) -> dict[str, Sequence[Run]]:
        """The groups of the training curves: the runs of each table."""
        some = (table.curves(self) for table in self.tables.values() if table.curves)
        return {name: runs for groups in some for name, runs in groups.items()}

    def curve(self, group: str, name: str, alone: Iterable[Run] = ()) -> dict[str, list[Run]]:
        """A table's runs as one group; none if all of them are among `alone`."""
        runs = self.trained(self.shown[name])
        return {group: runs} if set(runs) - set(alone) else {}


def by_task(shown: Iterable[Run]) -> dict[str, list[str]]:
    """The models of some runs, by task."""
    some: dict[str, list[str]] = {}
    for task, model in shown:
        some.setdefault(task, []).append(model)
    return some
