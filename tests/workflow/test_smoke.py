"""The workflow from text to report: one whole run in a temporary folder, and what users do after it."""

import json
import re
import shutil
import tarfile
from pathlib import Path

import pytest
import yaml
from calls import SMOKE, jobs, snakemake

from workflow.results import load
from workflow.results.common.result import Table

ROOT = Path(__file__).parents[2]


# Blanks, quotes and a dollar, in the names of the texts and the results, go through every command.
ODD = 'it\'s "my" $HOME'
MADE = f"{ODD}/results/smoke"
# Length and ideas are targets of their own. This experiment has no mark, no task of a user, and repeats no other.
OTHERS = ("length", "marks", "own", "replication", "ideas", "one_run")
RESULTS = [result for _, result in load() if result.name not in OTHERS]


@pytest.fixture(scope="module")
def finished(project):
    """The project with a user's own row, with texts and results in a folder `ODD`, after a complete run."""
    with (project / "config/models.yaml").open("a") as stream:
        stream.write("\n  mine: {d_ff: 1024, P_drop: 0.3, warmup: 3}\n")
    shutil.copytree(project / "own", project / ODD / "text")
    values = yaml.safe_load((project / "smoke.yaml").read_text())
    values["results"] = f"{ODD}/results"
    values["tasks"]["ende"]["models"].append("mine")
    for part in ("train", "dev", "test"):
        values["corpora"]["own"][part] = [{language: f"{ODD}/text/{part}.{language}" for language in ("en", "de")}]
    values["corpora"]["treebank"]["trees"] = f"{ODD}/text/wsj"
    (project / "smoke.yaml").write_text(yaml.safe_dump(values))
    run = snakemake(project, *SMOKE)
    assert "when the DAG was created" not in run.stdout + run.stderr  # a warning of Snakemake's
    return project


@pytest.mark.workflow
def test_every_package_shows_its_scores(finished):
    packages = [path.parent for path in (finished / MADE / "runs").rglob("package/config.json")]
    assert packages
    for package in packages:
        assert re.search(r"^\| scores \| (dev|test), \d+ sentences, ", (package / "README.md").read_text(), re.M), (
            package
        )


def read(path):
    return json.loads(path.read_text())


@pytest.mark.workflow
def test_a_comparison_has_base_first_and_then_its_row(finished):
    comparisons = list((finished / MADE / "runs").rglob("dev.comparison.json"))
    assert comparisons
    for path in comparisons:
        *_, model, seed, average, _ = path.parts
        base = path.parents[3] / "base" / seed / average
        chrf = [read(folder / "dev.scores.json")["chrF"]["score"] for folder in (base, path.parent)]
        assert [read(path)["chrf"][key] for key in ("baseline", "system")] == chrf, model


@pytest.mark.workflow
def test_the_whole_dag_runs_from_text_to_tables_and_figures(finished):
    results = finished / MADE
    for result in RESULTS:
        assert all(Path(path).stat().st_size > 0 for paths in result.files(str(results)).values() for path in paths)
    assert not list(results.glob("runs/*/*/*/state"))
    assert ">gold</text>" in (results / "figures/trees.svg").read_text()
    assert '"name":"ende base, seed 1"' in (results / "figures/explore.html").read_text()
    table3 = (results / "tables/table3.csv").read_text()
    assert table3.count("not run") == 3 * 19  # perplexity, BLEU and parameters of the 19 rows left out
    corpora = (results / "tables/corpora.csv").read_text()
    runs = (results / "tables/runs.csv").read_text()
    assert "ende,E-t5,1," in runs
    assert ",unknown,1 x " in runs  # the folder has no git
    assert "ende,own,read,,200\n" in corpora
    assert "penn,treebank,train,,50\n" in corpora
    assert len((results / "corpora/penn/plain.source").read_text().splitlines()) == 6


@pytest.mark.workflow
def test_shards_divide_the_plain_sentences_evenly(finished):
    folder = f"{MADE}/runs/penn/parser/1/average-2"
    shards = [f"{folder}/plain-{number}-of-8.logp" for number in range(1, 9)]  # of 6 sentences
    snakemake(finished, *shards, *SMOKE)
    whole = [float(line) for line in (finished / folder / "plain.logp").read_text().splitlines()]
    sharded = [[float(line) for line in (finished / shard).read_text().splitlines()] for shard in shards]
    assert [value for shard in sharded for value in shard] == pytest.approx(whole, abs=1e-3)
    assert max(map(len, sharded)) <= 3
    assert len((finished / folder / "plain.translation").read_text().splitlines()) == len(whole) == 6


