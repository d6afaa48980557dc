"""The claims: the paper's difference, our difference with its interval over seeds, and a verdict for each."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transformer.experiment.claims import Claim
from transformer.support.strict import plain
from workflow.results.cells import NOT_RUN, number
from workflow.results.drawing import COLOURS, Axes, Drawing, literal, panels
from workflow.results.notes import corpus_note
from workflow.results.provenance import difference_notes
from workflow.results.records import over_seeds, read_json, read_runs, read_trained, read_yaml
from workflow.results.result import EVERY, Content, Figure, Plan, Selection, Table
from workflow.results.table_formats import Row
from workflow.results.times import circumstances

if TYPE_CHECKING:
    from workflow.lib.runs import Runs
    from workflow.results.verdicts import Tested

CAPTION = """\
**The paper's claims, tested.** Each row is one claim. It has the difference that the paper prints, our difference with
its interval over seeds, and a verdict. *Reproduced* means that our seeds show the difference on the claimed side.
*Contrary* means that they show it on the other side. *Undecided* means that they show neither. For undecided claims the
table says how large our difference would have had to be. The verdicts are computed from the runs. Look
first at the verdicts, then whether our difference has the same sign as the paper's.
"""
FIGURE_CAPTION = """\
**The paper's claims, tested.** To the right of the vertical line a difference is in favour of the claim. Circles are
the paper's differences. Diamonds are ours, with their 95 % interval over seeds; an open diamond has one or two seeds
and no interval. The shaded area is the margin within which two rows count as alike; there the interval is one of 90 %.
The colour is the verdict, corrected for the number of claims: grey diamonds are undecided, wherever they stand. *n* is
the number of seeds, and *could show* the least difference that they could have decided. Look for diamonds in the colour
of *contrary*. Claims about time stand apart: a round of measurements takes the place of a seed.
"""
DIFFERENCES = (
    "A positive difference is in favour of the claim. Its unit is points of BLEU (tokenised) or F1, percent less "
    "perplexity, or percent less time of a training step. The column Rows names the compared rows. With < the paper "
    "claims that each row is better than the row before it. With three rows we test the last against the first, with "
    "more the linear trend; not in order means that a row between them is out of its place. Rows that are one model at "
    "this scale count once in our number, and each in the paper's. With ≈ the paper claims that the two rows are "
    "alike: then a difference near zero is in favour, whatever its sign."
)
FEW_SEEDS = "Our difference is the mean over runs of the same seed. A verdict needs at least {} seeds."
JUDGED = [
    "Our difference is the mean over runs of the same seed, with a 95 % interval (Student's t; from three seeds on). "
    "For rows claimed to be alike it is the 90 % interval, which belongs to two one-sided tests.",
    "A claim is reproduced if the difference is shown to be on the claimed side, contrary if it is shown to be on "
    "the other side, and undecided otherwise. A claim that rows are alike is reproduced if the difference is shown "
    "to be within the margin, and contrary if it is shown to be outside.",
    "The interval is for one claim alone. The verdicts are corrected for the number of claims (Holm), so a claim can "
    "be undecided although its interval excludes zero. The chance that any verdict is wrong is at most 5 %. This is "
    "about another training with other seeds. It says nothing about another text. It assumes that the seeds' "
    "differences are normally distributed, which so few seeds cannot show.",
    "The column Could show has the least difference that would have decided an undecided claim if our mean had been "
    "so large, with as many seeds and the same spread. A true difference of that size is found in a little more than "
    "half of all experiments. For rows claimed to be alike it is the least margin.",
]
NOTES = [
    "Perplexity beyond training is that of held-out pairs with more subwords on the longer side than any pair that "
    "base learns from, up to twice as many. A row whose name ends in averaged, or in a beam, uses Table "
    "2's averaged checkpoints, on dev.",
    "The paper does not state the claims on averaging, beam and length penalty; it only made these choices. On "
    "longer sequences it only says that sinusoids may help. It compares itself with published recurrent and "
    "convolutional models; each of ours is as large as base and learns from the same batches, with a learning rate "
    "and a warmup of its own.",
]
TIMES = (
    "Claims about time stand below the others and are not counted with them. They are measured on one machine, so "
    "their verdicts say nothing of other machines. Rows train some steps in turns, in rounds. The interval (95 %, "
    "Student's t) is over rounds. A row is faster if the whole interval shows that the other one takes at least 10 % "
    "longer. Rows are alike if the whole interval is within the margin. The paper's difference is that of its hours, "
    "for as many steps. The table step_time has the times and the FLOPs."
)


class Claims:
    """The claims of an experiment (config/claims.yaml)."""

    def __init__(self, claims: Mapping[str, Claim], runs: "Runs"):
        self.runs = runs
        self.all = [self._resolved(name, claim) for name, claim in claims.items()]

    def _resolved(self, name: str, claim: Claim) -> dict[str, Any]:
        """A claim as mappings. Its scores are those of each row, but rows that are one model at this scale count once.

        It is judged if all its rows are run and they are not all one model.
        """
        part = "dev" if claim.part == "dev" else "test"
        scores = self._scores(claim, part)
        judged = all(scores) and len(scores) > 1
        rows = {"runs": claim.runs(), "ways": claim.ways(), "scores": scores}
        beside = self._scores(claim, "dev") if judged and claim.part == "both" else []
        like_table3 = claim.part != "test" and not any(claim.ways())  # scored like Table 3
        compared = _compared(scores) if judged and claim.metric == "bleu" and like_table3 else []
        return {**plain(claim), "name": name, **rows, "judged": judged, "beside": beside, "comparisons": compared}

    def _scores(self, claim: Claim, part: str) -> list[list[str]]:
        """For each row, the score files of its seeds on a part, in order. Empty for a row that is not run.

        For a claim about time, the name of the run whose steps are timed takes their place.
        """
        if claim.metric == "step_time":
            models = (self.runs.run_of.get(run) for run in claim.runs())
            timed = ((task, model) for (task, _), model in zip(claim.runs(), models, strict=True))
            return [[f"{task}/{model}"] if model in self.runs.timed.get(task, ()) else [] for task, model in timed]
        runs, scores = self.runs.with_seeds(claim.further_seeds), []
        for (task, model), way in zip(claim.runs(), claim.ways(), strict=True):
            if way == "averaged" or (claim.part == "test" and not way):
                scores.append(runs.averaged_scores({task: [model]}, part))
            elif way:
                scores.append(runs.searched(task, model, f"{way}/", part))
            else:
                scores.append(runs.dev_scores({task: [model]}, part))
        return list(map(list, dict.fromkeys(map(tuple, scores))))

    @property
    def scores(self) -> list[str]:
        """The score files of all claims that are judged. Empty if no two models are compared and no claim is `own`."""
        judged = [claim for claim in self.all if claim["judged"]]
        compared = any(len(set(claim["runs"])) > 1 or claim["section"] == "own" for claim in judged)
        return self._files(judged) if compared else []

    @property
    def comparisons(self) -> list[str]:
        """The comparisons with base, for chrF."""
        return list(dict.fromkeys(path for claim in self.all for row in claim["comparisons"] for path in row))

    @property
    def lengths(self) -> list[str]:
        """The scores by length, for the claims about longer pairs."""
        about = (claim for claim in self.all if claim["metric"] in ("within", "longer"))
        return [str(Path(path).with_name("lengths.csv")) for path in self._files(about)]

    def _files(self, claims: Iterable[Mapping[str, Any]]) -> list[str]:
        scored = (claim for claim in claims if claim["judged"] and claim["metric"] != "step_time")
        judged = ([*claim["scores"], *claim["beside"]] for claim in scored)
        return list(dict.fromkeys(chain.from_iterable(chain.from_iterable(judged))))


def _compared(scores: Sequence[Sequence[str]]) -> list[list[str]]:
    """For each row, the comparisons of its seeds with base, none for base. Empty if base is not one of the rows."""
    others = [[path for path in row if Path(path).parts[-4] != "base"] for row in scores]
    compared = [[path.replace(".scores.json", ".comparison.json") for path in row] for row in others]
    return compared if [] in compared else []


def plan(selection: Selection) -> Plan | None:
    """The scores of all claims, and those of Table 3 for a note on how far it agrees with the paper's."""
    claims = Claims(selection.experiment.claims, selection.runs)
    if not claims.scores:
        return None
    table3 = selection.runs.dev_scores(selection.some("table3"))
    scores = list(dict.fromkeys([*claims.scores, *table3]))
    more = {"corpora": selection.runs.records(selection.runs.trained), "lengths": claims.lengths}
    more |= {"comparisons": claims.comparisons, "times": selection.runs.step_times}
    shown = [*selection.shown["table3"], *(run for claim in claims.all for run in claim["runs"])]
    params = {"claims": claims.all, "longest": selection.longest, "table3": table3}
    params |= {"notes": selection.notes(shown), "equal": selection.runs.equal}
    return Plan(selection.measured(selection.some("table3"), scores) | more, params)


