"""What the seeds say of each claim: the paper's difference, ours with its interval, and the verdict."""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

from transformer.evaluation.metrics import number_of
from transformer.evaluation.statistics import (
    APART,
    SEEDS,
    Hypothesis,
    Judged,
    Size,
    effects,
    judge,
    judge_rounds,
    mean,
    size,
)
from workflow.experiment.claims import Claim, Group, Section
from workflow.results.claims.plan import Planned
from workflow.results.common.by_length import between, perplexity, read_classes
from workflow.results.common.records import KEYS, read_json, read_yaml
from workflow.results.common.times import read_times

Printed = Mapping[tuple[str, str, str], Mapping[str, float]]  # part, task, model -> a row of published.yaml


@dataclass(frozen=True)
class Measure:
    """A quantity that claims are about."""

    heading: str
    key: str  # in a score file
    published: str  # in published.yaml
    relative: bool  # less is better; differences are in percent
    digits: int

    def value(self, raw: float) -> float:
        """The number on a scale on which more is better and a difference means the same everywhere."""
        return -math.log(raw) if self.relative else raw

    def margin(self, margin: float | None) -> float | None:
        """A margin between such values."""
        return math.log1p(margin / 100) if self.relative and margin is not None else margin

    def margin_text(self, margin: float) -> str:
        """A margin between such values, as the config has it."""
        return f"{100 * math.expm1(margin):.{self.digits}f} %" if self.relative else f"{margin:.{self.digits}f}"

    def shown(self, effect: float) -> float:
        """A difference of such values, in points or in percent."""
        return -100 * math.expm1(-effect) if self.relative else effect

    def text(self, effect: float | None, sign: str = "+") -> str:
        """A difference, as the table has it."""
        return "" if effect is None else f"{self.shown(effect):{sign}z.{self.digits}f}{' %' * self.relative}"

    def unit(self, alike: bool = False) -> str:
        """The unit of a difference. Of rows claimed to be alike, percent say how far the greater number is above."""
        return f"% {'more' if alike else 'less'}" if self.relative else "points"

    @property
    def axis(self) -> str:
        """The unit and what it is of, for the axis of a figure."""
        return f"{self.unit()}{' of' * (not self.relative)} {self.heading}"

    def in_words(self, bounds: Sequence[float], rows: Sequence[str]) -> str:
        """A difference of two rows, or the bounds of its interval: which row is better, or has more, and by how much.

        A positive difference says that the second row is better.
        """
        if min(bounds) < 0 < max(bounds):
            return " to ".join(self.in_words([bound], rows) for bound in bounds)
        low_to_high = list(map(self.margin_text, sorted(map(abs, bounds))))
        if low_to_high[-1] == self.margin_text(0):
            return "equal"
        row = rows[int((sum(bounds) > 0) != self.relative)]
        return f"{row} {' to '.join(low_to_high)} {'more' if self.relative else 'better'}"


MEASURES = {
    "bleu": Measure("BLEU", KEYS["bleu"], "bleu", False, 1),
    "f1": Measure("F1", KEYS["f1"], "f1", False, 1),
    "perplexity": Measure("perplexity", KEYS["ppl"], "ppl", True, 1),
    "within": Measure("perplexity within training", "within", "", True, 1),
    "longer": Measure("perplexity beyond training", "longer", "", True, 1),
    "step_time": Measure("time of a step", "step_time", "hours", True, 0),
}


@dataclass(frozen=True)
class Tested:
    """A claim with the paper's difference and ours."""

    planned: Planned
    paper: float | None = None
    each: Sequence[float] = ()  # our difference for each seed, or for each round; empty if a row is not run
    in_order: bool = False  # whether the means of our rows are in the claimed order
    judged: Judged | None = None  # None if there are fewer than SEEDS seeds
    reason: str = "the rows are the same here"  # why there is no difference although all rows are run
    beside: float | None = None  # the mean on dev, if test decides

    @property
    def claim(self) -> Claim:
        """The claim of the config."""
        return self.planned.claim

    @property
    def measure(self) -> Measure:
        """What the claim is about."""
        return MEASURES[self.claim.metric]

    @property
    def key(self) -> tuple[str, str, str]:
        """What a released table names the claim by: its section, its words and its measure."""
        return self.claim.section, self.claim.claim, self.measure.heading

    @property
    def family(self) -> str:
        """The claims among which this one is corrected. Empty if seeds do not decide it."""
        return "" if self.timed else self.claim.family or self.claim.group

    @property
    def ours(self) -> float | None:
        """The mean."""
        return float(np.mean(self.each)) if self.each else None

    @property
    def hypothesis(self) -> Hypothesis:
        """What the claim says of the mean of our differences."""
        margin = self.measure.margin
        return Hypothesis(mean(self.each), margin(self.claim.margin), margin(self.claim.least) or 0.0)

    @property
    def verdict(self) -> str:
        """The verdict, or the reason why there is none."""
        if self.judged:
            trend = len(self.planned.scores) > 2
            told = {
                "trend": trend,
                "not in order": trend and not self.in_order,
                "less than 10 % apart": self.timed and not self.alike and max(map(abs, self.judged.interval)) < APART,
                "see note": self.claim.note,
            }
            details = ", ".join(words for words, said in told.items() if said)
            return self.judged.verdict + (f": {details}" if details else "")
        if self.each:
            return f"undecided: {('one seed', 'two seeds')[len(self.each) - 1]}"
        return f"not run: {self.reason}" if all(self.planned.scores) else "not run"

    @property
    def note(self) -> str:
        """What a reader must know to judge the verdict, if there is one."""
        return (self.claim.note or "") if self.judged else ""

    @property
    def size(self) -> Size | None:
        """How our interval compares with the paper's difference. None without an interval or a number of the paper."""
        return size(self.judged.interval, self.paper) if self.judged and self.paper is not None else None

    def difference(self, *bounds: float | None) -> str:
        """A difference, or the bounds of its interval, as the table has it.

        It is positive in favour of the claim. For rows claimed to be alike, words say which is better.
        """
        known = [bound for bound in bounds if bound is not None]
        if self.alike and known:
            return self.measure.in_words(known, self.names)
        return " to ".join(map(self.measure.text, known))

    @property
    def names(self) -> list[str]:
        """The rows, the worse first."""
        return [row.removeprefix("ende/") for row in self.claim.rows]

    @property
    def rows(self) -> str:
        """The rows, the worse first, and by how much they are claimed to differ at most or at least."""
        named = (" ≈ " if self.alike else " < ").join(self.names)
        bounds = {"within": self.claim.margin, "by at least": self.claim.least}
        unit = " %" * self.measure.relative
        return named + "".join(f" ({words} {bound:g}{unit})" for words, bound in bounds.items() if bound is not None)

    @property
    def timed(self) -> bool:
        """Whether the claim is about time: it is decided by rounds, not by seeds."""
        return self.claim.metric == "step_time"

    @property
    def alike(self) -> bool:
        """Whether the rows are claimed to be alike."""
        return self.claim.margin is not None

    @property
    def could_show(self) -> str:
        """The least difference or margin that would have decided an undecided claim. Empty for others.

        It has one figure, because it rests on a spread that is estimated from few seeds.
        """
        measure, judged = self.measure, self.judged
        if not judged or judged.verdict != "undecided" or judged.smallest is None:
            return ""
        least = judged.smallest
        shown = 100 * math.expm1(least) if self.alike and measure.relative else measure.shown(least)
        return f"{float(f'{shown:.1g}'):g}{' %' * measure.relative}"


