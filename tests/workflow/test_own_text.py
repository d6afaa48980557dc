"""docs/own-text.md: its overlay runs, and its table has the numbers of config/own-text.yaml."""

import json
import os
import re
import textwrap
from pathlib import Path

import pytest
import yaml
from calls import jobs, snakemake

from transformer.training.optimizer import learning_rate
from workflow.experiment.config import read_experiment

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/own-text.md").read_text()
RECIPES = ROOT / "config/own-text.yaml"
MINE, REHEARSAL, TREES = (
    textwrap.dedent(PAGE.partition(f"    # {name}.yaml\n")[2].partition("\n\n")[0])
    for name in ("mine", "rehearsal", "trees")
)


@pytest.mark.workflow
def test_the_overlay_of_the_page_trains_one_model_of_the_users_text(project):
    (project / "mine.yaml").write_text(MINE)
    for language in ("nl", "en"):
        (project / f"all.{language}").write_text("".join(f"{language} {number}\n" for number in range(4000)))
    told = [f"results/mine/tables/{name}.csv" for name in ("own", "table2", "corpora", "decoding", "runs")]
    told.append("results/mine/runs/nlen/base/1/average-10/test.translation")
    run = snakemake(project, "--dry-run", *told, "--configfile", "config/own-text.yaml", "mine.yaml")
    assert jobs(run)["train"] == "1"
    assert "nothing uses it" not in run.stdout + run.stderr
    [first] = re.findall(r"^    snakemake (.* results/mine/tables/corpora.md .*)$", PAGE, re.MULTILINE)
    assert jobs(snakemake(project, "--dry-run", *first.split())) == {
        "configure_corpus": "1",
        "read_files": "1",
        "write_corpora": "1",
        "total": "3",
    }


def test_the_rehearsal_of_the_page_reaches_no_higher_learning_rate_than_its_recipe(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(MINE)
    Path("rehearsal.yaml").write_text(REHEARSAL)

    def highest(*overlays):
        run = read_experiment([RECIPES, *map(Path, overlays)]).run("nlen", "base", 1)
        warmup = run.training.warmup
        return run.training.learning_rate * learning_rate(warmup, run.architecture.d_model, warmup)

    assert highest("mine.yaml", "rehearsal.yaml") <= highest("mine.yaml")


@pytest.mark.workflow
def test_another_text_in_place_of_an_own_one_is_read_again_even_if_its_date_is_older(project):
    (project / "old.yaml").write_text(MINE.replace("experiment: mine", "experiment: old").replace("all.", "old."))
    for language in ("nl", "en"):
        (project / f"old.{language}").write_text("".join(f"{language} {number}\n" for number in range(4000)))
    wanted = ("results/old/corpora/nlen/corpus.json", "--configfile", "config/own-text.yaml", "old.yaml")
    snakemake(project, *wanted)
    assert not jobs(snakemake(project, "--dry-run", *wanted))
    text = project / "old.en"
    text.write_text(text.read_text() + "one more\n")
    os.utime(text, (0, 0))
    assert "read_files" in jobs(snakemake(project, "--dry-run", *wanted))


@pytest.mark.workflow
def test_the_treebank_of_the_page_trains_one_parser_and_needs_no_number_of_trees(project):
    (project / "trees.yaml").write_text(TREES.replace("/path/to/treebank", "bank"))
    numbers = [number for part in ("train", "dev", "test") for number in yaml.safe_load(TREES)["corpora"]["mine"][part]]
    (project / "bank").mkdir()
    for number in {*numbers, 100}:
        (project / f"bank/wsj_{number:04}.mrg").write_text(f"(S (NP (D the) (N dog{number})) (VP (V barks)))\n" * 2)
    overlays = ("--configfile", "config/wsj-cpu.yaml", "trees.yaml")
    assert jobs(snakemake(project, "--dry-run", *overlays))["train"] == "1"
    record = "results/my-trees/corpora/wsj/corpus.json"
    snakemake(project, record, *overlays)
    read = json.loads((project / record).read_text())
    assert (read["pairs"]["dev"], read["pairs"]["test"], read["licence"]) == (4, 4, "licence not stated")
