"""The claims: the paper's difference, our difference with its interval over seeds, and a verdict for each."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from workflow.results.claims.claimed import plan
from workflow.results.common.cells import NOT_RUN, chance
from workflow.results.common.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.notes import corpus_note
from workflow.results.common.provenance import difference_notes
from workflow.results.common.records import over_seeds, read_json, read_runs, read_trained, read_yaml
from workflow.results.common.result import EVERY, Content, Plan, Selection, Table
from workflow.results.common.table_formats import Row, heading_of
from workflow.results.common.times import circumstances

if TYPE_CHECKING:
    from workflow.results.claims.verdicts import Tested

CAPTION = """\
**The paper's claims, tested.** Each row is one claim. The paper states those that are *printed*; those that are
*implied* stand behind a choice or a hope of the paper; others are our *own*. A row has the difference that the paper
prints, if it prints one, our difference with its interval over seeds, and a verdict. *Reproduced* means that our seeds
show the difference on the claimed side. *Contrary* means that they show it on the other side. *Undecided* means that
they show neither. Two rows that are claimed to be alike are reproduced if their difference is shown to be within a
margin, and contrary if it is shown to be outside. Claims about time are decided by rounds of measurements instead of
seeds. A verdict needs at least three seeds. With so many, the table says of undecided claims how large our difference
would have had to be. The verdicts are computed from the runs. Look first at the verdicts, which say nothing of the
size, then at the column Size, which compares it with the paper's.
"""
FIGURE_CAPTION = """\
**The paper's claims, tested.** What the paper states, what it only chose or hoped, and our own claims stand in groups
of their own. To the right of the vertical line a difference is in favour of the claim. Circles are the paper's
differences. Diamonds are ours, and the line through a diamond is its 95 % interval over seeds; an open diamond has one
or two seeds and no interval. The shaded area is the margin within which two rows count as alike; there the interval is
one of 90 %, and to the right of the line the second row is better. The colour is the verdict, corrected for the number
of claims of a family: grey diamonds are undecided, wherever they stand. The words on the right say the same. A *trend*
is that of three rows or more. *Similar*, *smaller* and *larger* compare our interval with the paper's difference; if it
is *opposite*, all of it has the other sign. A difference that *would decide* is the least one that these seeds could
have decided. Claims about time are decided by rounds of measurements instead of seeds, and all their intervals are of
95 %. Look for diamonds in the colour of *contrary*, and for circles outside our intervals.
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


def table_row(result: "Tested") -> Row:
    """The row of a claim."""
    from workflow.results.claims.verdicts import family

    measure, judged = result.measure, result.judged
    part = "dev" if result.claim["part"] == "dev" else "test"
    return {
        ("Group", ""): result.claim["group"],
        ("Section", ""): result.claim["section"],
        ("Claim", ""): result.claim["claim"],
        ("Measure", ""): measure.heading + f", {part}" * (measure.key not in ("step_time", "within", "longer")),
        ("Rows", ""): result.rows,
        ("Key width", ""): ", ".join(map(str, result.claim["widths"])),
        ("Verdict", ""): result.verdict,
        ("Size", ""): result.size or "",
        ("Unit", ""): measure.unit(result.alike),
        ("In favour", "paper"): result.difference(result.paper),
        ("In favour", "ours"): NOT_RUN if result.ours is None else result.difference(result.ours),
        ("In favour", "interval"): result.difference(*judged.interval) if judged else "",
        ("In favour", "dev"): result.difference(result.beside),
        ("In favour", "each seed"): ("; " if result.alike else " ").join(map(result.difference, result.each)),
        ("Seeds", ""): f"{len(result.each) or ''}{' rounds' * (result.timed and bool(result.each))}",
        ("p", "family"): family(result.claim) if judged and not result.timed else "",
        ("p", "alone"): chance(judged.p_alone) if judged else "",
        ("p", "corrected"): chance(judged.p) if judged else "",
        ("Could show", ""): result.could_show,
    }


def content(job: Any) -> Content:
    """The table and its notes."""
    from workflow.results.claims.agreement import agreement
    from workflow.results.claims.same_way import NOTE as SAME_WAY
    from workflow.results.claims.same_way import beside_released, lead
    from workflow.results.claims.second import beside_verdicts
    from workflow.results.claims.verdicts import SEEDS, decide, own_notes, power_note

    table3 = read_runs(job.params.table3, job.input.packages, job.params.equal)
    agreed = agreement(read_yaml(job.input.published)["table3"], over_seeds(table3))
    tested = decide(job)
    told = [f"{claim}: {note}." for claim, note in own_notes(tested)]
    verdicts = JUDGED if any(each.judged and not each.timed for each in tested) else [FEW_SEEDS.format(SEEDS)]
    records = list(map(read_json, job.input.times))
    special = [LEAST] * any(each.claim.get("least") for each in tested) + [TIMES] * bool(records)
    rows, beside = beside_verdicts(job, tested, list(map(table_row, tested)))
    if released := getattr(job.input, "released", None):
        rows = beside_released(released, tested, rows)
        cells = [{heading_of(column): cell for column, cell in row.items()} for row in rows]
        agreed, beside = [*filter(None, [lead(cells, Path(released))]), *agreed], [SAME_WAY, *beside]
    return Content(
        rows,
        11 if released else 9,
        [*agreed, *power_note(tested), *told, *job.params.notes, DIFFERENCES, *verdicts, *special, *beside, *NOTES],
        [
            *map(corpus_note, map(read_json, job.input.corpora)),
            *chain.from_iterable(map(circumstances, records)),
            *difference_notes(read_trained(job.input.packages).values()),
        ],
        ("alone", "family", "pooled", "each seed"),
    )


