"""What an experiment's results show: their runs, their notes, and the plan of each."""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from snakemake.iocontainers import Wildcards

from transformer.model.config import last_position
from transformer.support.strict import listed, plain, read_keys, read_yaml
from workflow.dag.runs import ByTask, Runs
from workflow.experiment.config import Experiment
from workflow.experiment.sources import OWN_FILES
from workflow.results import load
from workflow.results.common.plan import Plan, Run

ON_DEV = ("ende",)  # tasks of Table 3, scored on dev; others are scored on test
QUARTERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)  # of base's longest pair: the upper bounds of the length classes
UNSCALED = ("P_drop", "eps_ls")
# A file that is made by decoding or scoring a part; groups: task, model, part.
DECODED = re.compile(r"/runs/([^/]+)/([^/]+)/\d+/average-\d+/(?:[^/]+/)?([^/.]+)\.(?:scores|translation|comparison)\b")


class Selection:
    """What the results show of an experiment's runs, beside the paper's `numbers` (config/published.yaml)."""

    translated = 100  # the most pairs of a length class that are translated for BLEU

    def __init__(self, experiment: Experiment, runs: Runs, numbers: Path):
        self.experiment, self.runs, self.numbers = experiment, runs, numbers
        self.published: Mapping[str, Any] = read_yaml(numbers)
        self.results = load()
        self.tables = {result.name: result for _, result in self.results if result.category == "Tables"}
        self.shown = {name: table.shows(self) for name, table in self.tables.items()}
        self.own = self._own_runs()
        for name, more in self.own.items():
            self.shown[name] = [*self.shown[name], *more]

    @cached_property
    def planned(self) -> list[tuple[str, Any, Plan]]:
        """The results that the experiment has: room, result, plan."""
        plans = ((room, result, result.plan(self)) for room, result in self.results)
        return [(room, result, plan) for room, result, plan in plans if plan]

    def _own_runs(self) -> dict[str, list[Run]]:
        """The trained runs that the paper does not have, by each table that shows their task."""
        published = {run for runs in self.shown.values() for run in runs}
        own: dict[str, list[Run]] = {}
        for task, models in self.runs.rows.items():
            more = [(task, model) for model in models if (task, model) not in published]
            for name, table in self.tables.items():
                if more and table.owns(task, self.experiment.tasks[task]):
                    own.setdefault(name, []).extend(more)
        return own

    def own_rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table that the paper does not have, in the form of config/published.yaml."""
        own_row = self.tables[name].own_row
        return [own_row(self, *run) for run in self.own.get(name, ())] if own_row else []

    @cached_property
    def in_full(self) -> list[str]:
        """The tasks whose tables also show the literature and the rows that are not run.

        A translation task with one model has nothing to compare. Tables show only the row of this model.
        """
        return [
            task
            for task, rows in self.runs.rows.items()
            if len(rows) > 1 or self.experiment.tasks[task].kind == "parsing"
        ]

    def some(self, name: str) -> ByTask:
        """The models that a table shows, by task."""
        return by_task(self.shown[name])

    def trained(self, shown: Iterable[Run]) -> list[Run]:
        """Those of some runs that the experiment trains."""
        return [(task, model) for task, model in shown if model in self.runs.rows.get(task, ())]

    # Inputs and parameters of rules.

    def released(self, experiment: str) -> Path:
        """The folder of an experiment's released tables."""
        return self.numbers.parents[1] / "docs" / experiment / "tables"

    def measured(self, some: ByTask, scores: Sequence[str]) -> dict[str, Any]:
        """The inputs of a table that shows these scores: also the packages and the corpora behind them."""
        return {
            "published": self.numbers,
            "scores": scores,
            "packages": self.runs.packages_behind(scores),
            "corpora": self.runs.records(some),
        }

    def on_dev(self, shown: Sequence[Run], **more: Any) -> Plan:
        """The plan of a table of some runs with scores on dev, as in Table 3. `more` are further parameters."""
        some = by_task(shown)
        read = self.measured(some, self.runs.dev_scores(some)) | {"comparisons": self.runs.comparisons(some)}
        return Plan(read, self._params(shown) | more)

    def on_test(self, shown: Sequence[Run], **more: Any) -> Plan:
        """The plan of a table of some runs with scores on test."""
        some = by_task(shown)
        return Plan(self.measured(some, self.runs.averaged_scores(some)), self._params(shown) | more)

    def _params(self, shown: Sequence[Run]) -> dict[str, Any]:
        pairs = {name: f"{task.source}-{task.target}" for name, task in self.experiment.tasks.items()}
        return {"notes": self.notes(shown), "in_full": self.in_full, "equal": self.runs.equal, "pairs": pairs}

    @cached_property
    def all_scores(self) -> list[str]:
        """The scores of every run with all its seeds, on dev for Table 3's task and else on test."""
        scores = []
        for task, models in self.runs.trained.items():
            for model in models:
                runs = self.runs.with_seeds(self.experiment.seeds_of(task, model))
                scores += (runs.dev_scores if task in ON_DEV else runs.averaged_scores)({task: [model]})
        return scores

    @cached_property
    def scored(self) -> list[str]:
        """All scores that results show, those of every run first, then those on test."""
        read = [
            path
            for *_, plan in self.planned
            for files in plan.input.values()
            if isinstance(files, list)
            for path in files
        ]
        shown = [path for path in read if path.endswith(".scores.json")]
        return list(dict.fromkeys([*self.all_scores, *sorted(shown, key=lambda path: "/test." not in path)]))

    @cached_property
    def decoded(self) -> set[tuple[str, str, str]]:
        """The tasks, models and parts whose translations or scores results show."""
        inputs = (files for *_, plan in self.planned for files in plan.input.values())
        paths = (path for files in inputs for path in (files if isinstance(files, list) else [files]))
        shown = {match.groups() for path in paths if (match := DECODED.search(str(path)))}
        return shown | {(self.experiment.drawn[0], model, "dev") for model in self.runs.tried}  # type: ignore[return-value]

    def limits(self, wildcards: Wildcards) -> str:
        """For each part of a task, the model with the fewest positions that decodes or scores it, as `train` reads it.

        Models without a limit are left out. They can all read LONGEST subwords.
        """
        fewest: dict[str, tuple[int, str]] = {}
        for task, model, part in self.decoded:
            if task == wildcards.task and (last := last_position(self.experiment.run(task, model, 0).architecture)):
                fewest[part] = min((last, model), fewest.get(part, (last, model)))
        return ",".join(f"{part}={model}:{last}" for part, (last, model) in sorted(fewest.items()))

    @property
    def curves(self) -> dict[str, Sequence[Run]]:
        """The groups of the training curves: the runs of each table."""
        return {name: runs for table in self.tables.values() for name, runs in table.curves(self).items()}

    def curve(self, group: str, name: str, alone: Iterable[Run] = ()) -> dict[str, list[Run]]:
        """A table's runs as one group; none if all of them are among `alone`."""
        runs = self.trained(self.shown[name])
        return {group: runs} if set(runs) - set(alone) else {}

    def trees(self) -> dict[str, str]:
        """The trees that each parsing task is trained on. They stand beside each number of Table 4."""
        tasks = [task for task in self.some("table4") if task in self.runs.trained]
        return {task: self.experiment.corpus_of(task).description for task in tasks}

    def on_own_trees(self, task: str) -> bool:
        """Whether a task's trees, or those of the parser from which it learns, are no corpus of config/corpora.yaml."""
        gold = self.experiment.corpus_of(task).tasks().get("gold")
        own = self.experiment.tasks[task].corpus not in read_keys(OWN_FILES[1])["corpora"]
        return own or (gold is not None and self.on_own_trees(gold))

    def parsers(self) -> ByTask:
        """All runs of the tasks of Table 4."""
        return {task: models for task, models in self.runs.trained.items() if task in self.some("table4")}

    @cached_property
    def longest(self) -> int:
        """The subwords on the longer side of the longest pair that base learns from."""
        return self.experiment.run("", "base", self.experiment.seeds[0]).training.longest_pair

    @property
    def lengths(self) -> list[int]:
        """The upper bound, in subwords, of each length class for which perplexity and BLEU are measured."""
        return sorted({max(1, math.ceil(self.longest * count / 4)) for count in QUARTERS})

    def sentences(self) -> list[str]:
        """The sentences of figures 3 to 5."""
        figures = self.published["attention"]["figures"].values()
        return list(dict.fromkeys(figure["sentence"] for figure in figures))

    # Notes.

    def notes(self, shown: Sequence[Run]) -> list[str]:
        """The notes under a table of these runs: those of the experiment, equal rows, and how models differ."""
        equal = [
            f"At this scale {' and '.join(rows)} are the same model, trained once."
            for task, equal in self.runs.equal.items()
            for rows in equal.values()
            if sum((task, row) in shown for row in rows) > 1
        ]
        return [*self.experiment.notes, *dict.fromkeys(equal), *self._model_notes(self.trained(shown))]

    def _model_notes(self, shown: Sequence[Run]) -> list[str]:
        """The sizes of base and of each parser, and the dropout of rows that have another than the paper's.

        Base has no note if it has the paper's sizes.
        """
        printed = {row["model"]: row for row in self.published["table3"]}
        parsing = {name for name, task in self.experiment.tasks.items() if task.kind == "parsing"}
        notes = []
        for model in dict.fromkeys(model if task in parsing else "base" for task, model in shown):
            sizes = self._sizes(model, printed["base"])
            if model != "base" or any(value != printed["base"][key] for key, value in sizes.items()):
                notes.append(f"Our {model} has {listed(sizes)}.{self._scaled()}")
        for model in dict.fromkeys(model for task, model in shown if task == "ende" and model != "base"):
            paper = {key: value for key, value in printed.get(model, {}).items() if key in UNSCALED}
            ours = self._sizes(model, paper) if paper else {}
            if ours != paper:
                notes.append(f"Our {model} has {listed(ours)}; the paper's has {listed(paper)}.")
        return notes

    def _sizes(self, model: str, keys: Collection[str]) -> dict[str, Any]:
        """Those of the keys that a model's config has, with their values."""
        run = self.experiment.run("", model, self.experiment.seeds[0])
        resolved = plain(run.architecture) | {"eps_ls": run.training.eps_ls}
        return {key: value for key, value in resolved.items() if key in keys}

    def _scaled(self) -> str:
        scale = self.experiment.scale
        if (scale.width, scale.depth) == (1, 1):
            return ""
        return f" The config's widths are multiplied by {scale.width} and its layers by {scale.depth}, rounded."


def by_task(shown: Iterable[Run]) -> dict[str, list[str]]:
    """The models of some runs, by task."""
    some: dict[str, list[str]] = {}
    for task, model in shown:
        some.setdefault(task, []).append(model)
    return some
