import pytest

from tests.pages import ROOT
from workflow.experiment.config import read_experiment
from workflow.results.claims.replication import outcome
from workflow.results.claims.same_way import read_released
from workflow.results.claims.verdicts import MEASURES


@pytest.mark.parametrize(
    ("first", "now", "expected"),
    [
        ("reproduced", "reproduced", "replicated"),
        ("contrary", "contrary", "replicated"),
        ("reproduced", "undecided", "not replicated"),
        ("reproduced", "contrary", "reversed"),
        ("undecided", "reproduced", "reproduced now"),
        ("undecided", "undecided", "still undecided"),
        (None, "undecided", "new: undecided"),
    ],
)
def test_two_verdicts_have_an_outcome(first, now, expected):
    assert outcome(first, now) == expected


def test_the_claims_that_small_decided_have_its_verdicts_and_its_rows():
    known = read_released(ROOT / "results/released/small/tables/claims.csv")
    claims = read_experiment([ROOT / "config/replication.yaml"]).claims.values()
    decided = [claim for claim in claims if claim.family == "decided"]
    assert decided
    for claim in decided:
        first = known[claim.section, claim.claim, MEASURES[claim.metric].heading]
        assert first["Rows"] == " < ".join(row.removeprefix("ende/") for row in claim.rows)
        assert first["Verdict"].partition(":")[0] == "reproduced"
