"""A run's claims beside the released verdicts."""

import csv

import pytest

from tests.released_tables import rows_of
from tests.workflow.claims import planned
from workflow.results.claims.same_way import cells, lead, read_released
from workflow.results.claims.verdicts import Tested

COLUMNS = ["Section", "Claim", "Measure", "Rows", "Verdict", "In favour, interval", "In favour, each seed", "p, family"]
RELEASED = [
    ["5.4", "Smoothing", "BLEU, test", "a < b", "reproduced", "+1 to +2", "+1.5 -0.1 +0.9", "x"],
    ["5.4", "Smoothing", "perplexity, dev", "a < b", "reproduced: trend", "+1 to +2", "+1.5 % +0.1 %", "x"],
    ["6.2 A", "Heads", "BLEU, test", "a < b (by at least 1)", "undecided", "-1 to +2", "+1.5", "x"],
    ["6.2 E", "Alike", "BLEU, test", "a ≈ b (within 1)", "reproduced", "equal", "a 0.1 better", "x"],
    ["6.1", "Faster", "time of a step", "a < b", "reproduced", "+1 to +2", "+1.5", ""],
    ["6.3", "Trees", "F1, test", "a < b", "not run", "", "", ""],
]
OURS = [
    ("5.4", "Smoothing", "bleu", 0.2, "reproduced", "yes"),
    ("5.4", "Smoothing", "perplexity", -0.2, "reproduced", "no"),
    ("6.2 A", "Heads", "bleu", 3.0, "undecided (by at least 1)", ""),
    ("6.2 E", "Alike", "bleu", 0.2, "reproduced", ""),  # rows that are alike have no way
    ("6.1", "Faster", "step_time", 0.2, "", ""),
    ("6.3", "Trees", "f1", 0.2, "", ""),
    ("own", "Mine", "bleu", 0.2, "", ""),
]


@pytest.fixture
def path(tmp_path):
    with (tmp_path / "claims.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *RELEASED])
    return tmp_path / "claims.csv"


def rows_beside(path, run):
    """The rows of our claims, as the csv has them; without differences if they are not `run`."""
    rows = []
    for section, claim, metric, effect, *_ in OURS:
        changes = {"part": None} if metric == "step_time" else {"margin": 1} if claim == "Alike" else {}
        asked = planned("a", "b", section=section, claim=claim, metric=metric, **changes)
        tested = Tested(asked, each=[effect] if run else ())
        found = {", ".join(column): cell for column, cell in cells(tested, read_released(path)).items()}
        rows.append({"Section": section, "Claim": claim, "Measure": f"{tested.measure.heading}, dev", **found})
    return rows


def test_the_released_verdict_stands_beside_each_claim_and_whether_ours_points_the_same_way(path):
    rows = rows_beside(path, run=True)
    assert [(row["Verdict, released"], row["Verdict, same way"]) for row in rows] == [each[4:] for each in OURS]
    told = lead(rows, path)
    assert told.startswith("1 of the 2 reproduced claims that this run tests point the same way here (the replication ")
    assert "reproduced 3; one of its seeds alone has 1 to 2 of these 2, a coin 1)." in told


def test_each_released_seed_points_as_its_claim_does():
    """So the claims of one seed that point the other way are not a matter of the seed alone."""
    rows = [
        row for row in rows_of("replication/claims") if row["p, family"] and row["Verdict"].startswith("reproduced")
    ]
    ways = [{each[0] for each in row["In favour, each seed"].split() if each[0] in "+-"} for row in rows]
    assert ways == [{"+"} if "<" in row["Rows"] else set() for row in rows]
