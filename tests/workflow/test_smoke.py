"""The workflow itself, from text to report, in a folder of its own."""

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from itertools import islice
from pathlib import Path

import pytest
import yaml

from transformer.corpora.grammar import generate

ROOT = Path(__file__).parents[2]
SMOKE = ("--configfile", "smoke.yaml", "fetched.yaml")
OVERLAYS = [[], ["quick-captions"], ["multi30k"], ["multi30k-cpu"], ["wsj-cpu"], ["paper"]]


def snakemake(folder, *arguments):
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        ["snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )


def jobs(run):
    """Rule -> how many jobs of it a call of snakemake lists."""
    lines = map(str.split, (run.stdout + run.stderr).splitlines())
    return {line[0]: line[1] for line in lines if len(line) == 2 and line[1].isdigit()}


@pytest.fixture(scope="module")
def project(tmp_path_factory, copy_project):
    """A copy of what the project tracks, and a small corpus in it."""
    folder = tmp_path_factory.mktemp("project")
    copy_project(folder)
    shutil.copy(ROOT / "tests/workflow/smoke.yaml", folder)
    words = [
        "the",
        "a",
        "dog",
        "cat",
        "bird",
        "house",
        "tree",
        "sees",
        "finds",
        "likes",
        "big",
        "small",
        "red",
        "old",
        "and",
        "with",
        "near",
        "under",
    ]
    drawn = random.Random(1)
    (folder / "own").mkdir()
    downloads, parts = {}, {}
    for part, pairs in {"train": 200, "dev": 20, "test": 20}.items():
        lines = [drawn.choices(words, k=drawn.randint(2, 8)) for _ in range(pairs)]
        english, reverse = ([" ".join(line[::step]) for line in lines] for step in (1, -1))
        (folder / f"own/{part}.en").write_text("".join(f"{line}\n" for line in english))
        (folder / f"own/{part}.de").write_text("".join(f"{line}\n" for line in reverse))
        table = folder / f"own/{part}.tsv.gz"
        table.write_bytes(gzip.compress("".join(map("{}\t{}\n".format, english, reverse)).encode()))
        content = table.read_bytes()
        downloads[table.as_uri()] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        parts[part] = [{"en": f"{table.as_uri()}#1", "fr": f"{table.as_uri()}#2"}]
    (folder / "own/wsj").mkdir()
    trees = generate(70, 1, (4, 9))
    for number in range(1, 8):
        (folder / f"own/wsj/wsj_{number:04}.mrg").write_text("".join(f"( {tree} )\n" for tree in islice(trees, 10)))
    fetched = {"corpora": {"fetched": {"origin": "files", **parts}}, "downloads": downloads}
    (folder / "fetched.yaml").write_text(yaml.safe_dump(fetched))
    return folder


@pytest.fixture(scope="module")
def finished(project):
    """The project after `snakemake` ran to the end."""
    run = snakemake(project, *SMOKE)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "when the DAG was created" not in run.stdout + run.stderr  # an output that another job has made
    return project


@pytest.mark.workflow
def test_every_package_says_how_well_it_does(finished):
    packages = [path.parent for path in (finished / "results/smoke/runs").rglob("package/config.json")]
    assert packages
    for package in packages:
        assert re.search(r"^\| scores \| (dev|test), \d+ sentences, ", (package / "README.md").read_text(), re.M), (
            package
        )


@pytest.mark.workflow
@pytest.mark.parametrize("overlays", OVERLAYS, ids=lambda names: names[-1] if names else "quick")
def test_every_experiment_has_a_complete_dag(project, overlays):
    configs = [str(ROOT / f"config/{name}.yaml") for name in overlays]
    run = snakemake(project, "--dry-run", *(["--configfile", *configs] if configs else []))
    assert run.returncode == 0, run.stderr
    assert "train " in run.stdout


@pytest.mark.workflow
def test_trees_without_parses_are_a_file_that_no_rule_makes(project):
    overlay = str(ROOT / "config/multi30k-cpu.yaml")
    run = snakemake(project, "--dry-run", "results/multi30k-cpu/figures/trees.svg", "--configfile", overlay)
    assert run.returncode
    assert "No rule to produce results/multi30k-cpu/figures/trees.svg" in run.stdout + run.stderr


@pytest.mark.workflow
def test_the_parsed_text_of_the_documentation_takes_the_place_of_the_first_parsers(project):
    example = (ROOT / "config/README.md").read_text().partition("    # parsed.yaml\n")[2].partition("\n\n")[0]
    (project / "parsed.yaml").write_text(textwrap.dedent(example))
    (project / "own.yaml").write_text("{experiment: own, corpora: {parsed: {gold: penn, copies: 3}}}")
    (project / "parsed").mkdir()
    (project / "parsed/news.mrg.gz").write_bytes(gzip.compress(b"(ROOT (S (NP (PRP they)) (VP (VBP sleep))))\n" * 7))
    (project / "parsed/web.mrg").write_text("( (S (NP-SBJ (PRP we)) (VP (VBP go))) )\n")
    run = snakemake(project, "results/own/corpora/semi/train.target", *SMOKE, "parsed.yaml", "own.yaml")
    assert run.returncode == 0, run.stderr[-3000:]
    sources = (project / "results/own/corpora/semi/train.source").read_text().splitlines()
    assert sources[150:] == ["they sleep"] * 7 + ["we go"]
    assert sources[:50] == sources[100:150]
    assert not (project / "results/own/runs").exists()


@pytest.mark.workflow
def test_the_own_corpus_of_the_documentation_is_trained_on_with_two_processes(project):
    example = (ROOT / "config/README.md").read_text().partition("    # mine.yaml\n")[2].partition("\n\n")[0]
    assert example.count("\n") == 4
    (project / "mine.yaml").write_text(textwrap.dedent(example))
    (project / "small.yaml").write_text(
        "{scale: {width: 1/16, depth: 1/6}, tasks: {ende: {vocabulary: 100}}, models: {base: {steps: 5, warmup: 2, "
        "checkpoint_every: 1}}}"
    )
    for part in ("train", "dev", "test"):
        for language in ("en", "de"):
            shutil.copy(project / f"own/{part}.{language}", project)
    scores = "results/mine/runs/ende/base/1/average-5/test.scores.json"
    gpus = ("--set-resources", "train:gpu=2", "--resources", "gpu=2")  # none is here, so two processes on the CPU
    run = snakemake(project, scores, "--configfile", "mine.yaml", "small.yaml", *gpus)
    assert run.returncode == 0, run.stdout + run.stderr
    assert json.loads((project / scores).read_text())["sentences"] == 20
    assert json.loads((project / "results/mine/runs/ende/base/1/training.json").read_text())["devices"] == 2
    run = snakemake(project, scores, "--dry-run", "--configfile", "mine.yaml", "small.yaml")
    assert "Nothing to be done" in run.stdout + run.stderr
    run = snakemake(project, "tables", "--configfile", "mine.yaml", "small.yaml")
    assert run.returncode == 0, run.stdout + run.stderr
    tables = project / "results/mine/tables"
    assert {path.stem for path in tables.iterdir()} == {"table2", "table3", "corpora", "runs"}
    for name in ("table2", "table3"):
        text = (tables / f"{name}.md").read_text()
        assert "not run" not in text
        assert "base" in text
        assert "short sentences of another text" not in text  # a note of `quick`
    run = snakemake(project, "--dry-run", "--configfile", "mine.yaml", "small.yaml")
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("text", "faults"),
    [
        (
            "{seed: 1, seeds: [one], tasks: {ende: {vocabulary: 0}}, models: {big: {h: two, dk: 3}}}",
            ["unknown key seed", "seeds[0]: 'one'", "vocabulary: 0", "models.big.h: 'two'", "unknown key dk"],
        ),
        (
            "{tasks: {ende: {models: [big, A-h9], corpus: help}, wsj: {models: []}}, models: {big: {d_model: 10}}}",
            ["unknown model A-h9", "unknown corpus help", "parser is not among", "models.big.d_model: 10 x width 1/4"],
        ),
    ],
    ids=["keys", "names"],
)
def test_every_fault_of_a_config_is_named_at_once(project, text, faults):
    (project / "faulty.yaml").write_text(text)
    run = snakemake(project, "--dry-run", "--configfile", "faulty.yaml")
    output = run.stdout + run.stderr
    assert run.returncode != 0
    assert "Traceback" not in output
    for fault in faults:
        assert fault in output


