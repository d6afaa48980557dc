"""The claims: the paper's difference, our difference with its interval over seeds, and a verdict for each."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from transformer.evaluation.statistics import SEEDS, first_decided
from workflow.results.claims import same_way, second
from workflow.results.claims.agreement import agreement
from workflow.results.claims.plan import plan
from workflow.results.claims.verdicts import Tested, decide
from workflow.results.common.cells import NOT_RUN, chance
from workflow.results.common.notes import corpus_note
from workflow.results.common.provenance import difference_notes
from workflow.results.common.records import over_seeds, read_json, read_runs, read_trained, read_yaml
from workflow.results.common.result import EVERY, Content, Plan, Selection, Table
from workflow.results.common.table_formats import Row, heading_of
from workflow.results.common.times import circumstances

CAPTION = """\
**The paper's claims, tested.** Each row is one claim: the difference that the paper prints, if it prints one, ours with
its interval over seeds, and a verdict. *Reproduced* means that our seeds show the difference on the claimed side (or
within the margin, for rows claimed to be alike), *contrary* that they show it on the other side, *undecided* that they
show neither. Claims about time are decided by rounds of measurements instead of seeds. Look first at the verdicts,
which say nothing of the size, then at the column Size, which compares it with the paper's.
"""
DIFFERENCES = (
    "A positive difference is in favour of the claim. BLEU is tokenised. The column Rows names the compared rows. "
    "With < the claim is that each row is better than the row before it. With three rows or more the verdict is about "
    "the linear trend. It does not show that each step is better: three rows give the middle one no weight. Not in "
    "order means that the mean of a row is out of its place; so is the paper's own C-N8 in BLEU (25.5; base 25.8). "
    "Rows that are one model at this scale count once in our number, and each in the paper's. With ≈ the claim is "
    "that the two rows are alike: then a difference near zero is in favour, and we say which row is better, or has "
    "more perplexity or takes more time. Key width has the d_k of the rows at our scale; the paper's base has 64. "
    "Verdicts about keys of a few numbers, 2 or 4, say little about the paper's, of 16 and more."
)
LEAST = (
    "A claim that names a least difference (by at least) is reproduced only if ours is shown to be greater. It is "
    "contrary if ours is shown to be less, even if it is positive."
)
FEW_SEEDS = "Our difference is the mean over seeds, each between runs of one seed. A verdict needs at least {} seeds."
JUDGED = [
    "Our difference is the mean over seeds, each between runs of one seed, with a 95 % interval (Student's t; from "
    "three seeds on). For rows claimed to be alike it is the 90 % interval, which belongs to two one-sided tests.",
    "A claim is reproduced if the difference is shown to be on the claimed side, contrary if it is shown to be on "
    "the other side, and undecided otherwise. A claim that rows are alike is reproduced if the difference is shown "
    "to be within the margin, and contrary if it is shown to be outside.",
    "Size compares our interval with the paper's difference: similar if the interval contains it (a wide one "
    "contains much); smaller or larger if it does not; opposite if the whole interval has the other sign. "
    "Our models and text are not the paper's, so another size does not contradict the paper.",
    "The interval is for one claim alone. The verdicts are corrected for the number of claims in a family (Holm), so "
    "a claim can be undecided although its interval excludes zero. In each family, the chance that any verdict is "
    "wrong is at most 5 %. This is about another training with other seeds. It says nothing about another text or a "
    "larger model. It assumes that the seeds' differences are normally distributed, which so few seeds cannot show.",
    "The column Could show has the least difference that would have decided an undecided claim if our mean had been "
    "so large, with as many seeds and the same spread. A true difference of that size is found in a little more than "
    "half of all experiments. For rows claimed to be alike it is the least margin. It has one figure only, because the "
    "spread of so few seeds is itself uncertain: with five seeds it has four degrees of freedom.",
]
NOTES = [
    "Perplexity within training is that of held-out pairs with at most as many subwords on the longer side as a pair "
    "that base learns from, and perplexity beyond training of those with more, up to twice as many. A row whose name "
    "ends in averaged, or in a beam, uses Table 2's averaged checkpoints. If test decides a claim about rows of Table "
    "3, the column dev has the mean on dev, which decides nothing.",
    "Printed claims stand in the paper, in numbers or in words. Implied claims stand behind a choice: averaging, the "
    "beam, the length penalty, the scaling of dot products; or behind a hope: on longer sequences the paper only says "
    "that sinusoids may help. It compares itself with published recurrent and convolutional models; each of ours is "
    "about as large as base and learns from the same batches, but may have a learning rate and a warmup of its own.",
]
TIMES = (
    "Claims about time are not counted with the others. They are measured on one machine, so their verdicts say "
    "nothing of other machines, and those of a CPU core nothing of parallel hardware, which the paper is about. Rows "
    "train some steps in turns, in rounds. The interval (95 %, Student's t) is over rounds. A row is faster if the "
    "whole interval shows that the other one takes at least 10 % longer. That rows are alike is reproduced if the "
    "whole interval is within the margin, and contrary if all of it is outside. The paper's difference is that of its "
    "hours, for as many steps. The table step_time has the times and the FLOPs."
)


def table_plan(selection: Selection) -> Plan | None:
    """The plan of the claims and, but for a replication, its released table."""
    made, released = plan(selection), selection.released("replication") / "claims.csv"
    shown = made and not selection.experiment.replicates and released.exists()
    return made.reading(released=released) if made and shown else made


def table_row(each: Tested, pooled: float | None = None, released: Row | None = None) -> Row:
    """The row of a claim, with the p that has a pooled error, and the columns beside the verdict."""
    claim, measure, judged = each.claim, each.measure, each.judged
    part = "" if claim.metric in ("step_time", "within", "longer") else ", dev" if claim.part == "dev" else ", test"
    return {
        ("Group", ""): claim.group,
        ("Section", ""): claim.section,
        ("Claim", ""): claim.claim,
        ("Measure", ""): measure.heading + part,
        ("Rows", ""): each.rows,
        ("Key width", ""): ", ".join(map(str, each.planned.widths * each.planned.judged)),
        ("Verdict", ""): each.verdict,
        **(released or {}),
        ("Size", ""): each.size or "",
        ("Unit", ""): measure.unit(each.alike),
        ("In favour", "paper"): each.difference(each.paper),
        ("In favour", "ours"): NOT_RUN if each.ours is None else each.difference(each.ours),
        ("In favour", "interval"): each.difference(*judged.interval) if judged else "",
        ("In favour", "dev"): each.difference(each.beside),
        ("In favour", "each seed"): ("; " if each.alike else " ").join(map(each.difference, each.each)),
        ("In favour", "unpenalised"): second.unpenalised(each),
        ("In favour", "chrF"): second.chrf(each),
        ("Seeds", ""): f"{len(each.each) or ''}{' rounds' * (each.timed and bool(each.each))}",
        ("p", "family"): each.family if judged else "",
        ("p", "alone"): chance(judged.p_alone) if judged else "",
        ("p", "corrected"): chance(judged.p) if judged else "",
        ("p", "pooled"): chance(pooled),
        ("Could show", ""): each.could_show,
        ("Length", ""): second.lengths(each),
    }


def power_note(tested: Sequence[Tested]) -> list[str]:
    """The families, and how large a difference must be to be decided. Empty if nothing is judged."""
    families = defaultdict[str, list[int]](list)
    for each in tested:
        if each.judged and each.family:
            families[each.family].append(len(each.each))
    needed = []
    for name, seeds in families.items():
        counts = sorted(set(seeds))
        times = " or ".join(f"{first_decided(len(seeds), count):.1f}" for count in counts)
        told = f"{len(seeds)} claim{'s' * (len(seeds) > 1)}, {' or '.join(map(str, counts))} seeds"
        needed.append(f"{name} {times} ({told})")
    if not needed:
        return []
    fewest = min(map(min, families.values()))
    return [
        "Each family of claims is corrected by itself. Its first verdict needs a mean difference of so many times the "
        f"standard deviation over the seeds: {'; '.join(needed)}. If a single claim is left undecided, "
        f"{first_decided(1, fewest):.1f} times is enough. Claims that rows are alike, or apart by a least difference, "
        "need another."
    ]


def content(job: Any) -> Content:
    """The table and its notes."""
    tested, released = decide(job), getattr(job.input, "released", None)
    pooled = second.pooled_p(job.input.scores, tested)
    known = same_way.read_released(released) if released else {}
    rows = [
        table_row(each, pooled.get(each.planned.name), same_way.cells(each, known) if released else None)
        for each in tested
    ]
    times = list(map(read_json, job.input.times))
    table3 = read_runs(job.params.table3, job.input.packages, job.params.equal)
    notes = agreement(read_yaml(job.input.published)["table3"], over_seeds(table3))
    if released:
        cells = [{heading_of(column): cell for column, cell in row.items()} for row in rows]
        notes = [*filter(None, [same_way.lead(cells, Path(released))]), *notes]
    notes += [*power_note(tested), *(f"{each.claim.claim}: {each.note}." for each in tested if each.note)]
    notes += [*job.params.notes, DIFFERENCES]
    notes += JUDGED if any(each.judged and not each.timed for each in tested) else [FEW_SEEDS.format(SEEDS)]
    notes += [LEAST] * any(each.claim.least for each in tested) + [TIMES] * bool(times)
    notes += [same_way.NOTE] * bool(released) + [second.LENGTHS] * any(row["Length", ""] for row in rows)
    notes += [second.POOLED] * bool(pooled) + NOTES
    made = [
        *map(corpus_note, map(read_json, job.input.corpora)),
        *chain.from_iterable(map(circumstances, times)),
        *difference_notes(read_trained(job.input.packages).values()),
    ]
    return Content(rows, 11 if released else 9, notes, made, ("alone", "family", "pooled", "each seed"))


RESULTS = (
    Table(
        name="claims",
        section=EVERY,
        title="The paper's claims",
        detail="the paper's differences and ours",
        caption=CAPTION,
        plan=table_plan,
        content=content,
        printed={
            "Verdict": "Verdict",
            "Section": "Section",
            "Claim": "The paper's claim",
            "Measure": "measured in",
            "Verdict, released": "released verdict",
            "In favour, paper": "paper",
            "In favour, ours": "ours",
        },
    ),
)