def decide(job: Any) -> list[Tested]:
    """Every claim of a job, sorted by group; in a group, first those about scores, then those about time.

    Those not run come last. Each of these parts is sorted by section. Verdicts are corrected within their family.
    """
    printed = _printed(read_yaml(job.input.published))
    measured = partial(_measured, times=read_times(job.input.times), longest=job.params.longest)
    tested = [_tested(each, printed, measured) for each in map(Planned.read, job.params.claims)]
    families = defaultdict[str, dict[str, Hypothesis]](dict)
    judged: dict[str, Judged] = {}
    for each in tested:
        if each.timed and each.each:
            judged[each.planned.name] = judge_rounds(each.each, each.measure.margin(each.claim.margin))
        elif len(each.each) >= SEEDS:
            families[each.family][each.planned.name] = each.hypothesis
    for family in families.values():
        judged |= judge(family)
    groups, sections = get_args(Group), get_args(Section)

    def place(each: Tested) -> tuple[int, bool, bool, int]:
        return groups.index(each.claim.group), each.ours is None, each.timed, sections.index(each.claim.section)

    return sorted((replace(each, judged=judged.get(each.planned.name)) for each in tested), key=place)


def _tested(planned: Planned, printed: Printed, measured: Callable[[str, str], Sequence[float]]) -> Tested:
    """A claim before it is judged. `measured` gives the numbers of a file in a measure: one, or one of each round."""
    claim, measure = planned.claim, MEASURES[planned.claim.metric]

    def values(rows: Sequence[Sequence[str]]) -> list[list[float]]:  # [rows, seeds]
        return [[measure.value(each) for path in row for each in measured(path, measure.key)] for row in rows]

    part = "test" if claim.part == "test" else "dev"
    numbers = [printed.get((part, *run), {}).get(measure.published, math.nan) for run in claim.runs()]
    [paper] = effects([[measure.value(each)] for each in numbers])
    tested = Tested(planned, None if any(claim.ways()) or np.isnan(numbers).any() else float(paper))
    if not planned.judged:
        return tested
    ours = values(planned.scores)
    known = np.isfinite(ours).all(1)
    if not known.all():  # only perplexity beyond training can be unknown
        return replace(tested, reason="longer than the learned positions" if known.any() else "no pairs of this length")
    return replace(
        tested,
        each=effects(ours).tolist(),
        in_order=bool((np.diff(np.mean(ours, 1)) > 0).all()),
        beside=float(np.mean(effects(values(planned.beside)))) if planned.beside else None,
    )


def _measured(path: str, key: str, times: Mapping[str, Sequence[float]], longest: int) -> Sequence[float]:
    """The numbers of a score file, or of the times of a run, under the key of a measure."""
    if key == "step_time":
        return times[path]
    if bounds := {"within": (1, longest), "longer": (longest + 1, 2 * longest)}.get(key):
        return [perplexity(between(read_classes(Path(path).with_name("lengths.csv")), *bounds))]
    return [number_of(read_json(path), key)]


def _printed(published: Mapping[str, Any]) -> Printed:
    """The paper's numbers by part, task and model. The part is dev in Table 3 and the appendix, else test."""
    numbers: dict[tuple[str, str, str], Mapping[str, float]] = {
        ("dev", "ende", row["model"]): row for row in (*published["table3"], *published["appendix"])
    }
    for row in published["table2"]:
        for task, model in row.get("model", {}).items():
            if task in row["bleu"]:
                numbers["test", task, model] = {"bleu": row["bleu"][task]}
    return numbers | {("test", row["task"], row["model"]): row for row in published["table4"] if "task" in row}
