"""The claims: the paper's difference, our difference with its interval over seeds, and a verdict for each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from lengths import between, perplexity
from means import difference_notes
from records import over_seeds, read_json, read_yaml
from scipy.stats import spearmanr
from scores import KEYS, read_runs, read_trained
from tables_common import NOT_RUN, Row, corpus_note, number, write_table

from transformer.evaluation.claims import SEEDS, Judged, effects, first_decided, judge
from transformer.evaluation.metrics import number_of

DIFFERENCES = (
    "A positive difference is in favour of the claim. Its unit is points of BLEU (tokenised) or F1, percent less "
    "perplexity, or percent fewer hours of training. The column Rows names the compared rows. With < the paper "
    "claims that each row is better than the row before it. With three rows we test the last against the first, with "
    "more the linear trend; not in order means that a row between them is out of its place. Rows that are one model at "
    "this scale count once in our number, and each in the paper's. With ≈ the paper claims that the two rows are "
    "alike: then a difference near zero is in favour, whatever its sign."
)
FEW_SEEDS = f"Our difference is the mean over runs of the same seed. A verdict needs at least {SEEDS} seeds."
JUDGED = [
    "Our difference is the mean over runs of the same seed, with a 95 % interval (Student's t; from three seeds on). "
    "For rows claimed to be alike it is the 90 % interval, which belongs to two one-sided tests.",
    "A claim is reproduced if the difference is shown to be on the claimed side, contrary if it is shown to be on "
    "the other side, and undecided otherwise. A claim that rows are alike is reproduced if the difference is shown "
    "to be within the margin, and contrary if it is shown to be outside.",
    "The interval is for one claim alone. The verdicts are corrected for the number of claims (Holm), so a claim can "
    "be undecided although its interval excludes zero. The chance that any verdict is wrong is at most 5 %, and "
    "again at most 5 % for the claims about hours. This is about another training with other seeds. It says nothing "
    "about another text. It assumes that the seeds' differences are normally distributed, which so few seeds cannot "
    "show.",
    "The column Could show has the least difference that would have decided an undecided claim if our mean had been "
    "so large, with as many seeds and the same spread. A true difference of that size is found in a little more than "
    "half of all experiments. For rows claimed to be alike it is the least margin.",
]
NOTES = [
    "Perplexity beyond training is that of held-out pairs with more subwords on the longer side than any pair that "
    "base learns from, up to twice as many. A row whose name ends in averaged, or in a beam, uses Table "
    "2's averaged checkpoints, on dev.",
    "Hours are those of training. Other programs on the machine make them longer.",
    "The paper does not state the claims on averaging, beam and length penalty; it only made these choices. On "
    "longer sequences it only says that sinusoids may help. It compares itself with published recurrent models; ours "
    "is as large as base and learns from the same batches, with a learning rate and a warmup of its own.",
]
CSV_ONLY = ("alone", "each seed")


@dataclass(frozen=True)
class Measure:
    """A quantity that claims are about."""

    heading: str
    key: str  # in a score file, or in what a package says of the training
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


MEASURES = {
    "bleu": Measure("BLEU", KEYS["bleu"], "bleu", False, 1),
    "f1": Measure("F1", KEYS["f1"], "f1", False, 1),
    "perplexity": Measure("perplexity", KEYS["ppl"], "ppl", True, 1),
    "longer": Measure("perplexity beyond training", "longer", "", True, 1),
    "hours": Measure("hours", "seconds", "hours", True, 0),
}


@dataclass(frozen=True)
class Result:
    """A claim with the paper's difference and ours."""

    claim: Mapping[str, Any]
    measure: Measure
    paper: float | None
    each: Sequence[float]  # our difference for each seed; empty if a row is not run
    in_order: bool  # whether the means of our rows are in the claimed order
    judged: Judged | None  # None if there are fewer than SEEDS seeds
    reason: str  # why there is no difference although all rows are run

    @property
    def ours(self) -> float | None:
        """The mean."""
        return float(np.mean(self.each)) if len(self.each) else None

    @property
    def verdict(self) -> str:
        """The verdict, or the reason why there is none."""
        if self.judged:
            between = len(self.claim["rows"]) > 2 and self.judged.verdict == "reproduced" and not self.in_order
            return self.judged.verdict + ": not in order" * between
        if len(self.each):
            return f"undecided: {('one seed', 'two seeds')[len(self.each) - 1]}"
        if not all(self.claim["scores"]):
            return "not run"
        return f"not run: {self.reason}"

    @property
    def rows(self) -> str:
        """The rows, the worse first, and the margin of rows that are claimed to be alike."""
        named = (" ≈ " if self.alike else " < ").join(row.removeprefix("ende/") for row in self.claim["rows"])
        return named + (f" (within {self.claim['margin']:g}{' %' * self.measure.relative})" if self.alike else "")

    @property
    def alike(self) -> bool:
        """Whether the rows are claimed to be alike."""
        return self.claim.get("margin") is not None

    @property
    def could_show(self) -> str:
        """The least difference or margin that would have decided an undecided claim. Empty for others."""
        if not self.judged or self.judged.verdict != "undecided":
            return ""
        least = self.judged.smallest
        return self.measure.margin_text(least) if self.alike else self.measure.text(least, "")


