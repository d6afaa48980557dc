"""Which files of scores decide each claim of an experiment (config/claims.yaml)."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workflow.experiment.claims import Claim
from workflow.results.common.plan import Plan

if TYPE_CHECKING:
    from workflow.dag.runs import Runs
    from workflow.results.selection import Selection
else:
    Runs = Selection = Any


@dataclass(frozen=True)
class Planned:
    """A claim, and the files that decide it."""

    name: str
    claim: Claim
    # For each row, the score files of its seeds, in order; none for a row that is not run. Rows that are one model at
    # this scale count once. A claim about time has the names of the runs whose steps are timed (task/model) instead.
    scores: list[list[str]]
    beside: list[list[str]]  # the same on dev, if test decides
    widths: list[int]  # the d_k of the rows that are run

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> "Planned":
        """A claim from the parameters of a rule, which `asdict` made."""
        return cls(**{**values, "claim": Claim(**values["claim"])})

    @property
    def judged(self) -> bool:
        """Whether all rows are run, and they are not all one model."""
        return all(self.scores) and len(self.scores) > 1

    @property
    def files(self) -> list[str]:
        """The score files, if the claim is judged."""
        scored = self.judged and self.claim.metric != "step_time"
        return list(chain(*self.scores, *self.beside)) if scored else []


def planned(claims: Mapping[str, Claim], runs: Runs) -> list[Planned]:
    """The claims of an experiment. Without a task of the paper, its claims are left out, as all would be "not run"."""
    paper = {task for claim in claims.values() if claim.section != "own" for task, _ in claim.runs()}
    told = {name: claim for name, claim in claims.items() if paper & runs.rows.keys() or claim.section == "own"}
    found = []
    for name, claim in told.items():
        scores = _scores(claim, runs, "dev" if claim.part == "dev" else "test")
        beside = _scores(claim, runs, "dev") if claim.part == "both" else []
        run = [runs.experiment.run(*each, runs.seeds[0]) for each in claim.runs() if each in runs.run_of]
        found.append(Planned(name, claim, scores, beside, list(dict.fromkeys(each.architecture.d_k for each in run))))
    return found


def _scores(claim: Claim, runs: Runs, part: str) -> list[list[str]]:
    """The `scores` of a claim on a part."""
    if claim.metric == "step_time":
        models = [(task, runs.run_of.get((task, model))) for task, model in claim.runs()]
        return [[f"{task}/{model}"] if model in runs.timed.get(task, ()) else [] for task, model in models]
    seeds, scores = runs.with_seeds([*runs.seeds, *claim.further_seeds]), []
    for (task, model), way in zip(claim.runs(), claim.ways(), strict=True):
        if way == "averaged" or (claim.part == "test" and not way):
            scores.append(seeds.averaged_scores({task: [model]}, part))
        elif way:
            scores.append(seeds.searched(task, model, f"{way}/", part))
        else:
            scores.append(seeds.dev_scores({task: [model]}, part))
    return list(map(list, dict.fromkeys(map(tuple, scores))))


def plan(selection: Selection) -> Plan | None:
    """The scores of all claims, and those of Table 3 for a note on how far it agrees with the paper's.

    None if no two models are compared and no claim is `own`.
    """
    runs = selection.runs
    claims = planned(selection.experiment.claims, runs)
    files = [path for each in claims for path in each.files]
    compared = (each for each in claims if each.judged)
    if not (files and any(len(set(each.claim.runs())) > 1 or each.claim.section == "own" for each in compared)):
        return None
    table3 = runs.dev_scores(selection.some("table3"))
    scores = list(dict.fromkeys([*files, *table3]))
    longer = dict.fromkeys(path for each in claims if each.claim.metric in ("within", "longer") for path in each.files)
    more = {
        "lengths": [str(Path(path).with_name("lengths.csv")) for path in longer],
        "times": runs.step_times,
    }
    shown = [*selection.shown["table3"], *(run for each in claims for run in each.claim.runs())]
    params = {"claims": list(map(asdict, claims)), "longest": selection.longest, "table3": table3}
    params |= {"notes": selection.notes(shown), "equal": runs.equal}
    return Plan(selection.measured(scores) | more, params)