@pytest.mark.workflow
@pytest.mark.parametrize(
    "content", [b"experiment: \xff", b"a: [1,", b"", b"# nothing", b"- a", b"a: 2001-99-99", None], ids=repr
)
def test_an_overlay_that_is_no_config_is_one_line_of_snakemake_and_of_plan_alike(project, content):
    overlay = project / "overlay.yaml"
    overlay.unlink(missing_ok=True)
    if content is not None:
        overlay.write_bytes(content)
    run = snakemake(project, "--dry-run", "--configfile", "smoke.yaml", "overlay.yaml")
    plan = subprocess.run(
        [sys.executable, "-m", "transformer", "plan", "--configfile", "smoke.yaml", "overlay.yaml"],
        cwd=project,
        capture_output=True,
        text=True,
    )
    assert run.returncode == plan.returncode == 1
    [_, told] = run.stderr.splitlines()  # the first says which profile is used
    assert told.startswith("error: overlay.yaml")
    assert [told] == plan.stderr.splitlines()


@pytest.mark.workflow
def test_a_stage_that_fails_is_reported_as_failed_with_its_reason(project):
    (project / "large.yaml").write_text(
        (project / "smoke.yaml").read_text().replace("vocabulary: 100", "vocabulary: 9999")
    )
    given = ("--configfile", "large.yaml", "fetched.yaml", "--config", "results=failing")
    run = snakemake(project, "failing/smoke/subwords/ende.model", *given)
    output = run.stdout + run.stderr
    assert run.returncode != 0
    assert "error: failing/smoke/subwords/ende.model: a vocabulary of 9999 subwords cannot be learnt" in output
    assert "MissingOutputException" not in output