VERDICTS = {"reproduced": COLOURS[2], "contrary": COLOURS[1], "undecided": "#555555"}
GROUPS = {
    "printed": "Printed: the paper states it",
    "implied": "Implied: the paper only chose or hoped so",
    "own": "Our own claims",
}
PAPER: dict[str, Any] = {
    "marker": "o",
    "color": COLOURS[0],
    "markerfacecolor": "none",
    "linestyle": "none",
    "markersize": 5.5,
}


def draw(tested: Sequence["Tested"]) -> Drawing:
    """For each group of claims, a panel for each measure, with its claims in the order of the paper.

    Claims that were not run are named below.
    """
    from matplotlib.lines import Line2D

    from workflow.results.claims.verdicts import MEASURES, own_notes

    run = [each for each in tested if each.ours is not None]
    apart = {
        (group, key): [each for each in run if each.claim["group"] == group and each.measure is measure]
        for group in GROUPS
        for key, measure in MEASURES.items()
    }
    apart = {place: claims for place, claims in apart.items() if claims}
    notes = [f"{named(claim)}: {named(note)}." for claim, note in own_notes(tested)]
    notes += [f"{label_of(each.claim)}: {each.verdict}." for each in tested if each.ours is None]
    notes = list(chain.from_iterable(wrap(note, 120) for note in notes))
    ratios = [len(claims) + 1 for claims in apart.values()] or [1]
    height = 0.5 + 0.17 * len(run) + 0.5 * len(ratios) + 0.13 * len(notes)
    figure, axes_of = panels(len(ratios), 1, 7.4, height, height_ratios=ratios)
    headings = dict(GROUPS)
    axes_of[-1, 0].set_axis_off()  # no claim may have been run
    for axes, ((group, _), claims) in zip(axes_of[:, 0], apart.items(), strict=False):
        axes.set_axis_on()
        draw_measure(axes, claims)
        axes.set_title(headings.pop(group, ""))
    figure.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=7)
    looks = [Line2D([], [], label="paper", **PAPER)]
    looks += [
        Line2D([], [], label=f"ours, {name}", color=colour, marker="D", markersize=4, linewidth=1.2)
        for name, colour in VERDICTS.items()
    ]
    title = "to the right of the line: in favour of the claim"
    figure.legend(handles=looks, loc="outside upper center", ncols=len(looks), title=title, title_fontsize=7)
    return figure


def named(text: str) -> str:
    """A text as the figure shows it: literally, but d_k with its subscript."""
    return literal(text).replace("d_k", "$d_k$")


def label_of(claim: Mapping[str, Any]) -> str:
    """A claim, the least difference that it names, and its section."""
    least = f", by at least {claim['least']:g}" if claim.get("least") else ""
    return f"{named(claim['claim'])}{least}  ({claim['section']})"


def verdict(result: "Tested") -> str:
    """The verdict, the size beside the paper's, and which difference would have decided a claim that is undecided.

    For rows claimed to be alike, the better one takes its place.
    """
    size = f", {result.size}" if result.size else ""
    if result.alike:
        return f"{result.verdict}{size}; {result.difference(result.ours)}"
    if not result.could_show:
        return f"{result.verdict}{size}"
    points = "" if result.measure.relative else " point" if result.could_show == "1" else " points"
    return f"{result.verdict}{size}; {result.could_show}{points} would decide"


def counted(group: Sequence["Tested"]) -> str:
    """How many seeds or rounds the differences of a panel are from."""
    counts = sorted({len(each.each) for each in group})
    several = " to ".join(map(str, counts[:1] + counts[-1:] * (len(counts) > 1)))
    return f"{several} {'round' if group[0].timed else 'seed'}{'s' * (counts[-1] > 1)}"


def draw_measure(axes: Axes, group: Sequence["Tested"]) -> None:
    """The claims about one measure, one below the other."""
    measure = group[0].measure
    axes.axvline(0, color="black", linewidth=0.8)
    for height, each in enumerate(group):
        colour = VERDICTS[each.verdict.partition(":")[0]]
        if margin := measure.margin(each.claim.get("margin")):
            bounds = measure.shown(-margin), measure.shown(margin)
            axes.fill_betweenx([height - 0.4, height + 0.4], *bounds, color="#dbe4ee", zorder=0)
        if each.judged:
            axes.plot([measure.shown(bound) for bound in each.judged.interval], [height, height], color=colour)
        face = colour if each.judged else "none"
        if each.ours is not None:
            axes.plot(measure.shown(each.ours), height, marker="D", markersize=4, color=colour, markerfacecolor=face)
        if each.paper is not None:
            axes.plot(measure.shown(each.paper), height, **PAPER)
        axes.text(
            1.02, height, verdict(each), transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=colour
        )
    axes.set(yticks=range(len(group)), ylim=(len(group) - 0.4, -0.6))
    axes.set_yticklabels([label_of(each.claim) for each in group], fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"{measure.axis}; {counted(group)}", fontsize=7)


def figure(job: Any) -> list[Drawing]:
    """The figure."""
    from workflow.results.claims.verdicts import decide

    return [draw(decide(job))]


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
    Figure(
        name="claims",
        section=EVERY,
        titles={"claims": "The paper's claims"},
        caption=FIGURE_CAPTION,
        plan=plan,
        draw=figure,
    ),
)
