"""What the seeds say of each claim: the paper's difference, ours with its interval, and the verdict."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from transformer.evaluation.claims import (
    APART,
    SEEDS,
    Effects,
    Judged,
    Size,
    effects,
    first_decided,
    judge,
    judge_rounds,
    size,
)
from transformer.evaluation.metrics import number_of
from workflow.experiment.claims import Group, Section
from workflow.results.common.by_length import between, perplexity, read_classes
from workflow.results.common.records import KEYS, read_json, read_yaml
from workflow.results.common.times import read_times


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

    claim: Mapping[str, Any]
    measure: Measure
    paper: float | None
    each: Sequence[float]  # our difference for each seed, or for each round; empty if a row is not run
    in_order: bool  # whether the means of our rows are in the claimed order
    judged: Judged | None  # None if there are fewer than SEEDS seeds
    reason: str  # why there is no difference although all rows are run
    beside: float | None = None  # the mean on dev, if test decides

    @property
    def ours(self) -> float | None:
        """The mean."""
        return float(np.mean(self.each)) if len(self.each) else None

    @property
    def verdict(self) -> str:
        """The verdict, or the reason why there is none."""
        if self.judged:
            trend = len(self.claim["scores"]) > 2
            told = {
                "trend": trend,
                "not in order": trend and not self.in_order,
                "less than 10 % apart": self.timed and not self.alike and max(map(abs, self.judged.interval)) < APART,
                "see note": self.claim.get("note"),
            }
            details = ", ".join(words for words, said in told.items() if said)
            return self.judged.verdict + (f": {details}" if details else "")
        if len(self.each):
            return f"undecided: {('one seed', 'two seeds')[len(self.each) - 1]}"
        if not all(self.claim["scores"]):
            return "not run"
        return f"not run: {self.reason}"

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
        return [row.removeprefix("ende/") for row in self.claim["rows"]]

    @property
    def rows(self) -> str:
        """The rows, the worse first, and by how much they are claimed to differ at most or at least."""
        named = (" ≈ " if self.alike else " < ").join(self.names)
        bounds = {"within": self.claim.get("margin"), "by at least": self.claim.get("least")}
        unit = " %" * self.measure.relative
        return named + "".join(f" ({words} {bound:g}{unit})" for words, bound in bounds.items() if bound is not None)

    @property
    def timed(self) -> bool:
        """Whether the claim is about time: it is decided by rounds, not by seeds."""
        return self.measure.key == "step_time"

    @property
    def alike(self) -> bool:
        """Whether the rows are claimed to be alike."""
        return self.claim.get("margin") is not None

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


def effects_of(claim: Mapping[str, Any], each: Sequence[float] | np.ndarray) -> Effects:
    """The effects of a claim's seeds, with the bounds that the claim has."""
    margin = MEASURES[claim["metric"]].margin
    return Effects(np.asarray(each), margin(claim.get("margin")), margin(claim.get("least")) or 0.0)


def family(claim: Mapping[str, Any]) -> str:
    """The claims among which a claim is corrected."""
    family: str = claim.get("family") or claim["group"]
    return family


def decide(job: Any) -> list[Tested]:
    """Every claim, sorted by group; in a group, first those about scores, then those about time, then those not run.

    Each of these parts is sorted by section. Verdicts are corrected within their family.
    """
    printed = printed_numbers(read_yaml(job.input.published))
    times = read_times(getattr(job.input, "times", ()))

    def measured(path: str, key: str) -> float:
        longest = job.params.longest
        if bounds := {"within": (1, longest), "longer": (longest + 1, 2 * longest)}.get(key):
            return perplexity(between(read_classes(Path(path).with_name("lengths.csv")), *bounds))
        return number_of(read_json(path), key)

    def values(claim: Mapping[str, Any], files: str) -> list[list[float]]:
        """The values [rows, seeds] of a claim that is judged, from the files under this key."""
        measure, rows = MEASURES[claim["metric"]], claim.get(files, ()) if claim["judged"] else ()
        if measure.key == "step_time":
            return [list(map(measure.value, times[run])) for [run] in rows]
        return [[measure.value(measured(path, measure.key)) for path in row] for row in rows]

    tested = [
        _tested(claim, _printed_difference(claim, printed), values(claim, "scores"), values(claim, "beside"))
        for claim in job.params.claims
    ]
    judged = _judged(tested)
    groups, sections = get_args(Group), get_args(Section)

    def place(each: Tested) -> tuple[int, bool, bool, int]:
        section = sections.index(each.claim["section"])
        return groups.index(each.claim["group"]), each.ours is None, each.timed, section

    return sorted((replace(each, judged=judged.get(each.claim["name"])) for each in tested), key=place)