def results(snakemake: Any) -> list[Result]:
    """Every claim in the config's order, but those not run last.

    Verdicts on hours are corrected by themselves: another program on the machine slows all seeds of some rows.
    """
    printed = printed_numbers(read_yaml(snakemake.input.published))
    trained = read_trained(snakemake.input.packages)

    def measured(path: str, key: str) -> float:
        if key == "longer":
            classes = pd.read_csv(Path(path).with_name("lengths.csv"))
            return perplexity(between(classes, snakemake.params.longest + 1, 2 * snakemake.params.longest))
        scores = read_json(path)
        record = trained[scores["task"], scores["model"], scores["seed"]] if key == "seconds" else scores
        return number_of(record, key)

    paper: dict[str, float] = {}
    ours: dict[str, np.ndarray] = {}
    in_order: dict[str, bool] = {}
    unknown: dict[str, str] = {}
    for claim in snakemake.params.claims:
        measure = MEASURES[claim["metric"]]
        numbers = [printed.get((claim["part"], *run), {}).get(measure.published) for run in claim["runs"]]
        if None not in numbers and not any(claim["ways"]):
            [paper[claim["name"]]] = effects([[measure.value(each)] for each in numbers])
        if claim["judged"]:
            values = [[measure.value(measured(path, measure.key)) for path in row] for row in claim["scores"]]
            known = np.isfinite(values).all(1)
            if not known.all():  # only perplexity beyond training can be unknown
                unknown[claim["name"]] = (
                    "longer than the learned positions" if known.any() else "no pairs of this length"
                )
            else:
                ours[claim["name"]] = effects(values)
                in_order[claim["name"]] = bool((np.diff(np.mean(values, 1)) > 0).all())
    families: dict[bool, dict[str, tuple[np.ndarray, float | None]]] = {False: {}, True: {}}
    for claim in snakemake.params.claims:
        name, margin = claim["name"], MEASURES[claim["metric"]].margin(claim.get("margin"))
        if len(ours.get(name, ())) >= SEEDS:
            families[claim["metric"] == "hours"][name] = ours[name], margin
    judged = {name: each for family in families.values() for name, each in judge(family).items()}
    found = [
        Result(
            claim,
            MEASURES[claim["metric"]],
            paper.get(name := claim["name"]),
            ours.get(name, np.empty(0)).tolist(),
            in_order.get(name, False),
            judged.get(name),
            unknown.get(name, "the rows are the same here"),
        )
        for claim in snakemake.params.claims
    ]
    return sorted(found, key=lambda each: each.ours is None)


def power_note(found: Sequence[Result]) -> list[str]:
    """How large a difference must be to be decided. Empty if nothing is judged."""
    judged = [each.judged for each in found if each.judged and each.measure.key != "seconds"]
    if not judged:
        return []
    seeds = judged[0].seeds
    return [
        f"With {seeds} seeds and {len(judged)} claims other than those about hours, the first verdict needs a mean "
        f"difference of {first_decided(len(judged), seeds):.1f} times the standard deviation over the seeds. If a "
        f"single claim is left undecided, {first_decided(1, seeds):.1f} times is enough."
    ]


