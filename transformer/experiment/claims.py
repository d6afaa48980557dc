"""A claim of config/claims.yaml, by the paper or by the user: which rows it compares, and by which metric."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from transformer.package.config import TaskKind
from transformer.support.strict import not_positive, repeated, unknown

SECTIONS = (
    *("3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4"),
    *("6.1", "6.2 A", "6.2 B", "6.2 C", "6.2 D", "6.2 E", "6.3", "appendix", "own"),
)
Measured = Literal["bleu", "perplexity", "f1", "hours", "longer"]
KINDS: dict[Measured, TaskKind] = {"bleu": "translation", "f1": "parsing", "longer": "translation"}
# How dev is decoded. averaged: with the averaging and decoding of the task's test. Greedy search (beam-1) has no alpha.
WAY = r"averaged|beam-1|beam-(?!1\.)[1-9]\d*\.alpha-(0|[1-9]\d*)(\.\d*[1-9])?"


@dataclass(frozen=True)
class Claim:
    """A claim that each row is better than the row before it, or that two rows are alike within a margin."""

    claim: str
    section: str
    # Higher bleu and f1 are better; lower perplexity and hours (of training) are better. longer: the perplexity of
    # pairs that are longer than those trained on, up to twice as long, in subwords.
    metric: Measured
    part: Literal["dev", "test"]  # dev: checkpoints are averaged as in Table 3; test: as in Tables 2 and 4
    rows: tuple[str, ...]  # task/model, or task/model/way of decoding dev (a row of the table `decoding`)
    margin: float | None = None  # in points of the metric; in percent for perplexity and hours
    differ: tuple[Literal["steps", "text"], ...] = ()  # what else may differ between the rows
    seeds: int = 1  # the fewest that the experiment must have; a verdict needs three

    def faults(self) -> list[str]:
        """A message for each impossible value."""
        found = [*not_positive(self, "seeds"), *repeated("rows", self.rows)]
        if self.section not in SECTIONS:
            found.append(f"section: {unknown(self.section, SECTIONS, 'section')}; `own` is for claims of your own")
        if len(self.rows) < 2:
            found.append(f"rows: must name at least two rows (task/model), not {list(self.rows)}")
        for row in self.rows:
            if not re.fullmatch(f"[^/]+/[^/]+(/({WAY}))?", row):
                found.append(
                    f"rows: {row} is not a row; write one like ende/base, ende/base/averaged, ende/base/beam-1 or "
                    "ende/base/beam-4.alpha-0.6"
                )
            elif self.metric not in ("bleu", "f1") and "/beam-" in row:
                found.append(f"rows: {row}: {self.metric} does not depend on the search; write task/model")
            elif self.metric in ("hours", "longer") and row.endswith("/averaged"):
                found.append(f"rows: {row}: {self.metric} is that of task/model; write it so")
            elif self.part != "dev" and row.count("/") > 1:
                found.append(f"rows: {row} is measured on dev only; write part: dev")
        if self.margin is not None and not 0 < self.margin < math.inf:
            found.append(f"margin: must be a finite number above 0, not {self.margin:g}")
        if self.margin is not None and len(self.rows) > 2:
            found.append(f"margin: needs exactly two rows, not {len(self.rows)}; name two or remove margin")
        return found

    def runs(self) -> list[tuple[str, str]]:
        """The task and the model of each row."""
        return [(task, model) for task, model, *_ in (row.split("/") for row in self.rows)]

    def ways(self) -> list[str]:
        """The way in which each row is decoded. Empty: like the row's table."""
        return ["".join(way) for _, _, *way in (row.split("/") for row in self.rows)]
