"""A trial through Snakemake: a tiny row against tiny released scores."""

import json
import tarfile
from pathlib import Path

import pytest
import yaml
from calls import SMOKE, jobs, snakemake

from workflow.experiment.config import read_experiment

ROOT = Path(__file__).parents[2]
RUN = "results/smoke/runs/ende/base/{}/average-1"
TRIED = (*SMOKE, "mine.yaml")


def release(project, monkeypatch):
    """Pack seeds 1 to 3 of base as released. Seed 1 is trained; the others have its files with other scores."""
    trained = snakemake(project, f"{RUN.format(1)}/dev.scores.json", *SMOKE)
    assert trained.returncode == 0, trained.stdout + trained.stderr
    monkeypatch.chdir(project)
    experiment = read_experiment([Path("smoke.yaml"), Path("fetched.yaml")])
    archive = project / "results/released/smoke/scores.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as packed:
        for seed in (1, 2, 3):
            package = json.loads((project / RUN.format(1) / "package/config.json").read_text())
            scores = json.loads((project / RUN.format(1) / "dev.scores.json").read_text())
            package["training"]["config_sha256"] = experiment.run("ende", "base", seed).sha256()
            scores["perplexity"] *= 1 + (seed - 1) / 100
            for name, value in (("package/config.json", package), ("dev.scores.json", scores)):
                path = project / "packed.json"
                path.write_text(json.dumps(value))
                packed.add(path, f"{RUN.format(seed)}/{name}")


@pytest.mark.workflow
def test_a_trial_trains_its_row_alone_and_answers(project, monkeypatch):
    values = {"seeds": [1, 2, 3], "models": {"mine": {"d_ff": 1024}}, "trial": {"row": "mine"}}
    (project / "mine.yaml").write_text(yaml.safe_dump(values))
    release(project, monkeypatch)
    planned = snakemake(project, "trial", *TRIED, "--dry-run")
    assert "trial: 3 trainings (3 of mine), 0.0 core-hours or more on this CPU" in planned.stdout + planned.stderr
    assert jobs(planned)["train"] == "3"
    run = snakemake(project, "trial", *TRIED)
    printed = run.stdout + run.stderr
    assert run.returncode == 0, printed
    answer = json.loads((project / "results/smoke/trial/ende/mine.json").read_text())
    assert answer["paired"]
    assert answer["looks"] == [[1, 2, 3]]
    assert all(f"trial: {each}" in printed for each in answer["sentences"])
    table = (project / "results/smoke/tables/trial.md").read_text()
    assert all(each in table for each in answer["sentences"])
    assert "| milliseconds of a step |" in table
    assert (project / "results/smoke/figures/trial.svg").is_file()
    again = snakemake(project, "trial", *TRIED, "--forcerun", "judge_trial")
    assert again.returncode == 0, again.stdout + again.stderr
    assert json.loads((project / "results/smoke/trial/ende/mine.json").read_text()) == answer
    assert "trial: its runs are all trained" in again.stdout + again.stderr
