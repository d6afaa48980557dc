"""What a result is made from: its plan and its job. What a table is made of: its content."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Run = tuple[str, str]  # task, model
Equal = Mapping[str, Mapping[str, Sequence[str]]]  # task -> model -> the rows that are this model
Row = dict[tuple[str, str], str]  # column -> the text of the cell; a column is a heading and a subheading or ""


@dataclass(frozen=True)
class Plan:
    """The inputs and the parameters of a rule: name -> files, name -> value."""

    input: Mapping[str, Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def reading(self, **more: Any) -> "Plan":
        """The plan with more inputs."""
        return Plan({**self.input, **more}, self.params)


class Inputs(Protocol):
    """The files of a job. Tables of scores have those named here; a room may have others."""

    published: str  # config/published.yaml
    scores: Sequence[str]
    packages: Sequence[str]  # the config.json of each package behind the scores

    def __getattr__(self, name: str) -> Any: ...


class Params(Protocol):
    """The parameters of a job. Tables of scores have those named here; a room may have others."""

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


@dataclass(frozen=True)
class Content:
    """The rows of a table and the notes below it: what this table alone needs, because docs/tables.md has the rest.

    The first `names` columns hold text, the others numbers. Only the csv has columns whose subheading is in `csv_only`.
    """

    rows: Sequence[Row]
    names: int
    notes: Sequence[str] = ()
    csv_only: Collection[str] = ()


def heading_of(column: tuple[str, str]) -> str:
    """Heading and subheading in one."""
    return ", ".join(filter(None, column))
