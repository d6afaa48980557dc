"""The tables: one list, from which their rules, their targets and the groups of the training curves follow."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from transformer.corpora.libreoffice import LibreOfficeHelp
from transformer.experiment.config import Experiment
from workflow.lib.claims import Claims
from workflow.lib.notes import model_notes
from workflow.lib.runs import Runs, Some

Run = tuple[str, str]  # task, model
BASE: Run = ("ende", "base")
ON_DEV = ("ende",)  # tasks of Table 3, scored on dev; others are scored on test
QUARTERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)  # of base's longest pair: the upper bounds of the length classes
TRANSLATED = 100  # the most pairs of a length class that are translated for BLEU
OWN = "own"  # the group of rows that the paper does not have


@dataclass(frozen=True)
class Table:
    """A table. Its files, its rule, its script and its caption have its name."""

    name: str
    input: Mapping[str, Any]
    params: Mapping[str, Any]
    curves: Mapping[str, Sequence[Run]] = field(default_factory=dict)  # groups of the training curves


class Tables:
    """The tables of an experiment, from its runs and the paper's `numbers` (config/published.yaml)."""

    def __init__(self, experiment: Experiment, runs: Runs, numbers: Path):
        self.experiment, self.runs, self.numbers = experiment, runs, numbers
        self.published: Mapping[str, Any] = yaml.safe_load(numbers.read_text("utf-8"))
        names = ("table2", "table3", "table4", "appendix", "positions", "scaling")
        table2, table3, table4, appendix, positions, scaling = (self.published[name] for name in names)
        self.marks = self._marks()
        self.shown = {
            "marks": [(row["task"], row["model"]) for row in self.marks],
            "table2": [run for row in table2 for run in row.get("model", {}).items()],
            "table3": [("ende", row["model"]) for row in table3],
            "table4": [(row["task"], row["model"]) for row in table4 if "task" in row],
            "appendix": [("ende", row["model"]) for row in appendix],
            "positions": [("ende", row["model"]) for row in positions],
            "scaling": [("ende", row["model"]) for row in scaling],
        }
        self.claims = Claims(experiment.claims, runs)
        self.own = self._own_runs()
        for name, more in self.own.items():
            self.shown[name] = [*self.shown[name], *more]

    @cached_property
    def all(self) -> list[Table]:
        """Every table that the experiment has, in the order of the training curves."""
        beside_base = self._curves("Appendix", "appendix", [BASE])
        found = [
            Table("table3", self._on_dev("table3"), self._rows("table3"), self._table3_curves()),
            Table(
                "positions",
                self._on_dev("positions") | {"lengths": self.by_length},
                self._rows("positions") | {"longest": self.longest, "held_out": self.held_out},
                self._positions_curves,
            ),
            Table("appendix", self._on_dev("appendix"), self._rows("appendix"), beside_base),
            Table("table2", self._on_test("table2"), self._rows("table2"), self._curves("Table 2", "table2")),
            Table(
                "table4",
                self._on_test("table4"),
                self._rows("table4") | {"trained_on": self.trees()},
                self._curves("Table 4", "table4"),
            ),
        ]
        measured = {"complexity": self.runs.paths.complexity}
        beside_table3 = self._curves("Section 3.2.1", "scaling", self.shown["table3"])
        scaling = Table("scaling", self._on_dev("scaling") | measured, self._rows("scaling"), beside_table3)
        table1 = Table("table1", {"published": self.numbers} | measured, {})
        compared = {
            "translations": [path for row in self.marks for path in row["translations"]],
            "references": [row["reference"] for row in self.marks],
        }
        marks = Table("marks", self._on_test("marks") | compared, self._rows("marks") | {"rows": self.marks})
        return [
            *([self._claims] if self.claims.scores else []),
            *([marks] if self.marks else []),
            *([table1] if "ende" in self.in_full else []),
            *(
                table
                for table in found
                if table.input["scores"] and (table.name not in ("appendix", "positions") or table.curves)
            ),
            *([scaling] if "ende" in self.in_full or scaling.curves else []),
            *([self._decoding] if self.decoding else []),
            Table("corpora", {"corpora": self.runs.records(self.runs.trained)}, {"tasks": list(self.runs.trained)}),
            Table("runs", {"packages": self.runs.packages_behind(self.all_scores)}, {"equal": self.runs.equal}),
        ]

    @property
    def _claims(self) -> Table:
        """The claims, with a note on how far Table 3 agrees with the paper's."""
        table3 = self.runs.dev_scores(self.some("table3"))
        scores = list(dict.fromkeys([*self.claims.scores, *table3]))
        more = {"corpora": self.runs.records(self.runs.trained), "lengths": self.claims.lengths}
        told = {"claims": self.claims.all, "longest": self.longest, "table3": table3}
        shown = [*self.shown["table3"], *(run for claim in self.claims.all for run in claim["runs"])]
        inputs = self._measured(self.some("table3"), scores) | more
        return Table("claims", inputs, {**told, "notes": self.notes(shown), "equal": self.runs.equal})

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

    def some(self, name: str) -> Some:
        """The models that a table shows, by task."""
        found: dict[str, list[str]] = {}
        for task, model in self.shown[name]:
            found.setdefault(task, []).append(model)
        return found

    def _own_runs(self) -> dict[str, list[Run]]:
        """The trained runs that the paper does not have, by the table that shows their task."""
        published = {run for name, runs in self.shown.items() if name != "marks" for run in runs}
        own: dict[str, list[Run]] = {}
        for task, models in self.runs.rows.items():
            name = next((name for name in ("table3", "table2", "table4") if task in self.some(name)), None)
            if name and (more := [(task, model) for model in models if (task, model) not in published]):
                own.setdefault(name, []).extend(more)
        return own

    def _marks(self) -> list[dict[str, Any]]:
        """The published marks for texts and models of the experiment, each with the files to compare."""
        found = []
        for row in self.published["marks"]:
            task, model, part = row["task"], row["model"], row["part"]
            if model in self.runs.rows.get(task, ()) and self.experiment.tasks[task].corpus == row["corpus"]:
                scores = self.runs.averaged_scores({task: [model]})
                translations = [str(Path(path).with_name(f"{part}.translation")) for path in scores]
                reference = f"{self.runs.paths.corpus(task)}/{part}.target"
                found.append({**row, "translations": translations, "reference": reference})
        return found

    def _rows(self, name: str) -> dict[str, Any]:
        """The parameters of a table."""
        return {
            "notes": self.notes(self.shown[name]),
            "own": self.own_rows(name),
            "in_full": self.in_full,
            "equal": self.runs.equal,
            "pairs": {name: f"{task.source}-{task.target}" for name, task in self.experiment.tasks.items()},
        }

    def own_rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of a table that the paper does not have, in the form of config/published.yaml."""
        rows: list[dict[str, Any]] = []
        for task, model in self.own.get(name, ()):
            by_table: dict[str, dict[str, Any]] = {
                "table2": {"name": model, "model": {task: model}, "bleu": {}},
                "table3": {"group": OWN, "model": model, "changes": self.experiment.models[model]},
                "table4": {"name": model, "model": model, "task": task, "training": OWN},
            }
            rows.append(by_table[name])
        return rows

    def _on_dev(self, name: str) -> dict[str, Any]:
        scores, comparisons = self.runs.dev_scores(self.some(name)), self.runs.comparisons(self.some(name))
        return self._measured(self.some(name), scores) | {"comparisons": comparisons}

    def _on_test(self, name: str) -> dict[str, Any]:
        return self._measured(self.some(name), self.runs.averaged_scores(self.some(name)))

    def _measured(self, some: Some, scores: Sequence[str]) -> dict[str, Any]:
        return {
            "published": self.numbers,
            "scores": scores,
            "packages": self.runs.packages_behind(scores),
            "corpora": self.runs.records(some),
        }

    def _table3_curves(self) -> dict[str, list[Run]]:
        """The groups of Table 3, each with base."""
        groups: dict[str, list[Run]] = {}
        for row in self.published["table3"]:
            if "group" in row:
                groups.setdefault(f"Table 3 {row['group']}", [BASE]).append(("ende", row["model"]))
        groups["Your own models"] = [BASE, *self.own.get("table3", ())]
        return {name: runs for name, group in groups.items() if set(runs := self._trained(group)) - {BASE}}

    @property
    def _positions_curves(self) -> dict[str, list[Run]]:
        """The runs of the table of positions as a group; none if Table 3 has all of them."""
        return self._curves("Positions", "positions", [BASE, *self.shown["table3"]])

    @cached_property
    def decoding(self) -> dict[str, list[str]]:
        """Dev scores of the run of `figures`: with its task's decoding, with others, then of the last checkpoint alone.

        Empty if the experiment has no `searches`.
        """
        if not self.experiment.searched():
            return {}
        task, model = self.experiment.figures.task, self.experiment.figures.model
        own, average = self.runs.averaged_scores({task: [model]}, "dev"), self.runs.average(task, model)
        others = [path for search in self.runs.searches for path in self.runs.searched(task, model, search)]
        last = self.runs.files_of(task, [model], "average-1/dev.scores.json") if average > 1 else []
        return {"scores": own, "others": [*others, *last]}

    @property
    def _decoding(self) -> Table:
        """The table of these scores. If several rows are one model, it names the row of `figures`."""
        task, model = self.experiment.figures.task, self.experiment.figures.model
        inputs = self._measured({task: [model]}, self.decoding["scores"]) | self.decoding
        equal = {task: {self.runs.run_of[task, model]: [model]}}
        return Table("decoding", inputs, {"notes": self.notes([(task, model)]), "equal": equal})

    @cached_property
    def longest(self) -> int:
        """The subwords on the longer side of the longest pair that base learns from."""
        return self.experiment.run("", "base", self.experiment.seeds[0]).training.longest_pair

    @property
    def lengths(self) -> list[int]:
        """The upper bound, in subwords, of each length class for which perplexity and BLEU are measured."""
        return sorted({max(1, math.ceil(self.longest * count / 4)) for count in QUARTERS})

    @property
    def held_out(self) -> str:
        """The text on which perplexity and BLEU are measured by length, and how much of it is translated for BLEU."""
        [task] = ON_DEV
        longer = "the pairs of train that are too long for training (only the vocabulary is learnt from them)"
        if isinstance(self.experiment.corpus_of(task), LibreOfficeHelp):
            longer = "longer sentences from the pages of dev and test"
        return (
            f"dev, test and {longer}; sacreBLEU is measured on at most {TRANSLATED} pairs of each length class of "
            "the figure, evenly spaced in the text"
        )

    @property
    def by_length(self) -> list[str]:
        """The perplexity and BLEU by length of each run in the table of positions, in the order of their scores."""
        scores = self.runs.dev_scores(self.some("positions"))
        return [str(Path(path).with_name("lengths.csv")) for path in scores]

    def _curves(self, group: str, name: str, alone: Iterable[Run] = ()) -> dict[str, list[Run]]:
        """A table's runs as one group; none if all of them are among `alone`."""
        runs = self._trained(self.shown[name])
        return {group: runs} if set(runs) - set(alone) else {}

    def _trained(self, runs: Iterable[Run]) -> list[Run]:
        return [(task, model) for task, model in runs if model in self.runs.rows.get(task, ())]

    @property
    def curves(self) -> dict[str, Sequence[Run]]:
        """The groups of the training curves: the runs of each table."""
        return {name: runs for table in self.all for name, runs in table.curves.items()}

    @property
    def drawn(self) -> list[str]:
        """Those of its figures that other experiments may not have."""
        shown = {
            "claims": self.claims.scores,
            "training_curves": self.curves,
            "table1": "ende" in self.in_full,
            "dot_products": "ende" in self.in_full,
            "table3": "ende" in self.in_full,
            "positions": self._positions_curves,
            "decoding": self.decoding,
        }
        return [name for name, there in shown.items() if there]

    @cached_property
    def all_scores(self) -> list[str]:
        """The scores of every run, on dev for Table 3's task and else on test."""
        return [
            path
            for task, models in self.runs.trained.items()
            for path in (self.runs.dev_scores if task in ON_DEV else self.runs.averaged_scores)({task: models})
        ]

    @cached_property
    def scored(self) -> list[str]:
        """All scores that tables show."""
        more = (self.runs.averaged_scores(self.some(name)) for name in ("table2", "table4", "marks"))
        found = [*self.all_scores, *(path for paths in more for path in paths), *self.claims.scores]
        return list(dict.fromkeys([*found, *(path for paths in self.decoding.values() for path in paths)]))

    def trees(self) -> dict[str, str]:
        """The trees that each parsing task is trained on. They stand beside each number of Table 4."""
        tasks = [task for task in self.some("table4") if task in self.runs.trained]
        return {task: self.experiment.corpus_of(task).description for task in tasks}

    def parsers(self) -> Some:
        """All runs of the tasks of Table 4."""
        return {task: models for task, models in self.runs.trained.items() if task in self.some("table4")}

    @property
    def parsing_task(self) -> str:
        """The task whose trees are drawn: the first of Table 4."""
        return self.shown["table4"][0][0]

    def parses(self) -> list[str]:
        """The test parses that are drawn; none if that task is not run."""
        scores = self.runs.averaged_scores({self.parsing_task: self.some("table4")[self.parsing_task]})
        return [str(Path(path).with_name("test.translation")) for path in scores[:1]]

    def sentences(self) -> list[str]:
        """The sentences of figures 3 to 5."""
        figures = self.published["attention"]["figures"].values()
        return list(dict.fromkeys(figure["sentence"] for figure in figures))

    def notes(self, shown: Sequence[Run]) -> list[str]:
        """The notes under a table of these runs: those of the experiment, equal rows, and how models differ."""
        equal = [
            f"At this scale {' and '.join(rows)} are the same model, trained once."
            for task, equal in self.runs.equal.items()
            for rows in equal.values()
            if sum((task, row) in shown for row in rows) > 1
        ]
        models = model_notes(self.experiment, self._trained(shown), self.published["table3"])
        return [*self.experiment.notes, *equal, *models]
