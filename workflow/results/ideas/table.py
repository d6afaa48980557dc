"""All ideas of the ledger beside released rows, in a table and a picture, and a picture of why one run fools you."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from workflow.results.common.drawing import COLOURS, Drawing, literal, panels
from workflow.results.common.figure import Figure
from workflow.results.common.plan import Content, Job, Plan, Row
from workflow.results.common.records import read_yaml
from workflow.results.common.result import EVERY, Selection, Table
from workflow.results.ideas.check import SMALL
from workflow.results.ideas.ledger import LEDGER, Entry, cells, read, states
from workflow.results.ideas.released import KNOWN, archives, compared, released

CAPTION = """\
**Ideas**: changes of base that were screened, and those that were confirmed with fresh seeds. A positive difference is
in favour of the idea. See first the status: only a confirmation is a win.
"""
PICTURE = """\
**Ideas.** The diamond is the mean difference from base, and the line is its interval: of 95 %, or for a confirmation as
wide as its level. To the right of the vertical line it is in favour of the idea. Only a confirmation is a win.
"""
ONE_RUN = """\
**Why one run fools you.** The fifteen released runs of base differ in their seeds alone. On the left one of them is
compared with another one, as if it were a new model. On the right the best of twenty is. To the right of the vertical
line the identical model looks better than base.
"""
COLOUR = {"confirmed": COLOURS[2], "not confirmed": COLOURS[1], "withdrawn": COLOURS[1], "screened": COLOURS[0]}
MADE = ("against", "seeds", "digest", "device", "precision", "torch", "commit")
IDENTICAL = 20


def plan(selection: Selection) -> Plan:
    """The ledger and the released scores. The experiment does not matter."""
    ledger = [str(LEDGER)] if LEDGER.exists() else []
    return Plan({"ledger": ledger, "released": list(map(str, archives())), "published": selection.numbers})


def every(job: Job) -> list[Entry]:
    """What is known of each idea: of released rows, and of those in the ledger."""
    from workflow.experiment.config import read_experiment

    experiment, paths = read_experiment([SMALL]), list(map(Path, job.input.released))
    base, found = released(experiment, "base", paths), list[Entry]()
    for row in read_yaml(job.input.published)["positions"]:
        if row["model"] in KNOWN:
            runs = released(experiment, row["model"], paths)
            training = next(iter(runs.values())).package["training"]
            costs = {"parameters": training["parameters"], "flops": training["flops"] / training["steps"]}
            measured = {name: compared(name, runs.values(), base.values()) for name in ("perplexity", "bleu")}
            shown = cells({"status": "known", "k": "", "seeds": runs, "measures": measured, "costs": costs})
            about = {"idea": row["model"], "what": row["name"], "source": row["source"], "against": "small/base"}
            found.append({"status": "known", **shown, **about})
    return found + [each for path in job.input.ledger for each in states(read(Path(path)))]


def content(job: Job) -> Content:
    """The table and its notes."""
    others = read_yaml(job.input.published)["ideas"]
    return Content([row(each, others.get(each["idea"], "")) for each in every(job)], 4, csv_only=MADE)


def row(entry: Entry, others: str) -> Row:
    """The row of an idea."""

    def shown(name: str, form: str) -> str:
        return form.format(float(entry[name])) if entry.get(name) else ""

    def measured(heading: str, name: str, form: str) -> Row:
        mean, low, high = (shown(f"{name}{end}", form) for end in ("", "_low", "_high"))
        return {(heading, "in favour"): mean, (heading, "interval"): f"{low} to {high}" * bool(low)}

    return {
        ("Idea", ""): entry["idea"],
        ("What", ""): entry["what"],
        ("Source", ""): entry["source"],
        ("Status", ""): entry["status"] + f" (k = {entry.get('k')})" * bool(entry.get("k")),
        **measured("Perplexity", "perplexity", "{:+z.1f} %"),
        **measured("BLEU", "bleu", "{:+z.1f}"),
        ("Parameters", ""): shown("parameters", "{:,.0f}"),
        ("FLOPs of a step", ""): shown("flops", "{:.2e}"),
        ("A step is longer by", ""): shown("longer", "{:+z.0f} %"),
        ("Narang et al. (2021)", ""): others,
        **{("Made", name): entry.get(name, "") for name in MADE},
    }


def draw(job: Job) -> list[Drawing]:
    """A panel for each measure."""
    ideas = every(job)
    figure, [axes] = panels(1, 2, 7.2, 0.7 + 0.2 * len(ideas), sharey=True)
    for panel, name, unit in zip(axes, ("perplexity", "bleu"), ("% less perplexity", "points of BLEU"), strict=True):
        for height, entry in enumerate(ideas):
            if entry.get(name):
                low, mean, high = (float(entry[f"{name}{end}"]) for end in ("_low", "", "_high"))
                colour = COLOUR.get(entry["status"], "#777777")
                panel.plot([low, high], [height, height], color=colour, linewidth=1.4)
                filled = colour if entry["status"] == "confirmed" else "white"
                panel.plot(mean, height, "D", color=colour, markerfacecolor=filled, markersize=4.5)
        panel.axvline(0, color="black", linewidth=0.8)
        panel.set(xlabel=f"{unit}, in favour", ylim=(len(ideas) - 0.5, -0.5))
    labels = [f"{literal(entry['idea'])}, {entry['status']}" for entry in ideas]
    axes[0].set_yticks(range(len(ideas)), labels)
    return [figure]


def differences(scores: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The best of `count` runs minus another run, and the chance of each difference, if all are drawn from `scores`."""
    ordered = np.sort(scores)
    best = np.diff((np.arange(len(ordered) + 1) / len(ordered)) ** count)
    pairs = product(zip(ordered, best, strict=True), ordered)
    apart, chances = zip(*((one - other, chance / len(ordered)) for (one, chance), other in pairs), strict=True)
    return np.array(apart), np.array(chances)


