"""An idea through Snakemake: a tiny row against tiny released scores."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest
import yaml
from calls import SMOKE, jobs, snakemake

from workflow.experiment.config import read_experiment
from workflow.results.ideas.ledger import read

ROOT = Path(__file__).parents[2]
RUN = "results/smoke/runs/ende/base/{}/average-1"
TRIED = (*SMOKE, "mine.yaml")
ANSWER = "results/smoke/ideas/mine.json"


def release(project, monkeypatch):
    """Pack seeds 1 to 15 of base as released. Seed 1 is trained; the others have its files with other scores."""
    snakemake(project, f"{RUN.format(1)}/dev.scores.json", *SMOKE)
    monkeypatch.chdir(project)
    experiment = read_experiment([Path("smoke.yaml"), Path("fetched.yaml")])
    archive = project / "results/released/smoke/scores.tar.gz"
    archive.parent.mkdir(parents=True)
    with tarfile.open(archive, "w:gz") as packed:
        for seed in range(1, 16):
            package = json.loads((project / RUN.format(1) / "package/config.json").read_text())
            scores = json.loads((project / RUN.format(1) / "dev.scores.json").read_text())
            package["training"]["config_sha256"] = experiment.run("ende", "base", seed).sha256()
            scores["perplexity"] *= 1 + (seed - 1) / 1000
            for name, value in (("package/config.json", package), ("dev.scores.json", scores)):
                path = project / "packed.json"
                path.write_text(json.dumps(value))
                packed.add(path, f"{RUN.format(seed)}/{name}")


@pytest.mark.workflow
def test_an_idea_is_screened_confirmed_and_shown_and_without_a_verdict_snakemake_fails(project, monkeypatch):
    values = {"seeds": [1, 2, 3], "models": {"mine": {"d_ff": 1024}}, "trial": {"row": "mine"}}
    (project / "mine.yaml").write_text(yaml.safe_dump(values))
    ledger = project / "ideas/ledger.csv"
    ledger.unlink(missing_ok=True)
    code = project / "workflow/experiment/tasks.py"
    code.write_text(code.read_text().replace("FRESH = range(6, 16)", "FRESH = range(6, 9)"))
    release(project, monkeypatch)
    for name in ("small", "replication"):
        shutil.copy(ROOT / f"results/released/{name}/scores.tar.gz", project / f"results/released/{name}")

    def call(*arguments, **how):
        run = snakemake(project, *arguments, **how)
        return run.stdout + run.stderr, run

    assert "mine: is not screened yet; run `snakemake trial`" in call("confirm", *TRIED, status=1)[0]
    (project / "ideas/broken.py").write_text("def change(model):\n    model.encoder[0].position_wise = None\n")
    assert "error: ideas/broken.py: TypeError" in call("trial", "-n", "--config", "idea=ideas/broken.py", status=1)[0]
    printed, planned = call("trial", *TRIED, "--dry-run")
    assert "trial: 3 trainings (3 of mine), 0.0 core-hours or more on this CPU" in printed
    assert jobs(planned)["train"] == "3"
    for _ in range(2):  # a second time it only tells
        printed, _ = call("trial", *TRIED)
        answer = json.loads((project / ANSWER).read_text())
        assert answer["status"] == "screened"
        assert all(f"trial: {each}" in printed for each in answer["sentences"])
    assert len(ledger.read_text().splitlines()) == 2

    printed, planned = call("confirm", *TRIED, "--dry-run")
    assert jobs(planned)["train"] == "3"
    assert "begun" not in ledger.read_text()
    call("confirm", *TRIED)
    events = [line["event"] for line in read(ledger)]
    assert events[:2] == ["screened", "begun"]
    assert events[2] in ("confirmed", "not confirmed")

    call("ideas")
    assert f"| {events[2]} (k = 1)" in (project / "results/ideas/tables/ideas.md").read_text()
    assert (project / "results/ideas/figures/one_run.svg").is_file()

    layers = project / "transformer/model/layers.py"
    layers.write_text(layers.read_text().replace("F.relu(", "F.gelu("))
    printed, _ = call("trial", *TRIED, status=1)
    assert "mine cannot be judged: your code changed base: base with seed 1" in printed
    assert json.loads((project / ANSWER).read_text())["status"] == "cannot be judged"
    assert len(ledger.read_text().splitlines()) == 4