@pytest.mark.workflow
def test_the_whole_dag_runs_from_text_to_tables_and_figures(finished):
    results = finished / "results/smoke"
    for table in ("corpora", "runs", "table2", "table3", "table4", "appendix"):
        for kind in ("csv", "md", "html", "tex"):
            assert (results / f"tables/{table}.{kind}").stat().st_size > 0
    assert not list(results.glob("runs/*/*/*/state"))
    for figure in ("figure3", "figure4", "figure5", "training_curves", "table3"):
        for kind in ("pdf", "svg", "png"):
            assert (results / f"figures/{figure}.{kind}").stat().st_size > 0
    assert ">gold</text>" in (results / "figures/trees.svg").read_text()
    table3 = (results / "tables/table3.csv").read_text()
    assert table3.count("not run") == 3 * 16  # perplexity, BLEU and parameters of the 16 rows left out
    corpora = (results / "tables/corpora.csv").read_text()
    runs = (results / "tables/runs.csv").read_text()
    assert "ende,A-h1,1," in runs
    assert ",unknown,1 x " in runs  # no git there
    assert "ende,own,read,,200\n" in corpora
    assert "penn,treebank,train,,50\n" in corpora
    assert len((results / "corpora/penn/plain.source").read_text().splitlines()) == 20


@pytest.mark.workflow
def test_shards_share_out_the_plain_sentences_that_are_there(finished):
    folder = "results/smoke/runs/penn/parser/1/average-2"
    shards = [f"{folder}/plain-{number}-of-25.logp" for number in range(1, 26)]  # of 20 sentences
    run = snakemake(finished, *shards, *SMOKE)
    assert run.returncode == 0, run.stderr[-3000:]
    whole = [float(line) for line in (finished / folder / "plain.logp").read_text().splitlines()]
    sharded = [[float(line) for line in (finished / shard).read_text().splitlines()] for shard in shards]
    assert [value for shard in sharded for value in shard] == pytest.approx(whole, abs=1e-3)
    assert max(map(len, sharded)) <= 3
    assert len((finished / folder / "plain.translation").read_text().splitlines()) == len(whole) == 20