def draw_one_run(job: Job) -> list[Drawing]:
    """How often an identical model looks better, alone and as the best of several. The bars are differences."""
    from workflow.experiment.config import read_experiment

    runs = released(read_experiment([SMALL]), "base", list(map(Path, job.input.released))).values()
    scores = np.array([run.scores["paper_bleu"]["score"] for run in runs])
    figure, [axes] = panels(1, 2, 7.2, 2.2, sharey=True)
    edges = np.linspace(-2, 2, 21)
    for panel, count in zip(axes, (1, IDENTICAL), strict=True):
        apart, chances = differences(scores, count)
        heights, _ = np.histogram(apart - 1e-9, edges, weights=100 * chances)  # equal runs are left of the line
        colours = [COLOURS[1] if edge >= 0 else "#bbbbbb" for edge in edges[:-1]]
        panel.bar(edges[:-1], heights, width=0.19, align="edge", color=colours)
        panel.axvline(0, color="black", linewidth=0.8)
        title = f"The best of {count} identical models" if count > 1 else "One identical model"
        won, gain = 100 * chances[apart > 0].sum(), chances @ apart
        panel.set_title(f"{title}:\n“better” in {won:.0f} %, by {gain:+z.1f} BLEU on average")
        panel.set_xlabel("BLEU, identical model - base")
    axes[0].set_ylabel("share of comparisons, %")
    return [figure]


def result(kind: type, name: str, **more: object) -> Table | Figure:
    """A result that `snakemake ideas` asks for."""
    return kind(name=name, section=EVERY, plan=plan, target="ideas", packed=False, **more)


RESULTS: Sequence[Table | Figure] = (
    result(Table, "ideas", title="Ideas", caption=CAPTION, content=content),
    result(Figure, "ideas", titles={"ideas": "Ideas"}, caption=PICTURE, draw=draw),
    result(Figure, "one_run", titles={"one_run": "Why one run fools you"}, caption=ONE_RUN, draw=draw_one_run),
)
