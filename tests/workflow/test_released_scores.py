"""The released scores: the released tables are made from them; docs/small.md says how, and how to train more seeds."""

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.workflow.calls import jobs, snakemake
from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import read_experiment
from workflow.results.claims.plan import plan
from workflow.results.claims.verdicts import decide
from workflow.results.common.result import Table
from workflow.results.selection import Selection

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/small.md").read_text()
COMMANDS = [
    shlex.split(line, comments=True)
    for line in re.findall(r"^    ((?:tar|snakemake) .+)$", PAGE.replace("\\\n", ""), re.M)
]
WHOLE, UNPACK, TABLES, TEXT, UNPACK_AGAIN, TRAIN = COMMANDS
OF_TEXT = {"fetch_file", "read_files", "learn_subwords", "encode_part", "find_longer", "gather_held_out"}
OF_MODELS = {"train", "average_checkpoints", "translate", "score", "compare", "measure_lengths", "read_attention"}


@pytest.fixture
def clone(tmp_path, copy_project):
    copy_project(tmp_path)
    scores = Path("results/released/small/scores.tar.gz")
    (tmp_path / scores).parent.mkdir(parents=True)
    shutil.copy(ROOT / scores, tmp_path / scores)
    return tmp_path


def planned(clone, command, *options):
    return jobs(snakemake(clone, *command[1:], *options, "--dry-run"))


@pytest.mark.workflow
def test_tables_and_figures_are_made_from_the_released_scores_without_training(clone):
    subprocess.run(UNPACK, cwd=clone, check=True)
    found = planned(clone, TABLES).keys()
    assert {"write_claims", "write_table3", "write_positions", "draw_claims", "draw_training_curves"} <= found
    assert not (OF_TEXT | OF_MODELS) & found


@pytest.fixture
def select(tmp_path, monkeypatch):
    """The results of an experiment with other claims, in a folder with its released scores."""
    monkeypatch.chdir(tmp_path)

    def read(name, **claims):
        overlays = [ROOT / f"config/{name}.yaml"] * (name != "quick")
        experiment = read_experiment(overlays)
        experiment = dataclasses.replace(experiment, claims={**experiment.claims, **claims})
        subprocess.run(["tar", "-xf", ROOT / f"results/released/{name}/scores.tar.gz"], check=True)
        return Selection(experiment, Runs(experiment, Paths.of(experiment)), ROOT / "config/published.yaml")

    return read


def job(plan, **output):
    """Snakemake's object of the job of a result."""
    params = SimpleNamespace(title="A title", **plan.params)
    return SimpleNamespace(input=SimpleNamespace(**plan.input), params=params, output=output)


@pytest.mark.parametrize("name", ["quick", "quick-captions", "small", "replication"])
def test_every_released_table_is_that_of_the_released_scores(select, tmp_path, name):
    """All that other tables and figures read of the runs is released, too."""
    (tmp_path / "tables").mkdir()
    released = {path.name: path.read_bytes() for path in (ROOT / f"results/released/{name}/tables").glob("*.csv")}
    planned = select(name).planned
    for _, result, made in planned:
        if isinstance(result, Table) and f"{result.name}.csv" in released:
            result.make(job(made, **result.files(str(tmp_path))))
    assert {path.name: path.read_bytes() for path in (tmp_path / "tables").glob("*.csv")} == released
    inputs = [files for _, result, made in planned if result.packed for files in made.input.values()]
    read = [path for files in inputs for path in (files if isinstance(files, list) else [files])]
    assert [path for path in read if "/runs/" in str(path) and not Path(path).exists()] == []


def test_notes_of_claims_say_what_the_papers_alpha_gives(select):
    """Claims about the beam and the length penalty are tested again, with the paper's alpha in the better row."""
    chosen = {name: claim for name, claim in read_experiment([ROOT / "config/small.yaml"]).claims.items() if claim.note}
    assert list(chosen) == ["beam", "length-penalty"]
    instead = {
        name: dataclasses.replace(claim, rows=(claim.rows[0], "ende/base/beam-4.alpha-0.6"), note=None)
        for name, claim in chosen.items()
    }
    made = plan(select("small", **instead))
    of_name = {each.planned.name: each for each in decide(job(made))}
    for name, claim in chosen.items():
        given = of_name[name]
        said = f"alpha chosen on this text; with the paper's 0.6: {given.difference(given.ours)}, {given.verdict}"
        assert claim.note == said


@pytest.mark.workflow
def test_only_the_seeds_that_are_not_released_are_trained(clone):
    mirror = os.environ.get("TRANSFORMER_MIRROR", "")
    if not list(Path(mirror).glob("raw.githubusercontent.com/multi30k")):
        pytest.skip("TRANSFORMER_MIRROR does not name a folder with Multi30k")
    snakemake(clone, *TEXT[1:], "--config", f"mirror={mirror}")
    subprocess.run(UNPACK_AGAIN, cwd=clone, check=True)
    *whole, option, _ = TRAIN
    assert option == "--config"
    assert not (OF_TEXT | OF_MODELS) & planned(clone, whole, option, f"mirror={mirror}").keys()
    both = planned(clone, TRAIN, f"mirror={mirror}")
    assert both["train"] == "34"
    assert not OF_TEXT & both.keys()


def test_the_page_trains_and_unpacks_what_it_says():
    assert [*WHOLE[:3], "--rerun-triggers", "input", *WHOLE[3:]] == TRAIN[:-2]
    assert UNPACK == UNPACK_AGAIN == ["tar", "-xf", "results/released/small/scores.tar.gz"]
