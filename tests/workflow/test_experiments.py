"""The experiments of config/ and of users: dry runs, faults, interruptions, and the documentation's examples."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from pathlib import Path

import pytest
import yaml
from calls import SMOKE, jobs, snakemake
from yte import process_yaml

from transformer.cli.main import main
from workflow.cli import plan

ROOT = Path(__file__).parents[2]
# Other tests plan quick, quick-captions and paper; help-pages is planned like wider.
OVERLAYS = [["multi30k"], ["multi30k-tiny"], ["wsj-cpu"], ["paper", "paper-base"], ["replication"], ["wider"]]


@pytest.mark.workflow
@pytest.mark.parametrize("overlays", OVERLAYS, ids=lambda names: names[-1])
def test_every_experiment_has_a_complete_dag(project, overlays):
    configs = [str(ROOT / f"config/{name}.yaml") for name in overlays]
    run = snakemake(project, "--dry-run", "--configfile", *configs)
    assert "train " in run.stdout
    if "paper-base" in overlays:
        assert jobs(run)["train"] == "1"


BASE = "stages/smoke/runs/ende/base/1/training.json"


@pytest.fixture(scope="module")
def first_stage(project):
    """config/paper-base.yaml, after a small experiment in place of config/paper.yaml: its base is trained."""
    stage = str(ROOT / "config/paper-base.yaml")
    snakemake(project, BASE, *SMOKE, stage, "--config", "results=stages")
    return project


@pytest.mark.workflow
def test_the_whole_experiment_trains_the_base_of_its_first_stage_not_again(first_stage):
    fresh, later = (
        jobs(snakemake(first_stage, "--dry-run", *SMOKE, "--config", f"results={results}"))
        for results in ("new", "stages")
    )
    assert int(later["train"]) == int(fresh["train"]) - 1
    assert int(later["learn_subwords"]) == int(fresh["learn_subwords"]) - 1


@pytest.mark.workflow
def test_a_packed_run_has_its_translations_and_is_not_trained_again_on_another_machine(first_stage, tmp_path):
    packed, wanted = "stages/smoke/packed/ende/base/1.tar.xz", (*SMOKE, "--config", "results=stages")
    snakemake(first_stage, packed, *wanted)
    with tarfile.open(first_stage / packed) as archive:
        names = {name.removeprefix("results/smoke/runs/ende/base/1/average-1/") for name in archive.getnames()}
    assert {"dev.translation", "test.translation", "test.scores.json", "package/config.json"} <= names
    other = tmp_path / "other"
    shutil.copytree(first_stage, other, ignore=shutil.ignore_patterns(".snakemake", "stages"))
    (other / packed).parent.mkdir(parents=True)
    shutil.copy(first_stage / packed, other / packed)
    run = snakemake(other, "--dry-run", packed, *wanted)
    assert "Nothing to be done" in run.stdout + run.stderr


@pytest.mark.workflow
def test_a_further_test_set_comes_with_its_corpus_and_is_translated(project):
    text = [{language: f"own/dev.{language}" for language in ("en", "de")}]
    own = {"origin": "moses-lowercase", "tests": {"newer": text}}
    (project / "moses.yaml").write_text(yaml.safe_dump({"experiment": "moses", "corpora": {"own": own}}))
    run = "results/moses/runs/ende/base/1/average-2/newer.translation"
    planned = jobs(snakemake(project, "--dry-run", run, *SMOKE, "moses.yaml"))
    assert planned["tokenise_ende"] == planned["train"] == "1"


@pytest.mark.workflow
def test_the_documentation_s_parsed_text_replaces_the_first_parser_s(project):
    example = (ROOT / "config/README.md").read_text().partition("    # parsed.yaml\n")[2].partition("\n\n")[0]
    (project / "parsed.yaml").write_text(textwrap.dedent(example))
    (project / "own.yaml").write_text("{experiment: own, corpora: {parsed: {gold: penn, copies: 3}}}")
    (project / "parsed").mkdir()
    (project / "parsed/news.mrg.gz").write_bytes(gzip.compress(b"(ROOT (S (NP (PRP they)) (VP (VBP sleep))))\n" * 7))
    (project / "parsed/web.mrg").write_text("( (S (NP-SBJ (PRP we)) (VP (VBP go))) )\n")
    snakemake(project, "results/own/corpora/semi/train.target", *SMOKE, "parsed.yaml", "own.yaml")
    sources = (project / "results/own/corpora/semi/train.source").read_text().splitlines()
    assert sources[150:] == ["they sleep"] * 7 + ["we go"]
    assert sources[:50] == sources[100:150]
    assert not (project / "results/own/runs").exists()


@pytest.mark.workflow
def test_the_documentation_s_own_corpus_trains_with_two_processes(project):
    example = (ROOT / "config/README.md").read_text().partition("    # mine.yaml\n")[2].partition("\n\n")[0]
    assert example.count("\n") == 5
    (project / "mine.yaml").write_text(textwrap.dedent(example))
    (project / "small.yaml").write_text(
        "{scale: {width: 1/16, depth: 1/6}, tasks: {nlen: {vocabulary: 100}}, searches: null, "
        "models: {base: {steps: 5, warmup: 2, checkpoint_every: 1}}}"
    )
    for part in ("train", "dev", "test"):
        for language, name in (("en", "en"), ("de", "nl")):
            shutil.copy(project / f"own/{part}.{language}", project / f"{part}.{name}")
    scores = "results/mine/runs/nlen/base/1/average-5/test.scores.json"
    gpus = ("--set-resources", "train:gpu=2", "--resources", "gpu=2")  # there is no GPU, so two processes use the CPU
    snakemake(project, scores, "tables", "--configfile", "mine.yaml", "small.yaml", *gpus)
    assert json.loads((project / scores).read_text())["sentences"] == 20
    assert json.loads((project / "results/mine/runs/nlen/base/1/training.json").read_text())["devices"] == 2
    tables = project / "results/mine/tables"
    assert {path.stem for path in tables.iterdir()} == {"table2", "own", "corpora", "runs"}
    for name in ("table2", "own"):
        text = (tables / f"{name}.md").read_text()
        assert "not run" not in text
        assert "base" in text
        assert "short sentences of another text" not in text  # a note of `quick`


def refusal(folder, monkeypatch, call):
    """The line with which the profile ends a call of snakemake in a folder, read as Snakemake reads it."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["snakemake", "--cores", "2", "--dry-run", *call])
    monkeypatch.setattr(sys, "path", [*sys.path])
    with pytest.raises(SystemExit) as end, Path("profiles/default/profile.yaml").open() as profile:
        process_yaml(profile, require_use_yte=True)
    return end.value.code