def _printed_difference(claim: Mapping[str, Any], printed: Mapping[tuple[str, str, str], Any]) -> float | None:
    """The paper's difference; None if it does not print the numbers of all rows."""
    measure, part = MEASURES[claim["metric"]], "test" if claim["part"] == "test" else "dev"
    numbers: list[Any] = [printed.get((part, *run), {}).get(measure.published) for run in claim["runs"]]
    if None in numbers or any(claim["ways"]):
        return None
    [difference] = effects([[measure.value(each)] for each in numbers])
    return float(difference)


def _tested(
    claim: Mapping[str, Any], paper: float | None, values: Sequence[Sequence[float]], dev: Sequence[Sequence[float]]
) -> Tested:
    """A claim before it is judged. `values` [rows, seeds] decide it and are empty if a row is not run.

    `dev` has those on dev, if test decides.
    """
    tested = Tested(claim, MEASURES[claim["metric"]], paper, [], False, None, "the rows are the same here")
    if not values:
        return tested
    known = np.isfinite(values).all(1)
    if not known.all():  # only perplexity beyond training can be unknown
        return replace(tested, reason="longer than the learned positions" if known.any() else "no pairs of this length")
    return replace(
        tested,
        each=effects(values).tolist(),
        in_order=bool((np.diff(np.mean(values, 1)) > 0).all()),
        beside=float(np.mean(effects(dev))) if dev else None,
    )


def _judged(tested: Sequence[Tested]) -> dict[str, Judged]:
    """What the rounds, or enough seeds, say about claims, by their names."""
    families = defaultdict[str, dict[str, Effects]](dict)
    judged: dict[str, Judged] = {}
    for each in tested:
        name = each.claim["name"]
        if each.timed and each.each:
            judged[name] = judge_rounds(np.array(each.each), each.measure.margin(each.claim.get("margin")))
        elif len(each.each) >= SEEDS:
            families[family(each.claim)][name] = effects_of(each.claim, each.each)
    return judged | {name: one for claims in families.values() for name, one in judge(claims).items()}


def power_note(tested: Sequence[Tested]) -> list[str]:
    """The families, and how large a difference must be to be decided. Empty if nothing is judged."""
    families = defaultdict[str, list[int]](list)
    for each in tested:
        if each.judged and not each.timed:
            families[family(each.claim)].append(each.judged.seeds)
    needed = []
    for name, seeds in families.items():
        counts = sorted(set(seeds))
        times = " or ".join(f"{first_decided(len(seeds), count):.1f}" for count in counts)
        told = f"{len(seeds)} claim{'s' * (len(seeds) > 1)}, {' or '.join(map(str, counts))} seeds"
        needed.append(f"{name} {times} ({told})")
    if not needed:
        return []
    fewest = min(min(seeds) for seeds in families.values())
    return [
        "Each family of claims is corrected by itself. Its first verdict needs a mean difference of so many times the "
        f"standard deviation over the seeds: {'; '.join(needed)}. If a single claim is left undecided, "
        f"{first_decided(1, fewest):.1f} times is enough. Claims that rows are alike, or apart by a least difference, "
        "need another."
    ]


def own_notes(tested: Sequence[Tested]) -> list[tuple[str, str]]:
    """The claims that have a verdict and a note, with their notes."""
    return [(each.claim["claim"], each.claim["note"]) for each in tested if each.judged and each.claim.get("note")]


def printed_numbers(published: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, float]]:
    """The paper's numbers by part, task and model. The part is dev in Table 3 and the appendix, else test."""
    numbers = {("dev", "ende", row["model"]): dict(row) for row in (*published["table3"], *published["appendix"])}
    for row in published["table2"]:
        for task, model in row.get("model", {}).items():
            if task in row["bleu"]:
                numbers["test", task, model] = {"bleu": row["bleu"][task]}
    numbers |= {("test", row["task"], row["model"]): dict(row) for row in published["table4"] if "task" in row}
    return numbers