def chance(p: float | None) -> str:
    """A p-value. Empty if there is none."""
    return number(p, 4) if p is None or p >= 0.0001 else "< 0.0001"


def table_row(result: "Tested") -> Row:
    """The row of a claim."""
    measure, judged = result.measure, result.judged
    both = [measure.text(bound) for bound in judged.interval] if judged else []
    return {
        ("Section", ""): result.claim["section"],
        ("Claim", ""): result.claim["claim"],
        ("Measure", ""): measure.heading + f", {result.claim['part']}" * (measure.key not in ("step_time", "longer")),
        ("Rows", ""): result.rows,
        ("Verdict", ""): result.verdict,
        ("In favour", "paper"): measure.text(result.paper),
        ("In favour", "ours"): NOT_RUN if result.ours is None else measure.text(result.ours),
        ("In favour", "interval"): " to ".join(both),
        ("In favour", "each seed"): " ".join(map(measure.text, result.each)),
        ("Seeds", ""): f"{len(result.each) or ''}{' rounds' * (result.timed and bool(result.each))}",
        ("p", "alone"): chance(judged.p_alone) if judged else "",
        ("p", "corrected"): chance(judged.p) if judged else "",
        ("Could show", ""): result.could_show,
    }


def content(job: Any) -> Content:
    """The table and its notes."""
    from workflow.results.second import beside_verdicts
    from workflow.results.verdicts import SEEDS, agreement, decide, power_note

    table3 = read_runs(job.params.table3, job.input.packages, job.params.equal)
    agreed = agreement(read_yaml(job.input.published)["table3"], over_seeds(table3))
    tested = decide(job)
    verdicts = JUDGED if any(each.judged and not each.timed for each in tested) else [FEW_SEEDS.format(SEEDS)]
    records = list(map(read_json, job.input.times))
    times = [TIMES] * bool(records)
    rows, beside = beside_verdicts(job, tested, list(map(table_row, tested)))
    return Content(
        rows,
        5,
        [*agreed, *power_note(tested), *job.params.notes, DIFFERENCES, *verdicts, *times, *beside, *NOTES],
        [
            *map(corpus_note, map(read_json, job.input.corpora)),
            *chain.from_iterable(map(circumstances, records)),
            *difference_notes(read_trained(job.input.packages).values()),
        ],
        ("alone", "each seed"),
    )