@pytest.mark.parametrize("content", [b"experiment: \xff", b"a: [1,", b"", None], ids=repr)
def test_a_malformed_overlay_gives_the_same_one_line_in_snakemake_and_plan(project, monkeypatch, capsys, content):
    overlay = project / "overlay.yaml"
    overlay.unlink(missing_ok=True)
    if content is not None:
        overlay.write_bytes(content)
    given = ("--configfile", "smoke.yaml", "overlay.yaml")
    told = refusal(project, monkeypatch, given)
    assert told.startswith("error: overlay.yaml")
    assert main(["plan", *given], "workflow", [plan]) == 1
    assert capsys.readouterr().err == f"{told}\n"


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (["--configfile", "smoke.yaml", "tables"], "tables: cannot be read"),
        (["--config", "seeds=[1]", "tables"], "--config: tables is not KEY=VALUE; if it is a target, write it"),
        (["--configfile", "smoke.yaml", "--configfiles", "b.yaml"], "--configfile is given twice, and Snakemake"),
        (["--config", "seeds=[1]", "-C", "notes=[]"], "--config is given twice, and Snakemake"),
        (["tables", "-F", "smoke.yaml"], "smoke.yaml is an overlay, not a target; write --configfile smoke.yaml"),
        (
            ["--configfile", "my own.yaml", "-F", "smoke.yaml"],
            "smoke.yaml is an overlay, not a target; write --configfile 'my own.yaml' smoke.yaml",
        ),
    ],
)
def test_a_faulty_command_line_is_refused_by_the_profile(project, monkeypatch, call, told):
    (project / "my own.yaml").write_text("seeds: [1]")
    assert refusal(project, monkeypatch, call).startswith(f"error: {told}")


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("call", "told"),
    [
        (["trial"], "error: no idea is named; give --config idea=ideas/NAME.py, or `trial: {row: NAME}`"),
        (["--profile", "profiles/slurm"], "account or partition is not filled in; copy profiles/slurm to my-slurm"),
    ],
)
def test_a_faulty_call_is_refused_before_anything_runs(project, call, told):
    run = snakemake(project, "--dry-run", *call, status=1)
    assert told in run.stdout + run.stderr


