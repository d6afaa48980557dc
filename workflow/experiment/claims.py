"""A claim of config/claims.yaml, by the paper or by the user: which rows it compares, and by which metric."""

import re
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from transformer.package.config import TaskKind
from transformer.support.fields import STRICT, Config, Distinct, Faults, Positive, PositiveNumber, Seed, check

# fmt: off
Section = Literal[
    "3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4",
    "6.1", "6.2 A", "6.2 B", "6.2 C", "6.2 D", "6.2 E", "6.3", "appendix", "own",
]
# fmt: on
Group = Literal["printed", "implied", "own"]
Measured = Literal["bleu", "perplexity", "f1", "step_time", "within", "longer"]
KINDS: dict[Measured, TaskKind] = {
    "bleu": "translation",
    "f1": "parsing",
    "within": "translation",
    "longer": "translation",
}
# How dev is decoded. averaged: with the averaging and decoding of the task's test. Greedy search (beam-1) has no alpha.
WAY = r"averaged|beam-1|beam-(?!1\.)[1-9]\d*\.alpha-(0|[1-9]\d*)(\.\d*[1-9])?"


@dataclass(frozen=True, config=STRICT)
class Claim(Config):
    """A claim that each row is better than the row before it, or that two rows are alike within a margin."""

    claim: str = Field(description="the claim, in words")
    section: Section = Field(description="of the paper; `own` for a claim of your own")
    metric: Measured = Field(description="bleu and f1: more is better; others: less")
    rows: Distinct[str] = Field(
        description="task/model, from worst to best; task/model/WAY: rows of the table `decoding`"
    )
    part: Literal["dev", "test", "both"] | None = Field(
        default=None,
        description="dev: averaged as in Table 3; test: as in Tables 2 and 4; both: as dev, but test decides, and dev "
        "stands beside it; none for step_time",
    )
    group: Group = Field(
        default="own",
        description="printed: the paper states it, in numbers or words; implied: it only chose or hoped so; own: ours",
    )
    margin: PositiveNumber | None = Field(
        default=None,
        description="two rows are alike: they differ by less than this many points (perplexity, step_time: percent)",
    )
    least: PositiveNumber | None = Field(
        default=None, description="the better row is better by more than this many points (perplexity: percent)"
    )
    differ: tuple[Literal["steps", "text"], ...] = Field(
        default=(), description="what else may differ between the rows"
    )
    seeds: Positive = Field(default=1, description="the fewest seeds that the experiment must have; a verdict needs 3")
    further_seeds: Distinct[Seed] = Field(
        default=(), description="seeds beside those of the experiment, with which the rows are trained for this claim"
    )
    family: str | None = Field(
        default=None, description="claims of one family are corrected together; without it, those of one group"
    )

    note: str | None = Field(default=None, description="what a reader must know to judge the verdict")

    @check
    def _measured(self) -> Faults:
        tasks = dict.fromkeys(row.partition("/")[0] for row in self.rows)
        if len(self.rows) < 2:
            yield "rows", f"must name at least two rows (task/model), not {list(self.rows)}"
        elif self.metric == "step_time" and len(tasks) > 1:
            yield "rows", f"{', '.join(tasks)}: step_time compares rows of one task; name only such rows"
        for row in self.rows:
            _, _, way = row.partition("/")[2].partition("/")
            if not re.fullmatch(f"[^/]+/[^/]+(/({WAY}))?", row):
                ways = "ende/base, ende/base/averaged, ende/base/beam-1 or ende/base/beam-4.alpha-0.6"
                yield "rows", f"{row} is not a row; write one like {ways}"
            elif way and self.metric not in ("bleu", "f1", "perplexity" * (way == "averaged")):
                yield "rows", f"{row}: {self.metric} does not depend on {way}; write task/model"
            elif way and self.part == "test":
                yield "rows", f"{row} is measured on dev, or on both parts; write part: dev"
        if self.metric == "step_time" and self.part:
            yield "part", "step_time is that of training; remove part"
        elif self.metric != "step_time" and not self.part:
            yield "part", "missing; write dev or test"
        if self.margin is not None and len(self.rows) > 2:
            yield "margin", f"needs exactly two rows, not {len(self.rows)}; name two or remove margin"
        if self.margin is not None and self.least is not None:
            yield "least", "rows are alike or apart; remove margin or least"

    def runs(self) -> list[tuple[str, str]]:
        """The task and the model of each row."""
        return [(task, model) for task, model, *_ in (row.split("/") for row in self.rows)]

    def ways(self) -> list[str]:
        """The way in which each row is decoded. Empty: like the row's table."""
        return ["".join(way) for _, _, *way in (row.split("/") for row in self.rows)]
