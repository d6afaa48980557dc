"""A replication: what the first seeds said of each claim, what fresh seeds say alone, and how many verdicts agree."""

import csv
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workflow.results import claimed
from workflow.results.cells import chance
from workflow.results.result import EVERY, Content, Plan, Selection, Table
from workflow.results.table_formats import Row

CAPTION = """\
**The replication.** Each row is one claim: what the first experiment said, and what the seeds of this one say alone. No
number of the first enters the second. Look at the last column, then whether the two differences are alike in size.
"""
NOTES = [
    "A verdict is replicated if it is the same again, not replicated if these seeds leave the claim undecided, and "
    "reversed if they show the other side. What the first experiment left undecided may be decided now. Claims that it "
    "did not test have no entry there.",
    "The p-values are corrected within the family (Holm). How seeds become verdicts stands below the table of claims.",
]
DECIDED = ("reproduced", "contrary")


def plan(selection: Selection) -> Plan | None:
    """The plan of the claims, and the first experiment's released table; None if the experiment replicates none."""
    made = claimed.plan(selection)
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


def read_first(path: str) -> dict[tuple[str, str, str], Mapping[str, str]]:
    """The first experiment's rows by section, claim and measure without its part. Untested claims are left out."""
    with Path(path).open(encoding="utf-8", newline="") as stream:
        tested = [row for row in csv.DictReader(stream) if row["In favour, interval"]]
    return {(row["Section"], row["Claim"], row["Measure"].partition(",")[0]): row for row in tested}


def content(job: Any) -> Content:
    """The table and its notes."""
    from workflow.results.verdicts import decide, family

    known = read_first(job.input.first)
    rows: list[Row] = []
    outcomes = Counter[str]()
    for each in decide(job):
        if not each.judged:
            continue
        measure, judged = each.measure, each.judged
        first = known.get((each.claim["section"], each.claim["claim"], measure.heading), {})
        became = outcome(first.get("Verdict", "").partition(":")[0] or None, judged.verdict)
        outcomes[became.partition(":")[0]] += 1
        rows.append(
            {
                ("Section", ""): each.claim["section"],
                ("Claim", ""): each.claim["claim"],
                ("Rows", ""): each.rows,
                ("Measure", ""): measure.heading,
                ("Family", ""): family(each.claim),
                ("First", "difference"): first.get("In favour, ours", ""),
                ("First", "interval"): first.get("In favour, interval", ""),
                ("First", "verdict"): first.get("Verdict", ""),
                ("Fresh", "difference"): each.difference(each.ours),
                ("Fresh", "interval"): each.difference(*judged.interval),
                ("Fresh", "seeds"): str(judged.seeds),
                ("Fresh", "p"): chance(judged.p),
                ("Fresh", "verdict"): each.verdict,
                ("Outcome", ""): became,
            }
        )
    counts = ", ".join(f"{name} {count}" for name, count in outcomes.items())
    return Content(rows, 5, [f"Of {outcomes.total()} claims: {counts}.", *job.params.notes, *NOTES], [])


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
