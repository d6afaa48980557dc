"""The score files in docs/small: docs/small.md says how to make tables from them, and how to train further seeds."""

import csv
import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path
from statistics import fmean, median, stdev
from types import SimpleNamespace

import pytest

from tests.workflow.calls import jobs, snakemake
from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import read_experiment
from workflow.results.claims import table as claims
from workflow.results.claims.claimed import Claims
from workflow.results.claims.verdicts import decide
from workflow.results.common.table_formats import heading_of

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
    scores = Path("docs/small/scores.tar.gz")
    (tmp_path / scores).parent.mkdir(parents=True)
    shutil.copy(ROOT / scores, tmp_path / scores)
    return tmp_path


def planned(clone, command, *options):
    run = snakemake(clone, *command[1:], *options, "--dry-run")
    assert run.returncode == 0, run.stderr
    return jobs(run)


@pytest.mark.workflow
def test_tables_and_figures_are_made_from_the_released_scores_without_training(clone):
    subprocess.run(UNPACK, cwd=clone, check=True)
    found = planned(clone, TABLES).keys()
    assert {"write_claims", "write_table3", "write_positions", "draw_claims", "draw_training_curves"} <= found
    assert not (OF_TEXT | OF_MODELS) & found


def test_the_released_table_has_the_released_scores():
    scores: dict[str, list[tuple[float, ...]]] = {}
    with tarfile.open(ROOT / "docs/small/scores.tar.gz") as archive:
        for name in archive.getnames():
            if name.endswith("/average-1/dev.scores.json"):
                score = json.load(archive.extractfile(name))
                numbers = (score["perplexity"], score["paper_bleu"]["score"], score["sacrebleu"]["length"])
                scores.setdefault(score["model"], []).append(numbers)
    with (ROOT / "docs/small/tables/table3.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 20
    for row in rows:
        shown = (row["Perplexity, ours"], row["BLEU, ours"], row["sacreBLEU, length"])
        seeds = zip(*scores[row["Model"].partition(":")[0]], strict=True)
        for text, each, digits in zip(shown, seeds, (2, 1, 2), strict=True):
            assert text == f"{fmean(each):.{digits}f} ± {stdev(each):.{digits}f}"


@pytest.fixture
def unpack(tmp_path, monkeypatch):
    """Read an experiment, in a folder with its released scores."""

    def read(name):
        subprocess.run(["tar", "-xf", ROOT / f"docs/{name}/scores.tar.gz"], cwd=tmp_path, check=True)
        monkeypatch.chdir(tmp_path)
        return read_experiment([ROOT / f"config/{name}.yaml"])

    return read


def decided(experiment, of):
    """What the released scores say of claims."""
    runs = Runs(experiment, Paths.of(experiment))
    resolved = Claims(of, runs)
    given = SimpleNamespace(
        published=ROOT / "config/published.yaml",
        packages=runs.packages_behind(resolved.scores),
        times=runs.step_times,
    )
    params = SimpleNamespace(claims=resolved.all, longest=experiment.models["base"]["longest_pair"])
    return decide(SimpleNamespace(input=given, params=params))


@pytest.mark.parametrize("name", ["small", "replication"])
def test_the_released_verdicts_are_those_of_the_released_scores(unpack, name):
    unpacked = unpack(name)
    rows = map(claims.table_row, decided(unpacked, unpacked.claims))
    cells = [{heading_of(column): cell for column, cell in row.items()} for row in rows]
    with (ROOT / f"docs/{name}/tables/claims.csv").open() as stream:
        released = list(csv.DictReader(stream))
    beside = {"In favour, unpenalised", "In favour, chrF", "Length", "p, pooled"}  # which decide nothing
    beside |= {"Verdict, released", "Verdict, same way"}
    assert cells == [{heading: cell for heading, cell in row.items() if heading not in beside} for row in released]


def test_the_spread_of_the_replication_is_what_its_page_says(unpack):
    """Of the claims in BLEU that `small` tested: those of the protocol's first two families, and learned positions."""
    unpacked = unpack("replication")
    known = {each.claim for each in read_experiment([ROOT / "config/small.yaml"]).claims.values()}
    spreads = [
        stdev(each.each)
        for each in decided(unpacked, unpacked.claims)
        if each.claim["metric"] == "bleu"
        and each.claim["family"]
        and each.claim["claim"] in known
        and "convolutional" not in each.claim["claim"]
    ]
    assert len(spreads) == 16
    page = " ".join((ROOT / "docs/replication.md").read_text().split())
    assert f"was 0.57 when the protocol was written, and with fresh seeds it is {median(spreads):.2f}." in page


def test_notes_of_claims_say_what_the_papers_alpha_gives(unpack):
    """Claims about the beam and the length penalty are tested again, with the paper's alpha in the better row."""
    unpacked = unpack("small")
    chosen = {name: claim for name, claim in unpacked.claims.items() if claim.note}
    assert list(chosen) == ["beam", "length-penalty"]
    instead = {
        name: dataclasses.replace(claim, rows=(claim.rows[0], "ende/base/beam-4.alpha-0.6"), note=None)
        for name, claim in chosen.items()
    }
    of_name = {each.claim["name"]: each for each in decided(unpacked, unpacked.claims | instead)}
    for name, claim in chosen.items():
        given = of_name[name]
        said = f"alpha chosen on this text; with the paper's 0.6: {given.difference(given.ours)}, {given.verdict}"
        assert claim.note == said


@pytest.mark.workflow
def test_only_the_seeds_that_are_not_released_are_trained(clone):
    mirror = os.environ.get("TRANSFORMER_MIRROR", "")
    if not list(Path(mirror).glob("raw.githubusercontent.com/multi30k")):
        pytest.skip("TRANSFORMER_MIRROR does not name a folder with Multi30k")
    made = snakemake(clone, *TEXT[1:], "--config", f"mirror={mirror}")
    assert made.returncode == 0, made.stdout + made.stderr
    subprocess.run(UNPACK_AGAIN, cwd=clone, check=True)
    *whole, option, _ = TRAIN
    assert option == "--config"
    assert not (OF_TEXT | OF_MODELS) & planned(clone, whole, option, f"mirror={mirror}").keys()
    both = planned(clone, TRAIN, f"mirror={mirror}")
    assert both["train"] == "34"
    assert not OF_TEXT & both.keys()


def test_the_page_trains_and_unpacks_what_it_says():
    assert [*WHOLE[:3], "--rerun-triggers", "input", *WHOLE[3:]] == TRAIN[:-2]
    assert UNPACK == UNPACK_AGAIN == ["tar", "-xf", "docs/small/scores.tar.gz"]
