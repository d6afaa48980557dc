"""A claim of the paper, or of one's own, as config/claims.yaml has it: which rows it compares, and in what."""

import math
import re
from dataclasses import dataclass
from typing import Literal

from transformer.package.config import TaskKind
from transformer.support.strict import repeated, unknown

SECTIONS = (
    *("3.1", "3.2.1", "3.2.2", "3.2.3", "3.3", "3.4", "3.5", "4", "5.1", "5.2", "5.3", "5.4"),
    *("6.1", "6.2 A", "6.2 B", "6.2 C", "6.2 D", "6.2 E", "6.3", "appendix", "own"),
)
Measured = Literal["bleu", "perplexity", "f1", "hours", "longer"]
KINDS: dict[Measured, TaskKind] = {"bleu": "translation", "f1": "parsing", "longer": "translation"}
WAY = r"averaged|beam-\d+\.alpha-\d+(\.\d+)?"  # averaged: as the task decodes and averages for its test


@dataclass(frozen=True)
class Claim:
    """Of several rows each is better than the one before it; or two rows are alike, within a margin."""

    claim: str
    section: str
    # More BLEU and F1 are better, less perplexity, fewer hours of training; longer: perplexity of pairs that have more
    # subwords than those trained on, up to twice as many.
    metric: Measured
    part: Literal["dev", "test"]  # dev: averaged as in Table 3; test: as in Tables 2 and 4
    rows: tuple[str, ...]  # task/model, or task/model/way of decoding dev (the table `decoding`)
    margin: float | None = None  # of the metric; of perplexity and hours in percent
    differ: tuple[Literal["steps", "text"], ...] = ()  # in what else the rows may differ

    def faults(self) -> list[str]:
        """What is impossible about these values."""
        found = repeated("rows", self.rows)
        if self.section not in SECTIONS:
            found.append(f"section: {unknown(self.section, SECTIONS, 'section')}; `own` is for claims of your own")
        if len(self.rows) < 2:
            found.append(f"rows: {list(self.rows)} compares nothing; name at least two, as task/model")
        for row in self.rows:
            if not re.fullmatch(f"[^/]+/[^/]+(/({WAY}))?", row):
                found.append(
                    f"rows: {row} is not task/model; write one such as ende/base, ende/base/averaged or "
                    "ende/base/beam-1.alpha-0.6"
                )
            elif self.part != "dev" and row.count("/") > 1:
                found.append(f"rows: {row} is measured on dev alone; write part: dev")
        if self.margin is not None and not 0 < self.margin < math.inf:
            found.append(f"margin: {self.margin:g} can never be shown, or never missed; give a number above 0")
        if self.margin is not None and len(self.rows) > 2:
            found.append(f"margin: {len(self.rows)} rows; two are compared for being alike, so name two")
        return found

    def runs(self) -> list[tuple[str, str]]:
        """The task and the model of each row."""
        return [(task, model) for task, model, *_ in (row.split("/") for row in self.rows)]

    def ways(self) -> list[str]:
        """How each row is decoded; empty: as its table is."""
        return ["".join(way) for _, _, *way in (row.split("/") for row in self.rows)]
