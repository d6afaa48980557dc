"""What a room declares: its table or figure, with section, title, caption, inputs and function."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from transformer.support.languages import name_of
from workflow.results.common.plan import Content, Job, Plan, Run
from workflow.results.common.table_formats import write_table

if TYPE_CHECKING:  # a table does not depend on the code of these
    from workflow.experiment.tasks import Task
    from workflow.results.rows import Rows
    from workflow.results.selection import Selection
else:
    Rows = Selection = Task = Any

EVERY = ""  # the section of what concerns the whole paper; it comes first
OWN = "own"  # the group of rows that the paper does not have


def languages(task: Task) -> str:
    """The languages of a task by their names, such as English-German. One without a name of its own has its code."""
    return "-".join(map(name_of, (task.source, task.target)))


def own_translation(name: str, task: Task) -> bool:
    """Whether a task is a translation that the paper does not have."""
    return task.kind == "translation" and name not in ("ende", "enfr")


@dataclass(frozen=True, kw_only=True)
class Result(ABC):
    """What tables and figures share.

    `plan` gives what the result is made from; None if an experiment has no such result. `caption` (reStructuredText)
    may have {name} for a parameter, {name[key]} for a value in it, and {name} of an input for the number of its files.
    """

    category: ClassVar[str]  # in the report

    name: str
    section: str  # of the paper; the report sorts by it
    caption: str
    plan: Callable[[Selection], Plan | None]
    verb: str  # begins the name of its rule
    target: str  # the rule that asks for it
    packed: bool = True  # whether the rule `scores` packs its inputs

    @abstractmethod
    def files(self, results: str) -> dict[str, list[str]]:
        """Its files in the folder `results`, by the name of the rule's output."""

    @property
    @abstractmethod
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels in the report of the first file of an output, by the name of the output."""

    @abstractmethod
    def make(self, job: Job) -> None:
        """Write the outputs of a job."""

    @property
    def rule(self) -> str:
        """The name of its rule."""
        return f"{self.verb}_{self.name}"

    def params(self, plan: Plan) -> dict[str, Any]:
        """All parameters of its rule: those of the plan, and its caption with their values."""
        files = {name: len(files) for name, files in plan.input.items() if isinstance(files, list)}
        return {**plan.params, "caption": self.caption.format(**{**files, **plan.params})}


@dataclass(frozen=True, kw_only=True)
class Table(Result):
    """A table: what it is called, which runs it shows, and the function that computes it."""

    category = "Tables"
    title: str
    content: Callable[[Job], Content]
    detail: str = ""  # in brackets after the title; may have {name} for a parameter
    shows: Callable[[Rows], list[Run]] | None = None  # the runs of the paper's rows
    # A row for the run (task, model) of the user's own, in the form of config/published.yaml; None if it shows none
    own_row: Callable[[Rows, str, str], dict[str, Any] | None] | None = None
    curves: Callable[[Rows], Mapping[str, Sequence[Run]]] | None = None  # groups of the training curves
    # Columns that `make reproduce` prints -> their headings there. The last is ours; rows without it are left out.
    printed: Mapping[str, str] = field(default_factory=dict)
    kinds: Sequence[str] = ("csv", "md", "html", "tex")
    verb: str = "write"
    target: str = "tables"

    def params(self, plan: Plan) -> dict[str, Any]:
        """All parameters of its rule: those of the plan, its caption, and its title with the detail."""
        detail = f" ({self.detail.format(**plan.params)})" if self.detail else ""
        return super().params(plan) | {"title": self.title + detail}

    def files(self, results: str) -> dict[str, list[str]]:
        """Its formats."""
        return {kind: [f"{results}/tables/{self.name}.{kind}"] for kind in self.kinds}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of html and csv. The report sorts by them: HTML before csv."""
        of_all = {"section": self.section, "table": self.title}
        formats = {"html": "HTML", "csv": "csv"}
        return {kind: {**of_all, "format": name} for kind, name in formats.items() if kind in self.kinds}

    def make(self, job: Job) -> None:
        """Compute and write it."""
        write_table(self.content(job), job.params.title, {kind: path for kind, [path] in job.output.items()})
