"""The study of length: its table, its figure, its jobs."""

import pandas as pd
import pytest
from calls import SMOKE, jobs, snakemake

from workflow.results.tables import length

STUDY = {
    "tasks": ["copy-one", "sum"],
    "positions": ["none", "t5", "alibi", "learned"],
    "seeds": [1, 2],
    "steps": {"copy-one": 300, "sum": 1500},
    "recipe": {"N": 3, "d_model": 64, "d_ff": 256, "h": 4, "batch": 32, "trained": [2, 3], "tested": 5, "problems": 9},
}
NAMES = {"none": "none", "t5": "T5's biases", "alibi": "ALiBi", "learned": "learned"}
UNSEEN = {"none": 0.4, "t5": 0.9, "alibi": 0.1, "learned": 0.0}  # the mean over lengths and seeds


@pytest.fixture
def study(results):
    """The inputs and parameters of a job: of each run a file, the second seed better by 0.1."""
    files = [
        results.write(
            f"length/{task}/{positions}/{seed}/exact_match.json",
            {
                "task": task,
                "positions": positions,
                "seed": seed,
                "trained": [2, 3],
                "parameters": 150_000,
                "exact_match": {"2": 1.0, "3": 0.5, "4": unseen - 0.05 + shift, "5": unseen + 0.05 + shift},
            },
        )
        for task in STUDY["tasks"]
        for positions, unseen in UNSEEN.items()
        for seed, shift in ((1, -0.05), (2, 0.05))
    ]

    return {"inputs": {"runs": files}, "study": STUDY}


def test_the_table_sets_published_numbers_and_ranks_beside_ours(results, study):
    found, (md, *_) = results.table("length", **study)
    rows = {(row["Task"], row["Positions"]): row for row in found}
    assert len(rows) == 8
    none = rows["copy-one", "none"]
    assert (none["Lengths trained on, ours"], none["Unseen lengths, published"]) == ("0.750", "0.990")
    assert (none["Unseen lengths, ours"], none["Unseen lengths, difference"]) == ("0.400 ± 0.071", "-0.590")
    ranks = [
        (rows["copy-one", name]["Rank, published"], rows["copy-one", name]["Rank, ours"]) for name in NAMES.values()
    ]
    assert ranks == [("1", "2"), ("2", "1"), ("3", "3"), ("", "")]
    assert none["Correlation of ranks"] == "0.50"  # of 1 2 3 and 2 1 3
    assert rows["sum", "none"]["Unseen lengths, published"] == ""
    assert rows["sum", "none"]["Correlation of ranks"] == "-0.50"  # of 1 3 2 and 2 1 3
    assert "Steps: copy-one 300, sum 1,500" in md
    alike = {("copy", encoding): {"seen": 1.0, "unseen": 0.0} for encoding in UNSEEN}
    rows = length.task_rows("copy", NAMES, {"exact_match": {"none": 0.4, "t5": 0.5}}, alike)
    assert {row["Correlation of ranks", ""] for row in rows} == {""}  # there is none
    assert [row["Rank", "ours"] for row in rows] == ["1.5", "1.5", "", ""]


def test_whether_none_loses_least_is_judged_over_seeds():
    def told(none, other, seeds=3):
        rows = [
            {"task": "copy", "model": model, "seed": seed, "unseen": value + seed / 1000 * (model == "none")}
            for model, value in (("none", none), ("t5", other), ("alibi", 0.0))
            for seed in range(seeds)
        ]
        return length.claim_notes(pd.DataFrame(rows))

    assert "copy +0.80 (95 % interval +0.80 to +0.80), reproduced." in told(0.9, 0.1)[0]
    assert "contrary" in told(0.1, 0.9)[0]
    assert told(0.9, 0.1, seeds=2) == []


@pytest.mark.workflow
def test_the_study_is_a_target_of_its_own_and_an_overlay_may_make_it_smaller(project):
    planned = jobs(snakemake(project, "length", "--dry-run", *SMOKE))
    assert planned["measure_length"] == "90"
    assert "train" not in planned
    assert "measure_length" not in jobs(snakemake(project, "--dry-run", *SMOKE))
    (project / "less.yaml").write_text("length: {tasks: [copy], positions: [none, t5], seeds: [7]}\n")
    planned = jobs(snakemake(project, "length", "--dry-run", "--configfile", "less.yaml"))
    assert planned["measure_length"] == "2"
