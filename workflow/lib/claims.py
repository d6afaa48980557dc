"""The claims of an experiment, with the score files that decide them."""

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from transformer.experiment.claims import Claim
from transformer.support.strict import plain
from workflow.lib.runs import Runs


class Claims:
    """The claims of an experiment (config/claims.yaml)."""

    def __init__(self, claims: Mapping[str, Claim], runs: Runs):
        self.runs = runs
        self.all = [self._resolved(name, claim) for name, claim in claims.items()]

    def _resolved(self, name: str, claim: Claim) -> dict[str, Any]:
        """A claim as mappings. Its scores are those of each row, but rows that are one model at this scale count once.

        It is judged if all its rows are run and they are not all one model.
        """
        scores = list(map(list, dict.fromkeys(map(tuple, self._scores(claim)))))
        judged = all(scores) and len(scores) > 1
        rows = {"runs": claim.runs(), "ways": claim.ways(), "scores": scores}
        return {**plain(claim), "name": name, **rows, "judged": judged}

    def _scores(self, claim: Claim) -> list[list[str]]:
        """For each row, the score files of its seeds in order. Empty for a row that is not run."""
        found = []
        for (task, model), way in zip(claim.runs(), claim.ways(), strict=True):
            if way == "averaged":
                found.append(self.runs.averaged_scores({task: [model]}, "dev"))
            elif way:
                found.append(self.runs.searched(task, model, f"{way}/"))
            else:
                scores = self.runs.dev_scores if claim.part == "dev" else self.runs.averaged_scores
                found.append(scores({task: [model]}))
        return found

    @property
    def scores(self) -> list[str]:
        """The score files of all claims that are judged. Empty if no two models are compared and no claim is `own`."""
        judged = [claim for claim in self.all if claim["judged"]]
        compared = any(len(set(claim["runs"])) > 1 or claim["section"] == "own" for claim in judged)
        return self._files(judged) if compared else []

    @property
    def lengths(self) -> list[str]:
        """The scores by length, for the claims about longer pairs."""
        about = (claim for claim in self.all if claim["metric"] == "longer")
        return [str(Path(path).with_name("lengths.csv")) for path in self._files(about)]

    def _files(self, claims: Iterable[Mapping[str, Any]]) -> list[str]:
        judged = (claim["scores"] for claim in claims if claim["judged"])
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(judged))))