@pytest.mark.workflow
def test_a_missing_text_and_what_nothing_uses_are_told_with_their_lines_by_snakemake_and_plan(
    project, monkeypatch, capsys
):
    (project / "mine.yaml").write_text(
        "experiment: mine\nonly: [nlen]\nnotes: []\ntasks:\n"
        "  nlen: {corpus: mine, source: nl, target: en, vocabulary: 100, models: [base]}\ncorpora:\n"
        "  mine: {origin: files, train: [{nl: no.nl, en: no.en}], hold_out: {dev: 1, test: 1}, licence: CC0}\n"
        "models: {bsae: {steps: 9}}\n"
    )
    unused = "mine.yaml, line 8: models.bsae: nothing uses it; did you mean base?"
    missing = [f"mine.yaml, line 7: corpora.mine: no.{each}: no such file; paths are" for each in ("nl", "en")]
    given = ("--configfile", "config/quick-captions.yaml", "mine.yaml")
    run = snakemake(project, "--dry-run", *given, status=1)
    assert "the config has 2 faults:" in run.stdout + run.stderr
    assert all(fault in run.stdout + run.stderr for fault in missing)
    monkeypatch.chdir(project)
    assert main(["plan", *given], "workflow", [plan]) == 0
    warned = capsys.readouterr().err
    assert all(f"warning: {fault}" in warned for fault in [*missing, unused])
    for language in ("nl", "en"):
        (project / f"no.{language}").write_text("one\ntwo\nthree\n")
    run = snakemake(project, "--dry-run", *given)
    assert (run.stdout + run.stderr).count(unused) == 1


def test_every_path_in_a_command_is_quoted():
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    commands = "".join(re.findall(r"shell:\n((?: +['\"].*\n)+)", rules))
    given = re.findall(r"\{((?:input|output|log|params)[^}]*)\}", commands)
    assert len(given) > 60
    numbers = {"params.code", "params.lengths", "params.plain[words]", "params.search"}
    assert {name for name in given if not name.endswith(":q")} == numbers


@pytest.mark.workflow
def test_a_training_that_outlived_snakemake_is_not_trained_again(project, tmp_path):
    ended = tmp_path / "ended"
    (tmp_path / "tee").write_text(f"""#!/bin/sh
/usr/bin/tee "$@"
case "$*" in */train.log) touch {ended}; sleep 100;; esac
""")
    (tmp_path / "tee").chmod(0o755)
    run = "killed/smoke/runs/ende/base/1"
    call = ["snakemake", "--cores", "2", f"{run}/training.json", *SMOKE, "--config", "results=killed"]
    environment = {"PATH": f"{tmp_path}:{Path(sys.executable).parent}:/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    killed = subprocess.Popen(call, cwd=project, env=environment, start_new_session=True, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not ended.exists() and killed.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    finished = (project / run / "state/finished.json").read_bytes()
    snakemake(project, "--unlock", *SMOKE, "--config", "results=killed")
    snakemake(project, *call[3:])
    assert (
        "ende base: already finished; published again"
        in (project / "killed/smoke/logs/ende/base/1/train.log").read_text()
    )
    assert (project / run / "state/finished.json").read_bytes() == finished
    assert json.loads((project / run / "training.json").read_text()) == json.loads(finished)["record"]


@pytest.mark.workflow
def test_a_line_that_a_row_cannot_read_is_refused_before_it_trains_and_no_other_row_trains_again(project):
    run = "results/positions/runs/ende/{}/1/training.json".format
    short = {"E-learned": {"max_length": 6, "longest_pair": 6}}
    for models in (["base"], ["base", "E-learned"], ["base"]):
        overlay = {"experiment": "positions", "tasks": {"ende": {"models": models}}, "models": short}
        (project / "positions.yaml").write_text(yaml.safe_dump(overlay))
        made = snakemake(project, *map(run, models), *SMOKE, "positions.yaml", status=len(models) - 1)
        if "E-learned" in models:
            said = r"^error: .*/ende/dev\.source, line \d+: \d+ subwords, but E-learned has learned 6 positions "
            assert re.search(said, made.stdout + made.stderr, re.MULTILINE)
            assert not (project / run("E-learned")).exists()
    assert "Nothing to be done" in made.stdout + made.stderr
