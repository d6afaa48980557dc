"""What a room declares: tables and figures, each with its section, title, caption, inputs and function."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from transformer.support.languages import name_of
from transformer.support.markdown import without_breaks
from workflow.results.common.plan import Job, Plan, Run
from workflow.results.common.table_formats import Content, write_table

if TYPE_CHECKING:  # a table does not depend on the code of these
    from workflow.experiment.tasks import Task
    from workflow.results.rows import Rows
    from workflow.results.selection import Selection
else:
    Rows = Selection = Task = Any

BASE: Run = ("ende", "base")
EVERY = ""  # the section of what concerns the whole paper; it comes first
OWN = "own"  # the group of rows that the paper does not have


def languages(task: Task) -> str:
    """The languages of a task by their names, such as English-German. One without a name of its own has its code."""
    return "-".join(map(name_of, (task.source, task.target)))


def own_translation(name: str, task: Task) -> bool:
    """Whether a task is a translation that the paper does not have."""
    return task.kind == "translation" and name not in ("ende", "enfr")


def ende_rows(name: str) -> Callable[[Rows], list[Run]]:
    """The function that gives the runs of the paper's rows of a table of en-de."""

    def shows(rows: Rows) -> list[Run]:
        return [("ende", row["model"]) for row in rows.published[name]]

    return shows


@dataclass(frozen=True, kw_only=True)
class Result(ABC):
    """What tables and figures share.

    `plan` gives what the result is made from; None if an experiment has no such result. `caption` (reStructuredText)
    may have {name} for a parameter, {name[key]} for a value in it, and {name} of an input for the number of its files.
    """

    name: str
    section: str  # of the paper; the report sorts by it
    caption: str
    plan: Callable[[Selection], Plan | None]
    verb: str  # begins the name of its rule
    category: str  # in the report
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

    def params(self, plan: Plan, _: Task) -> dict[str, Any]:
        """All parameters of its rule: those of the plan, and its caption with their values."""
        files = {name: len(files) for name, files in plan.input.items() if isinstance(files, list)}
        return {**plan.params, "caption": self.caption.format(**{**files, **plan.params})}


@dataclass(frozen=True, kw_only=True)
class Table(Result):
    """A table. `content` computes it from Snakemake's object of its job."""

    title: str
    content: Callable[[Job], Content]
    # In brackets after the title. It may have {name} for a parameter, and {ende} for the languages of the task `ende`.
    detail: str = ""
    shows: Callable[[Rows], list[Run]] | None = None  # the runs of the paper's rows
    # A row for the run (task, model) of the user's own, in the form of config/published.yaml; None if it has none
    own_row: Callable[[Rows, str, str], dict[str, Any] | None] | None = None
    curves: Callable[[Rows], Mapping[str, Sequence[Run]]] | None = None  # groups of the training curves
    # Columns that `make reproduce` prints -> their headings there. The last is ours; rows without it are left out.
    printed: Mapping[str, str] = field(default_factory=dict)
    verb: str = "write"
    category: str = "Tables"
    target: str = "tables"

    def params(self, plan: Plan, ende: Task) -> dict[str, Any]:
        """All parameters of its rule: those of the plan, its caption with the notes, and its title with the detail."""
        detail = f" ({self.detail.format(ende=languages(ende), **plan.params)})" if self.detail else ""
        params = super().params(plan, ende)
        texts = map(without_breaks, plan.params.get("notes", ()))
        notes = "".join("\n- " + re.sub(r"[\\*`|]|_(?!\w)", r"\\\g<0>", text) + "\n" for text in texts)
        return params | {"caption": params["caption"] + notes, "title": self.title + detail}

    def files(self, results: str) -> dict[str, list[str]]:
        """The four formats."""
        return {kind: [f"{results}/tables/{self.name}.{kind}"] for kind in ("csv", "md", "html", "tex")}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of html and csv. The report sorts by them: HTML before csv."""
        formats = {"html": "HTML", "csv": "csv"}
        return {kind: {"section": self.section, "table": self.title, "format": formats[kind]} for kind in formats}

    def make(self, job: Job) -> None:
        """Compute and write it."""
        write_table(self.content(job), job.params.title, {kind: path for kind, [path] in job.output.items()})


@dataclass(frozen=True, kw_only=True)
class Figure(Result):
    """A figure, or several that one rule draws. `draw` gives a drawing or a text for each of the `titles`, in order."""

    titles: Mapping[str, str]  # file name -> title
    draw: Callable[[Job], Sequence[Any]]
    kinds: Sequence[str] = ("svg", "pdf", "png")  # the report shows the first
    verb: str = "draw"
    category: str = "Figures"
    target: str = "figures"

    def files(self, results: str) -> dict[str, list[str]]:
        """All kinds of each figure."""
        return {name: [f"{results}/figures/{name}.{kind}" for kind in self.kinds] for name in self.titles}

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """The labels of each figure's first kind."""
        return {name: {"section": self.section, "figure": title} for name, title in self.titles.items()}

    def make(self, job: Job) -> None:
        """Draw and write them."""
        from workflow.results.common.drawing import own_look, save

        if "pdf" in self.kinds:  # matplotlib draws it
            own_look()
        for name, drawing in zip(self.titles, self.draw(job), strict=True):
            save(drawing, job.output[name])