@pytest.mark.workflow
def test_nothing_is_left_to_do_after_a_run_and_a_changed_model_trains_alone(finished):
    again = snakemake(finished, *SMOKE, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    changed = finished / "changed.yaml"
    changed.write_text((finished / "smoke.yaml").read_text().replace("  parser:", "  A-h1: {eps_ls: 0.2}\n  parser:"))
    run = snakemake(finished, "--configfile", "changed.yaml", "fetched.yaml", "--dry-run")
    counts = jobs(run)
    assert counts["configure_run"] == counts["train"] == counts["average_checkpoints"] == "1"
    assert not {"fetch_pages", "fetch_file", "read_files"} & counts.keys()
    assert "learn_subwords" not in counts


@pytest.mark.workflow
def test_micro_batches_made_smaller_half_way_retrain_no_finished_run(finished, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(finished, folder)
    run = "results/smoke/runs/ende/A-h1"
    shutil.rmtree(folder / run)
    smaller = ("--set-resources", "train:micro_batch_tokens=64")
    trained = snakemake(folder, f"{run}/1/training.json", *SMOKE, *smaller)
    assert trained.returncode == 0, trained.stdout[-3000:] + trained.stderr[-3000:]
    assert jobs(trained)["train"] == "1"
    [attempt] = json.loads((folder / run / "1/training.json").read_text())["attempts"]
    assert attempt["micro_batch_tokens"] == 64
    rest = snakemake(folder, *SMOKE, *smaller, "--dry-run")
    assert jobs(rest)["average_checkpoints"] == "1"
    assert not {"train", "configure_run", "encode_part"} & jobs(rest).keys()


@pytest.mark.workflow
def test_folders_and_texts_may_have_blanks_and_quotes_in_their_names(project):
    odd = 'it\'s "my" $HOME'
    shutil.copytree(project / "own", project / odd / "text")
    values = yaml.safe_load((project / "smoke.yaml").read_text())
    for part in ("train", "dev", "test"):
        values["corpora"]["own"][part] = [{language: f"{odd}/text/{part}.{language}" for language in ("en", "de")}]
    for name, task in values["tasks"].items():
        task["models"] = ["base"] if name == "ende" else []
    (project / "odd.yaml").write_text(yaml.safe_dump(values | {"results": f"{odd}/results"}))
    given = values | {"results": "other's", "packages": f"{odd}/results/smoke/runs"}
    (project / "given.yaml").write_text(yaml.safe_dump(given))
    for overlay in ("odd.yaml", "given.yaml"):
        run = snakemake(project, "tables", "figures", "--configfile", overlay, "fetched.yaml")
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    for table in (project / odd / "results/smoke/tables").iterdir():
        assert (project / "other's/smoke/tables" / table.name).read_bytes() == table.read_bytes()


def test_every_path_in_a_command_is_quoted():
    rules = "\n".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    commands = "".join(re.findall(r"shell:\n((?: +['\"].*\n)+)", rules))
    given = re.findall(r"\{((?:input|output|log|params)[^}]*)\}", commands)
    assert len(given) > 60
    assert [name for name in given if not name.endswith(":q")] == ["params.plain[words]"]  # two numbers


@pytest.mark.workflow
def test_a_training_that_ended_without_snakemake_s_knowledge_is_not_trained_again(project, tmp_path):
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
    assert snakemake(project, "--unlock", *SMOKE, "--config", "results=killed").returncode == 0
    again = snakemake(project, *call[3:])
    assert again.returncode == 0, again.stdout[-3000:] + again.stderr[-3000:]
    assert (
        "ende base: has finished before; published again"
        in (project / "killed/smoke/logs/ende/base/1/train.log").read_text()
    )
    assert (project / run / "state/finished.json").read_bytes() == finished
    assert json.loads((project / run / "training.json").read_text()) == json.loads(finished)["record"]


@pytest.mark.workflow
def test_a_row_of_ones_own_is_trained_and_shown_as_the_readme_says(finished, tmp_path):
    said = "A row of your own: an entry in `models.yaml`, and its name in a task's `models`"
    assert said in (ROOT / "README.md").read_text()
    folder = tmp_path / "project"
    shutil.copytree(finished, folder)
    with (folder / "config/models.yaml").open("a") as stream:
        stream.write("\n  mine: {d_ff: 1024, P_drop: 0.3, warmup: 3}\n")
    values = yaml.safe_load((folder / "smoke.yaml").read_text())
    values["tasks"]["ende"]["models"].append("mine")
    (folder / "smoke.yaml").write_text(yaml.safe_dump(values))
    run = snakemake(folder, "tables", "figures", *SMOKE)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    made = folder / "results/smoke"
    assert {path.parent.name for path in made.glob("runs/ende/*/1") if (path / "training.json").exists()} >= {"mine"}
    [row] = [line for line in (made / "tables/table3.csv").read_text().splitlines() if line.startswith("own,")]
    assert row.startswith("own,mine: warmup 3,,,1024,,,,0.3,,,4,")
    assert "not run" not in row
    for name in ("table3", "training_curves"):
        assert "<!-- mine -->" in (made / f"figures/{name}.svg").read_text()
    assert "mine" in (made / "tables/runs.md").read_text()


@pytest.mark.workflow
def test_a_clone_that_is_moved_has_nothing_left_to_do(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "moved")
    again = snakemake(tmp_path / "moved", *SMOKE, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr


@pytest.mark.workflow
def test_packages_give_the_same_tables_and_figures_without_training(finished):
    run = snakemake(finished, "tables", "figures", *SMOKE, "--config", "packages=results/smoke/runs", "results=again")
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    assert "translate " in run.stdout + run.stderr
    assert not re.search(
        "^(train|average_checkpoints|write_readmes|learn_subwords|encode_part) ", run.stdout + run.stderr, re.M
    )
    made = finished / "results/smoke"
    for path in (*made.glob("tables/*"), *made.glob("figures/*")):
        assert (finished / "again/smoke" / path.relative_to(made)).read_bytes() == path.read_bytes(), path
    assert not list((finished / "again").rglob("*.safetensors"))


@pytest.mark.workflow
@pytest.mark.parametrize("fault", ["missing", "altered", "incomplete", "foreign"])
def test_a_package_at_fault_is_named_before_anything_is_computed(finished, tmp_path, fault):
    shutil.copytree(finished / "results/smoke/runs", tmp_path / "runs", ignore=shutil.ignore_patterns("checkpoints"))
    package = tmp_path / "runs/ende/A-h1/1/average-1/package"
    if fault == "altered":
        with (package / "model.safetensors").open("r+b") as stream:
            stream.write(b"x")
    elif fault == "incomplete":
        (package / "history.csv").unlink()
    else:
        shutil.rmtree(package)
        if fault == "foreign":
            shutil.copytree(package.parents[3] / "base/1/average-1/package", package)
    run = snakemake(finished, "tables", *SMOKE, "--config", f"packages={tmp_path}/runs", "results=none")
    assert run.returncode != 0
    assert "Traceback" not in run.stdout + run.stderr
    [message] = [line for line in run.stderr.splitlines() if str(package) in line]
    told = {
        "missing": "no package",
        "altered": "model.safetensors: SHA-256",
        "incomplete": "history.csv: cannot be read",
        "foreign": "the package of ende/base/1/average-1, not of ende/A-h1/1/average-1",
    }
    assert told[fault] in message
    assert not (finished / "none").exists()


@pytest.mark.workflow
def test_the_report_holds_every_table_and_figure(finished):
    run = snakemake(finished, *SMOKE, "--report", "report.html")
    assert run.returncode == 0, run.stderr[-3000:]
    report = (finished / "report.html").read_text()
    for artefact in (
        "corpora",
        "runs",
        "table2",
        "table3",
        "table4",
        "appendix",
        "figure3",
        "figure4",
        "figure5",
        "training_curves",
        "trees.svg",
    ):
        assert artefact in report
