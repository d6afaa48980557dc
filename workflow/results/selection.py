"""What the results of an experiment ask of other rules."""

import math
import re
from functools import cached_property
from itertools import chain
from typing import Any

from snakemake.iocontainers import Wildcards

from transformer.model.config import last_position
from workflow.results.plans import Plans

QUARTERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20)  # of base's longest pair: the upper bounds of the length classes
# A file that is made by decoding or scoring a part; groups: task, model, part.
DECODED = re.compile(r"/runs/([^/]+)/([^/]+)/\d+/average-\d+/(?:[^/]+/)?([^/.]+)\.(?:scores|translation|comparison)\b")


class Selection(Plans):
    """What an experiment's results show, and what other rules make for them."""

    translated = 100  # the most pairs of a length class that are translated for BLEU

    @cached_property
    def all_scores(self) -> list[str]:
        """The scores of every run with all its seeds, on dev for Table 3's task and else on test."""
        scores = []
        for task, models in self.runs.trained.items():
            for model in models:
                runs = self.runs.with_seeds(self.experiment.seeds_of(task, model))
                scores += self.scores_of(task, runs)({task: [model]})
        return scores

    @cached_property
    def _read(self) -> list[str]:
        """All files that results read."""
        inputs = chain.from_iterable(plan.input.values() for *_, plan in self.planned)
        return [str(path) for files in inputs for path in (files if isinstance(files, list) else [files])]

    @cached_property
    def scored(self) -> list[str]:
        """All scores that results show, those of every run first, then those on test."""
        shown = [path for path in self._read if path.endswith(".scores.json")]
        return list(dict.fromkeys([*self.all_scores, *sorted(shown, key=lambda path: "/test." not in path)]))

    @cached_property
    def decoded(self) -> set[tuple[str | Any, ...]]:
        """The tasks, models and parts whose translations or scores results show."""
        shown = {match.groups() for match in map(DECODED.search, self._read) if match}
        return shown | {(self.experiment.drawn[0], model, "dev") for model in self.runs.tried}

    def limits(self, wildcards: Wildcards) -> str:
        """For each part of a task, the model with the fewest positions that decodes or scores it, as `train` reads it.

        Models without a limit are left out. They can all read LONGEST subwords.
        """
        fewest: dict[str, tuple[int, str]] = {}
        for task, model, part in self.decoded:
            if task == wildcards.task and (last := last_position(self.experiment.run(task, model, 0).architecture)):
                fewest[part] = min((last, model), fewest.get(part, (last, model)))
        return ",".join(f"{part}={model}:{last}" for part, (last, model) in sorted(fewest.items()))

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
