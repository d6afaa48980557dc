"""The paper's claims, with the score files that they are judged by."""

from collections.abc import Mapping
from itertools import chain
from typing import Any

from transformer.experiment.claims import Claim
from transformer.support.strict import plain
from workflow.lib.runs import Runs


class Claims:
    """The claims of an experiment (config/claims.yaml)."""

    def __init__(self, claims: Mapping[str, Claim], runs: Runs):
        self.runs = runs
        self.all = [
            {**plain(claim), "name": name, "runs": claim.runs(), "scores": self._scores(claim)}
            for name, claim in claims.items()
        ]

    def _scores(self, claim: Claim) -> list[list[str]]:
        """Of each row the scores of its seeds, in order; none where it is not run."""
        dev = self.runs.dev_scores
        scores = dev if claim.part == "dev" else self.runs.averaged_scores
        return [scores({task: [model]}) for task, model in claim.runs()]

    def judged(self, claim: Mapping[str, Any]) -> bool:
        """Whether all rows of a claim are run, and are not one model at this scale."""
        files = [tuple(scores) for scores in claim["scores"]]
        return all(files) and len(set(files)) > 1

    @property
    def scores(self) -> list[str]:
        """All score files that some claim is judged by."""
        judged = (claim["scores"] for claim in self.all if self.judged(claim))
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(judged))))