VERDICTS = {"reproduced": COLOURS[2], "contrary": COLOURS[1], "undecided": "#555555", "not run": "#888888"}
PAPER: dict[str, Any] = {
    "marker": "o",
    "color": COLOURS[0],
    "markerfacecolor": "none",
    "linestyle": "none",
    "markersize": 5.5,
}


def draw(tested: Sequence["Tested"]) -> Drawing:
    """A panel for each measure, with its claims in the order of the paper."""
    from matplotlib.lines import Line2D

    from workflow.results.verdicts import MEASURES

    groups = [[each for each in tested if each.measure is measure] for measure in MEASURES.values()]
    groups = [group for group in groups if group]
    height = 0.18 * len(tested) + 0.75 * len(groups)
    figure, axes_of = panels(len(groups), 1, 7.2, height, height_ratios=[len(group) + 1 for group in groups])
    for axes, group in zip(axes_of[:, 0], groups, strict=True):
        draw_measure(axes, group)
    looks = [Line2D([], [], label="paper", **PAPER)]
    looks += [
        Line2D([], [], label=f"ours, {name}", color=colour, marker="D", markersize=4, linewidth=1.2)
        for name, colour in VERDICTS.items()
        if name != "not run"
    ]
    figure.legend(handles=looks, loc="outside upper center", ncols=len(looks))
    return figure


def verdict(result: "Tested") -> str:
    """The verdict, with the number of seeds, and what they could show if they do not decide."""
    if not result.judged:
        return result.verdict
    if result.timed:
        return f"{result.verdict} ({result.judged.seeds} rounds)"
    could_show = f"; could show {result.could_show}" if result.could_show else ""
    return f"{result.verdict} (n {result.judged.seeds}{could_show})"


def draw_measure(axes: Axes, group: Sequence["Tested"]) -> None:
    """The claims about one measure, one below the other."""
    measure = group[0].measure
    axes.axvline(0, color="black", linewidth=0.8)
    for height, each in enumerate(group):
        colour = VERDICTS[each.verdict.partition(":")[0]]
        if margin := measure.margin(each.claim.get("margin")):
            bounds = measure.shown(-margin), measure.shown(margin)
            axes.fill_betweenx([height - 0.4, height + 0.4], *bounds, color="#e8eef4", zorder=0)
        if each.judged:
            axes.plot([measure.shown(bound) for bound in each.judged.interval], [height, height], color=colour)
        if each.ours is not None:
            face = colour if each.judged else "none"
            axes.plot(measure.shown(each.ours), height, marker="D", markersize=4, color=colour, markerfacecolor=face)
        if each.paper is not None:
            axes.plot(measure.shown(each.paper), height, **PAPER)
        axes.text(
            1.02, height, verdict(each), transform=axes.get_yaxis_transform(), va="center", fontsize=7, color=colour
        )
    labels = [f"{literal(each.claim['claim'])}  ({each.claim['section']})" for each in group]
    axes.set(yticks=range(len(group)), ylim=(len(group) - 0.4, -0.6))
    axes.set_yticklabels(labels, fontsize=7)
    axes.tick_params(axis="y", length=0)
    unit = "% less" if measure.relative else "points of"
    axes.set_xlabel(f"{unit} {measure.heading}, in favour of the claim")


def figure(job: Any) -> list[Drawing]:
    """The figure."""
    from workflow.results.verdicts import decide

    return [draw(decide(job))]


RESULTS = (
    Table(
        name="claims",
        section=EVERY,
        title="The paper's claims",
        detail="the paper's differences and ours",
        caption=CAPTION,
        plan=plan,
        content=content,
        printed={
            "Verdict": "Verdict",
            "Section": "Section",
            "Claim": "The paper's claim",
            "Measure": "measured in",
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
