"""The claims: the paper's difference, our difference with its interval over seeds, and a verdict for each."""

from pathlib import Path
from typing import Any

from workflow.results.claims import same_way, second
from workflow.results.claims.agreement import agreement
from workflow.results.claims.plan import plan
from workflow.results.claims.verdicts import Tested, decide
from workflow.results.common.cells import NOT_RUN, chance
from workflow.results.common.provenance import difference_notes
from workflow.results.common.records import over_seeds, read_runs, read_trained, read_yaml
from workflow.results.common.result import EVERY, Content, Plan, Selection, Table
from workflow.results.common.table_formats import Row, heading_of

CAPTION = """\
**The paper's claims, tested.** Each row is one claim: the difference that the paper prints, if it prints one, ours with
its interval over seeds, and a verdict. *Reproduced* means that our seeds show the difference on the claimed side (or
within the margin, for rows claimed to be alike), *contrary* that they show it on the other side, *undecided* that they
show neither. Claims about time are decided by rounds of measurements instead of seeds. Look first at the verdicts,
which say nothing of the size, then at the column Size, which compares it with the paper's.
"""


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


def content(job: Any) -> Content:
    """The table and its notes."""
    tested, released = decide(job), getattr(job.input, "released", None)
    pooled = second.pooled_p(job.input.scores, tested)
    known = same_way.read_released(released) if released else {}
    rows = [
        table_row(each, pooled.get(each.planned.name), same_way.cells(each, known) if released else None)
        for each in tested
    ]
    table3 = read_runs(job.params.table3, job.input.packages, job.params.equal)
    notes = [*job.params.notes]
    if released:
        cells = [{heading_of(column): cell for column, cell in row.items()} for row in rows]
        notes.append(same_way.lead(cells, Path(released)))
    notes.append(" ".join(agreement(read_yaml(job.input.published)["table3"], over_seeds(table3))))
    notes.append(" ".join(f"{each.claim.claim}: {each.note}." for each in tested if each.note))
    notes += difference_notes(read_trained(job.input.packages).values())
    csv_only = ("alone", "family", "pooled", "each seed")
    return Content(rows, 11 if released else 9, list(filter(None, notes)), csv_only)


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
