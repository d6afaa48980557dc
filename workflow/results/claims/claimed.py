"""The claims of an experiment, and the files of scores that judge them."""

import csv
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.support.strict import plain
from workflow.experiment.claims import Claim
from workflow.results.common.plan import Plan

if TYPE_CHECKING:
    from workflow.dag.runs import Runs
    from workflow.results.selection import Selection
else:
    Selection = Any


class Claims:
    """The claims of an experiment (config/claims.yaml)."""

    def __init__(self, claims: Mapping[str, Claim], runs: "Runs"):
        self.runs = runs
        paper = {task for claim in claims.values() if claim.section != "own" for task, _ in claim.runs()}
        # Without a task of the paper, its claims would all be "not run".
        told = {name: claim for name, claim in claims.items() if paper & runs.rows.keys() or claim.section == "own"}
        self.all = [self._resolved(name, claim) for name, claim in told.items()]

    def _resolved(self, name: str, claim: Claim) -> dict[str, Any]:
        """A claim as mappings. Its scores are those of each row, but rows that are one model at this scale count once.

        It is judged if all its rows are run and they are not all one model.
        """
        part = "dev" if claim.part == "dev" else "test"
        scores = self._scores(claim, part)
        judged = all(scores) and len(scores) > 1
        rows = {"runs": claim.runs(), "ways": claim.ways(), "scores": scores}
        beside = self._scores(claim, "dev") if judged and claim.part == "both" else []
        runs = (self.runs.experiment.run(*run, self.runs.seeds[0]) for run in claim.runs() if judged)
        widths = list(dict.fromkeys(run.architecture.d_k for run in runs))
        return {**plain(claim), "name": name, **rows, "judged": judged, "beside": beside, "widths": widths}

    def _scores(self, claim: Claim, part: str) -> list[list[str]]:
        """For each row, the score files of its seeds on a part, in order. Empty for a row that is not run.

        For a claim about time, the name of the run whose steps are timed takes their place.
        """
        if claim.metric == "step_time":
            models = (self.runs.run_of.get(run) for run in claim.runs())
            timed = ((task, model) for (task, _), model in zip(claim.runs(), models, strict=True))
            return [[f"{task}/{model}"] if model in self.runs.timed.get(task, ()) else [] for task, model in timed]
        runs, scores = self.runs.with_seeds([*self.runs.seeds, *claim.further_seeds]), []
        for (task, model), way in zip(claim.runs(), claim.ways(), strict=True):
            if way == "averaged" or (claim.part == "test" and not way):
                scores.append(runs.averaged_scores({task: [model]}, part))
            elif way:
                scores.append(runs.searched(task, model, f"{way}/", part))
            else:
                scores.append(runs.dev_scores({task: [model]}, part))
        return list(map(list, dict.fromkeys(map(tuple, scores))))

    @property
    def scores(self) -> list[str]:
        """The score files of all claims that are judged. Empty if no two models are compared and no claim is `own`."""
        judged = [claim for claim in self.all if claim["judged"]]
        compared = any(len(set(claim["runs"])) > 1 or claim["section"] == "own" for claim in judged)
        return self._files(judged) if compared else []

    @property
    def lengths(self) -> list[str]:
        """The scores by length, for the claims about longer pairs."""
        about = (claim for claim in self.all if claim["metric"] in ("within", "longer"))
        return [str(Path(path).with_name("lengths.csv")) for path in self._files(about)]

    def _files(self, claims: Iterable[Mapping[str, Any]]) -> list[str]:
        scored = (claim for claim in claims if claim["judged"] and claim["metric"] != "step_time")
        judged = ([*claim["scores"], *claim["beside"]] for claim in scored)
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(judged))))


def plan(selection: Selection) -> Plan | None:
    """The scores of all claims, and those of Table 3 for a note on how far it agrees with the paper's."""
    claims = Claims(selection.experiment.claims, selection.runs)
    if not claims.scores:
        return None
    table3 = selection.runs.dev_scores(selection.some("table3"))
    scores = list(dict.fromkeys([*claims.scores, *table3]))
    corpora = selection.runs.records(selection.runs.trained)
    more = {"corpora": corpora, "lengths": claims.lengths, "times": selection.runs.step_times}
    shown = [*selection.shown["table3"], *(run for claim in claims.all for run in claim["runs"])]
    params = {"claims": claims.all, "longest": selection.longest, "table3": table3}
    params |= {"notes": selection.notes(shown), "equal": selection.runs.equal}
    return Plan(selection.measured(selection.some("table3"), scores) | more, params)


def read_first(path: str) -> dict[tuple[str, str, str], Mapping[str, str]]:
    """The rows of a released table of claims, by section, claim and measure without its part, if they were tested."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        tested = [row for row in csv.DictReader(stream) if row["In favour, interval"]]
    return {(row["Section"], row["Claim"], row["Measure"].partition(",")[0]): row for row in tested}
