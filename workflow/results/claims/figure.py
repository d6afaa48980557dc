"""The figure of the claims: the paper's differences and ours, with the colour of the verdict."""

from collections.abc import Sequence
from itertools import chain
from textwrap import wrap
from typing import Any

from workflow.experiment.claims import Claim
from workflow.results.claims.plan import plan
from workflow.results.claims.verdicts import MEASURES, Tested, decide
from workflow.results.common.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.result import EVERY

CAPTION = """\
**The paper's claims, tested.** To the right of the vertical line a difference is in favour of the claim. Circles are
the paper's differences. Diamonds are ours, and the line through a diamond is its 95 % interval over seeds, or over
rounds of measurements for claims about time; an open diamond has one or two seeds and no interval. The shaded area is
the margin within which two rows count as alike; there the interval is one of 90 %, and to the right of the line the
second row is better. An arrow stands for a difference so far out that its panel would show nothing else; its words
begin with the number. The colour is the verdict, corrected for the number of claims of a family, and the words on the
right say the same: a *trend* is that of three rows or more; *similar*, *smaller*, *larger* and *opposite* compare our
interval with the paper's difference; a difference that *would decide* is the least one that these seeds could have
decided. Look for diamonds in the colour of *contrary*, and for circles outside our intervals.
"""
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


def draw(tested: Sequence[Tested]) -> Drawing:
    """For each group of claims, a panel for each measure, with its claims in the order of the paper.

    Claims that were not run are named below.
    """
    from matplotlib.lines import Line2D

    run = [each for each in tested if each.ours is not None]
    apart = {
        (group, key): [each for each in run if each.claim.group == group and each.measure is measure]
        for group in GROUPS
        for key, measure in MEASURES.items()
    }
    apart = {place: claims for place, claims in apart.items() if claims}
    notes = [f"{named(each.claim.claim)}: {named(each.note)}." for each in tested if each.note]
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


def label_of(claim: Claim) -> str:
    """A claim, the least difference that it names, and its section."""
    least = f", by at least {claim.least:g}" if claim.least else ""
    return f"{named(claim.claim)}{least}  ({claim.section})"


def verdict(result: Tested) -> str:
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


def counted(group: Sequence[Tested]) -> str:
    """How many seeds or rounds the differences of a panel are from."""
    counts = sorted({len(each.each) for each in group})
    several = " to ".join(map(str, counts[:1] + counts[-1:] * (len(counts) > 1)))
    return f"{several} {'round' if group[0].timed else 'seed'}{'s' * (counts[-1] > 1)}"


def reach(result: Tested) -> float:
    """How far from 0 the difference of a claim lies, or the end of its interval."""
    ends = result.judged.interval if result.judged else ()
    return max(abs(result.measure.shown(each)) for each in (result.ours, *ends) if each is not None)


def outlier(group: Sequence[Tested]) -> Tested | None:
    """The claim that would squeeze all others: one of three or more that reaches twice as far as any other."""
    farthest = sorted(group, key=reach)
    return farthest[-1] if len(group) > 2 and reach(farthest[-1]) > 2 * reach(farthest[-2]) else None


def draw_measure(axes: Axes, group: Sequence[Tested]) -> None:
    """The claims about one measure, one below the other."""
    measure, far = group[0].measure, outlier(group)
    axes.axvline(0, color="black", linewidth=0.8)
    for height, each in enumerate(group):
        colour = VERDICTS[each.verdict.partition(":")[0]]
        if margin := measure.margin(each.claim.margin):
            bounds = measure.shown(-margin), measure.shown(margin)
            axes.fill_betweenx([height - 0.4, height + 0.4], *bounds, color="#dbe4ee", zorder=0)
        ours = None if each.ours is None else measure.shown(each.ours)
        words = verdict(each)
        if each is far and ours is not None:
            words, (place, marker) = f"{ours:+.1f}: {words}", (0.98, ">") if ours > 0 else (0.02, "<")
            axes.plot(place, height, marker, transform=axes.get_yaxis_transform(), color=colour, markersize=5)
        elif each.judged:
            axes.plot([measure.shown(bound) for bound in each.judged.interval], [height, height], color=colour)
        face = colour if each.judged else "none"
        if ours is not None and each is not far:
            axes.plot(ours, height, marker="D", markersize=4, color=colour, markerfacecolor=face)
        if each.paper is not None:
            axes.plot(measure.shown(each.paper), height, **PAPER)
        axes.text(1.02, height, words, transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=colour)
    axes.set(yticks=range(len(group)), ylim=(len(group) - 0.4, -0.6))
    axes.set_yticklabels([label_of(each.claim) for each in group], fontsize=7)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel(f"{measure.axis}; {counted(group)}", fontsize=7)


def figure(job: Any) -> list[Drawing]:
    """The figure."""
    return [draw(decide(job))]


RESULTS = (
    Figure(
        name="claims",
        section=EVERY,
        titles={"claims": "The paper's claims"},
        caption=CAPTION,
        plan=plan,
        draw=figure,
    ),
)