def printed_numbers(published: Mapping[str, Any]) -> dict[tuple[str, str, str], dict[str, float]]:
    """The paper's numbers by part, task and model. The part is dev in Table 3 and the appendix, else test."""
    found = {("dev", "ende", row["model"]): dict(row) for row in (*published["table3"], *published["appendix"])}
    for row in published["table2"]:
        for task, model in row.get("model", {}).items():
            if task in row["bleu"]:
                found["test", task, model] = {"bleu": row["bleu"][task]}
    found |= {("test", row["task"], row["model"]): dict(row) for row in published["table4"] if "task" in row}
    return found


def chance(p: float) -> str:
    """A p-value."""
    return number(p, 4) if p >= 0.0001 else "< 0.0001"


def table_row(result: Result) -> Row:
    measure, judged = result.measure, result.judged
    both = [measure.text(bound) for bound in judged.interval] if judged else []
    return {
        ("Section", ""): result.claim["section"],
        ("Claim", ""): result.claim["claim"],
        ("Measure", ""): measure.heading + f", {result.claim['part']}" * (measure.key not in ("seconds", "longer")),
        ("Rows", ""): result.rows,
        ("Verdict", ""): result.verdict,
        ("In favour", "paper"): measure.text(result.paper),
        ("In favour", "ours"): NOT_RUN if result.ours is None else measure.text(result.ours),
        ("In favour", "interval"): " to ".join(both),
        ("In favour", "each seed"): " ".join(map(measure.text, result.each)),
        ("Seeds", ""): str(len(result.each) or ""),
        ("p", "alone"): chance(judged.p_alone) if judged else "",
        ("p", "corrected"): chance(judged.p) if judged else "",
        ("Could show", ""): result.could_show,
    }


def agreement(published: Sequence[Mapping[str, Any]], ours: Mapping[tuple[str, str], Mapping[str, float]]) -> list[str]:
    """How far our Table 3 agrees with the paper's: ranks of the rows, and sides of base. Empty for two rows."""
    told = []
    for name in ("perplexity", "bleu"):
        measure = MEASURES[name]
        pairs = {
            row["model"]: (row[measure.published], ours["ende", row["model"]][measure.key])
            for row in published
            if measure.published in row and ("ende", row["model"]) in ours
        }
        both = np.array(list(pairs.values()))
        if "base" not in pairs or len(pairs) < 3 or (both == both[0]).all(0).any():
            continue
        signs = np.sign(both - pairs["base"])
        apart = (signs != 0).all(1)
        equal = int((signs[apart, 0] == signs[apart, 1]).sum())
        worse = int((signs[apart, 0] == (1 if measure.relative else -1)).sum())
        correlation = spearmanr(both[:, 0], both[:, 1]).statistic
        told.append(
            f"Table 3, {measure.heading}: the paper's ranks of {len(pairs)} rows and ours have a correlation "
            f"(Spearman) of {correlation:.2f}; {equal} of {apart.sum()} rows are on the same side of base (in the "
            f"paper {worse} of them are worse than base)."
        )
    return told


def main(snakemake: Any) -> None:
    table3 = read_runs(snakemake.params.table3, snakemake.input.packages, snakemake.params.equal)
    agreed = agreement(read_yaml(snakemake.input.published)["table3"], over_seeds(table3))
    made = [
        *map(corpus_note, map(read_json, snakemake.input.corpora)),
        *difference_notes(read_trained(snakemake.input.packages).values()),
    ]
    found = results(snakemake)
    verdicts = JUDGED if any(each.judged for each in found) else [FEW_SEEDS]
    told = [*agreed, *power_note(found), *snakemake.params.notes, DIFFERENCES, *verdicts, *NOTES]
    write_table(snakemake, list(map(table_row, found)), 5, told, made, CSV_ONLY)
