"""The protocol of the replication says what its config has, and its config is that of `small` with other seeds."""

import dataclasses
import json
import tarfile
from pathlib import Path

import pytest

from workflow.experiment.config import read_experiment

ROOT = Path(__file__).parents[1]
SCORES = ROOT / "results/released/replication/scores.tar.gz"
HEADINGS = ("section", "claim", "rows", "measure", "we claim", "kind", "family", "seeds")
MEASURES = {
    "bleu": "BLEU",
    "perplexity": "perplexity",
    "within": "perplexity, at most 30 subwords",
    "longer": "perplexity, 31 to 60 subwords",
}
PARTS = {"dev": "dev", "test": "test", "both": "test (dev)"}


@pytest.fixture(scope="module")
def replication():
    return read_experiment([ROOT / "config/replication.yaml"])


def cells_of(claim):
    """The cells of a claim in a protocol."""
    unit = "" if claim.metric == "bleu" else " %"
    bounds = {"alike within": claim.margin, "better by at least": claim.least}
    [said] = [f"{words} {bound:g}{unit}" for words, bound in bounds.items() if bound is not None] or ["better"]
    parts = "held-out pairs" if claim.metric in ("within", "longer") else PARTS[claim.part]
    measure = f"{MEASURES[claim.metric]}, {parts}"
    named = ", ".join(row.removeprefix("ende/") for row in claim.rows)
    return claim.section, claim.claim, named, measure, said, claim.group, claim.family


def asked(experiment, claim):
    """The row of a claim in the protocol."""
    seeds = [*experiment.seeds, *claim.further_seeds]
    return f"| {' | '.join(cells_of(claim))} | {seeds[0]} to {seeds[-1]} |"


def test_the_protocol_lists_every_claim_that_seeds_decide(replication):
    told = (ROOT / "docs/protocol.md").read_text().splitlines()
    rows = [asked(replication, claim) for claim in replication.claims.values() if claim.family]
    head = [f"| {' | '.join(HEADINGS)} |", "|---" * len(HEADINGS) + "|"]
    start = told.index(head[0])
    assert told[start : start + len(rows) + 3] == [*head, *rows, ""]


def test_every_claim_that_this_experiment_can_test_has_a_family_unless_it_is_about_time(replication):
    trained = {("ende", model) for model in replication.tasks["ende"].models}
    for name, claim in replication.claims.items():
        timed = claim.metric not in ("bleu", "perplexity", "f1", "within", "longer")
        assert (claim.family is None) == (timed or not set(claim.runs()) <= trained), name
    sizes = [sum(claim.family == each for claim in replication.claims.values()) for each in ("decided", "undecided")]
    assert sizes == [16, 10]


def test_the_replication_differs_from_small_in_what_the_protocol_says(replication):
    small = read_experiment([ROOT / "config/small.yaml"])
    assert not set(small.seeds) & {
        seed for model in replication.tasks["ende"].models for seed in replication.seeds_of("ende", model)
    }
    ende = dataclasses.replace(small.tasks["ende"], models=(*small.tasks["ende"].models, "convolutional"))
    same = {"tasks": small.tasks | {"ende": ende}, "models": small.models}
    free = {key: getattr(replication, key) for key in ("experiment", "replicates", "notes", "seeds", "claims")}
    assert dataclasses.replace(small, **same, **free) == replication


def test_the_runs_have_one_clean_commit_and_the_configs_of_the_protocol(replication):
    done = {}
    with tarfile.open(SCORES) as archive:
        for name in archive.getnames():
            if name.endswith("package/config.json"):
                run = json.load(archive.extractfile(name))["training"]
                done[run["task"], run["model"], run["seed"]] = run
    models = replication.tasks["ende"].models
    assert done.keys() == {("ende", model, seed) for model in models for seed in replication.seeds_of("ende", model)}
    assert {run["software"]["commit"] for run in done.values()} == {"b214df02fe8a6f7e6bea6950a8b14fe7a491c79a"}
    for run, record in done.items():
        assert record["config_sha256"] == replication.run(*run).sha256()
