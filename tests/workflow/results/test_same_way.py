"""A run's claims beside the released verdicts."""

import csv
from dataclasses import replace

import pytest

from tests.pages import ROOT
from workflow.results.claims import verdicts
from workflow.results.claims.same_way import beside_released, lead
from workflow.results.common.table_formats import heading_of

COLUMNS = ["Section", "Claim", "Measure", "Rows", "Verdict", "In favour, interval", "In favour, each seed", "p, family"]
RELEASED = [
    ["5.4", "Smoothing", "BLEU, test", "a < b", "reproduced", "+1 to +2", "+1.5 -0.1 +0.9", "x"],
    ["5.4", "Smoothing", "perplexity, dev", "a < b", "reproduced: trend", "+1 to +2", "+1.5 % +0.1 %", "x"],
    ["6.2 A", "Heads", "BLEU, test", "a < b (by at least 1)", "undecided", "-1 to +2", "+1.5", "x"],
    ["6.2 E", "Alike", "BLEU, test", "a ≈ b (within 1)", "reproduced", "equal", "a 0.1 better", "x"],
    ["6.1", "Faster", "time of a step", "a < b", "reproduced", "+1 to +2", "+1.5", ""],
    ["6.3", "Trees", "F1, test", "a < b", "not run", "", "", ""],
]


@pytest.fixture
def released(tmp_path):
    with (tmp_path / "claims.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([COLUMNS, *RELEASED])
    return tmp_path / "claims.csv"


def claimed(section, claim, metric, *each, **bound):
    told = {"section": section, "claim": claim, "rows": ["ende/a", "ende/b"], "metric": metric, **bound}
    return verdicts.Tested(told, verdicts.MEASURES[metric], None, each, True, None, "")


OURS = [
    claimed("5.4", "Smoothing", "bleu", 0.2),
    claimed("5.4", "Smoothing", "perplexity", -0.2),
    claimed("6.2 A", "Heads", "bleu", 3.0),
    claimed("6.2 E", "Alike", "bleu", 0.2, margin=1),
    claimed("6.1", "Faster", "step_time", 0.2),
    claimed("6.3", "Trees", "f1", 0.2),
    claimed("own", "Mine", "bleu", 0.2),
]


def rows_of(ours, released):
    rows = [
        {("Section", ""): each.claim["section"], ("Claim", ""): each.claim["claim"],
         ("Measure", ""): f"{each.measure.heading}, dev", ("Verdict", ""): "", ("Size", ""): ""}
        for each in ours
    ]  # fmt: skip
    table = beside_released(str(released), ours, rows)
    return [{heading_of(column): cell for column, cell in row.items()} for row in table]


def test_the_released_verdict_stands_beside_each_claim_and_whether_ours_points_the_same_way(released):
    rows = rows_of(OURS, released)
    assert list(rows[0])[3:] == ["Verdict", "Verdict, released", "Verdict, same way", "Size"]
    assert [(row["Verdict, released"], row["Verdict, same way"]) for row in rows] == [
        ("reproduced", "yes"),
        ("reproduced", "no"),
        ("undecided (by at least 1)", ""),
        ("reproduced", ""),  # rows that are alike have no way
        ("", ""),
        ("", ""),
        ("", ""),
    ]


def test_the_leading_line_counts_them_beside_single_released_seeds(released):
    told = lead(rows_of(OURS, released), released)
    assert told.startswith("1 of the 2 reproduced claims that this run tests point the same way here (the replication ")
    assert "reproduced 3). One seed of the replication alone has 1 to 2 of these 2; a coin would have 1 on" in told


def test_without_claims_that_the_replication_reproduced_no_line_leads(released):
    not_run = [replace(each, each=()) for each in OURS]
    assert {row["Verdict, same way"] for row in rows_of(not_run, released)} == {""}
    assert lead(rows_of(not_run, released), released) == ""


def test_each_released_seed_points_as_its_claim_does():
    """So the claims of one seed that point the other way are not a matter of the seed alone."""
    path = ROOT / "docs/replication/tables/claims.csv"
    with path.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["p, family"] and row["Verdict"].startswith("reproduced")]
    ways = [{each[0] for each in row["In favour, each seed"].split() if each[0] in "+-"} for row in rows]
    assert ways == [{"+"} if "<" in row["Rows"] else set() for row in rows]