@pytest.mark.workflow
def test_after_a_run_nothing_is_left_to_do_and_only_a_changed_model_trains_again(finished):
    smaller = ("--set-resources", "train:micro_batch_tokens=64", "train:trainings_per_gpu=3")
    again = snakemake(finished, *SMOKE, *smaller, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    changed = finished / "changed.yaml"
    values = yaml.safe_load((finished / "smoke.yaml").read_text())
    values["models"]["E-t5"] = {"eps_ls": 0.2}
    changed.write_text(yaml.safe_dump(values))
    run = snakemake(finished, "--configfile", "changed.yaml", "fetched.yaml", "--dry-run")
    counts = jobs(run)
    assert counts["configure_run"] == counts["train"] == counts["average_checkpoints"] == "1"
    assert not {"fetch_pages", "fetch_file", "read_files"} & counts.keys()
    assert "learn_subwords" not in counts


@pytest.mark.workflow
def test_a_user_s_own_row_is_trained_and_shown_as_documented(finished):
    said = "| add a row of your own | an entry in `models`, and `models+: [mine]` in a task"
    assert said in (ROOT / "docs/experiments.md").read_text()
    made = finished / MADE
    assert (made / "runs/ende/mine/1/training.json").exists()
    [row] = [line for line in (made / "tables/table3.csv").read_text().splitlines() if line.startswith("own,")]
    assert row.startswith("own,mine: warmup 3,,,1024,,,,0.3,,,4,")
    assert "not run" not in row
    for name in ("table3", "training_curves"):
        assert "<!-- mine -->" in (made / f"figures/{name}.svg").read_text()
    assert "mine" in (made / "tables/runs.csv").read_text()


@pytest.mark.workflow
def test_packages_give_the_same_tables_and_curves_without_training(finished):
    made = finished / MADE
    # Measured times would differ, and packages have none. Without the times of steps, claims about time are not run.
    shutil.copytree(made / "complexity", finished / "again/smoke/complexity")
    files = (*made.glob("tables/*"), *made.glob("figures/training_curves.*"), *made.glob("figures/attention.*"))
    same = [path.relative_to(made) for path in files if path.stem not in ("step_time", "claims")]
    targets = ["again/smoke/scores.tar.gz", *(f"again/smoke/{path}" for path in same)]
    run = snakemake(finished, *targets, *SMOKE, "--config", f"packages={MADE}/runs", "results=again")
    assert "translate" in jobs(run)
    made_anew = {"train", "average_checkpoints", "write_readme", "remove_states", "learn_subwords", "encode_part"}
    made_anew |= {"measure_complexity"}
    assert not made_anew & jobs(run).keys()
    for path in same:
        assert (finished / "again/smoke" / path).read_bytes() == (made / path).read_bytes(), path
    assert not list((finished / "again").rglob("*.safetensors"))
    with tarfile.open(finished / "again/smoke/scores.tar.gz") as archive:
        names = archive.getnames()
    assert "results/smoke/runs/ende/base/1/average-2/package/config.json" in names
    assert all(name.startswith("results/smoke/") for name in names)
    assert {Path(name).suffix for name in names} == {".json", ".csv"}  # no texts, trees and weights
    scores = {"corpus.json", "history.csv", "dev.scores.json", "dev.comparison.json", "lengths.csv", "attention.json"}
    assert scores <= {Path(name).name for name in names}


@pytest.mark.workflow
def test_a_package_of_another_model_is_named_before_anything_is_computed(finished, tmp_path):
    shutil.copytree(finished / MADE / "runs", tmp_path / "runs", ignore=shutil.ignore_patterns("checkpoints"))
    package = tmp_path / "runs/ende/E-t5/1/average-1/package"
    shutil.rmtree(package)
    shutil.copytree(package.parents[3] / "base/1/average-1/package", package)
    run = snakemake(finished, "tables", *SMOKE, "--config", f"packages={tmp_path}/runs", "results=none", status=1)
    [message] = [line for line in run.stderr.splitlines() if str(package) in line]
    assert "must be the package of ende/E-t5/1/average-1, not of ende/base/1/average-1" in message
    assert not (finished / "none").exists()


@pytest.mark.workflow
def test_the_report_holds_every_table_and_figure(finished):
    snakemake(finished, *SMOKE, "--report", "report.html")
    report = (finished / "report.html").read_text()
    assert "Attention Is All You Need: smoke" in report.replace("\\n", " ")  # its start page
    assert "claims: " in report.replace("\\n", " ")
    tables = {result.title for result in RESULTS if isinstance(result, Table)}
    figures = {title for result in RESULTS if not isinstance(result, Table) for title in result.titles.values()}
    for kind, titles in (("table", tables), ("figure", figures)):
        labels = {json.loads(label) for label in re.findall(rf'"{kind}": ("(?:[^"\\]|\\.)*")', report)}
        assert labels == titles
    assert "rows stand beside 2 runs of ours" in report  # in the caption of Table 3
