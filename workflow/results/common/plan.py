"""What a result is made from: its plan, when the DAG is built, and its job, when it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Run = tuple[str, str]  # task, model
Equal = Mapping[str, Mapping[str, Sequence[str]]]  # task -> model -> the rows that are this model


@dataclass(frozen=True)
class Plan:
    """The inputs and the parameters of a rule: name -> files, name -> value."""

    input: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def reading(self, **more: Any) -> "Plan":
        """The plan with more inputs."""
        return Plan({**self.input, **more}, self.params)


class Inputs(Protocol):
    """The files of a plan. Tables of scores have those named here; a room may have others."""

    published: str  # config/published.yaml
    scores: Sequence[str]
    packages: Sequence[str]  # the config.json of each package behind the scores
    corpora: Sequence[str]

    def __getattr__(self, name: str) -> Any: ...


class Params(Protocol):
    """The parameters of a plan. Tables of scores have those named here; a room may have others."""

    title: str
    notes: Sequence[str]
    equal: Equal
    in_full: Sequence[str]  # tasks
    pairs: Mapping[str, str]  # task -> its languages
    own: Sequence[Mapping[str, Any]]  # the user's own rows, in the form of config/published.yaml

    def __getattr__(self, name: str) -> Any: ...


class Job(Protocol):
    """Snakemake's object of a job."""

    input: Inputs
    params: Params
    output: Mapping[str, Sequence[str]]
