"""A replication: what the first seeds said of each claim, what fresh seeds say alone, and how many verdicts agree.

Claims about the time of a step are not in it, because seeds say nothing of them.
"""

from collections import Counter, defaultdict
from itertools import chain
from typing import Any

from workflow.results.claims import plan as claims
from workflow.results.claims.same_way import read_released
from workflow.results.claims.verdicts import decide
from workflow.results.common.cells import chance
from workflow.results.common.result import EVERY, Content, Plan, Selection, Table
from workflow.results.common.table_formats import Row

CAPTION = """\
**The replication.** Each row is one claim: what the first experiment said, and what the seeds of this one say alone. No
number of the first enters the second. Look at the last column, then whether the two differences are alike in size.
"""
DECIDED = ("reproduced", "contrary")
REPEATED = ("replicated", "not replicated", "reversed")


def plan(selection: Selection) -> Plan | None:
    """The plan of the claims, and the first experiment's released table; None if the experiment replicates none."""
    made = claims.plan(selection)
    first = selection.experiment.replicates
    return made.reading(first=selection.released(first) / "claims.csv") if made and first else None


def outcome(first: str | None, now: str) -> str:
    """What became of a verdict."""
    if first is None:
        return f"new: {now}"
    if first not in DECIDED:
        return f"{now} now" if now in DECIDED else f"still {now}"
    if now == first:
        return "replicated"
    return "reversed" if now in DECIDED else "not replicated"


def counted(outcomes: Counter[str]) -> str:
    """How often each outcome came. If one of REPEATED came, all of these are listed, with 0 for those that did not."""
    names = [*REPEATED, *outcomes] if outcomes.keys() & set(REPEATED) else outcomes
    return ", ".join(f"{name} {outcomes[name]}" for name in dict.fromkeys(names))


def content(job: Any) -> Content:
    """The table and its notes."""
    known = read_released(job.input.first)
    rows: dict[str, list[Row]] = defaultdict(list)
    for each in decide(job):
        if not (judged := each.judged) or each.timed:
            continue
        first = known.get(each.key, {})
        same = first.get("Rows") == each.rows  # with the bound, if any
        became = outcome(first["Verdict"].partition(":")[0] if same else None, judged.verdict)
        rows[each.family].append(
            {
                ("Section", ""): each.claim.section,
                ("Claim", ""): each.claim.claim,
                ("Rows", ""): each.rows,
                ("Measure", ""): each.measure.heading,
                ("Family", ""): each.family,
                ("First", "difference"): first.get("In favour, ours", ""),
                ("First", "interval"): first.get("In favour, interval", ""),
                ("First", "verdict"): first.get("Verdict", ""),
                ("Fresh", "difference"): each.difference(each.ours),
                ("Fresh", "interval"): each.difference(*judged.interval),
                ("Fresh", "seeds"): str(len(each.each)),
                ("Fresh", "p"): chance(judged.p),
                ("Fresh", "verdict"): each.verdict,
                ("Outcome", ""): became,
            }
        )
    outcomes = {name: Counter(row["Outcome", ""] for row in each) for name, each in rows.items()}
    counts = [f"Family {name}, claims {each.total()}: {counted(each)}." for name, each in outcomes.items()]
    return Content(list(chain(*rows.values())), 5, [*counts, *job.params.notes])


RESULTS = (
    Table(
        name="replication",
        section=EVERY,
        title="The replication",
        detail="the first verdicts, and those of fresh seeds",
        caption=CAPTION,
        plan=plan,
        content=content,
    ),
)
