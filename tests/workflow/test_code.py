"""What runs again when code, scores, cards or the place of results change: dry runs over files that were made up."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from calls import SMOKE, jobs, snakemake

ROOT = Path(__file__).parents[2]
PACKAGE = Path("results/code/runs/ende/base/1/average-2/package")


def given(folder, *options):
    return snakemake(folder, *options, *SMOKE, "code.yaml")


def planned(folder, *options):
    """The rules that would run."""
    run = given(folder, "--dry-run", *options)
    return set() if "Nothing to be done" in run.stdout + run.stderr else jobs(run).keys() - {"all", "total"}


@pytest.fixture(scope="module")
def finished(project):
    """A project with all files of a complete run, though they are empty."""
    (project / "code.yaml").write_text("{experiment: code, only: [ende], tasks: {ende: {models: [base, E-t5]}}}")
    summary = given(project, "--summary")
    for line in summary.stdout.splitlines()[1:]:
        path = project / line.partition("\t")[0]
        path.mkdir(parents=True) if path.name == "checkpoints" else path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    given(project, "--touch", "--config", "replace=true")
    assert not planned(project)
    return project


@pytest.fixture
def edit(finished):
    """Edit a file of the project, of which a text is replaced or a text is added, until the test has ended."""
    before = {}

    def edited(name, old, new):
        before.setdefault(path := finished / name, path.read_text())
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1) if old else text + new)

    yield edited
    for path, text in before.items():
        path.write_text(text)


@pytest.mark.workflow
def test_comments_docstrings_and_messages_make_nothing_run_again(finished, edit):
    edit("transformer/model/layers.py", "", "# a comment\n")
    edit("transformer/model/layers.py", '"""', '"""Also: ')
    edit("transformer/cli/training.py", "the run's config", "the config of the run")
    edit("transformer/support/strict.py", "", "ADDED = 1\n")
    edit("workflow/results/tables/table3.py", '"""', '"""Also: ')
    assert not planned(finished)


@pytest.mark.workflow
def test_changed_code_makes_its_stages_run_again(finished, edit):
    edit("transformer/package/readme.py", "", "ADDED = 1\n")
    edit("transformer/explore/beam.js", "", "let added\n")
    edit("workflow/results/tables/table3.py", "", "ADDED = 1\n")
    assert planned(finished) == {"write_readme", "write_explore", "write_table3", "draw_table3"}
    edit("transformer/cli/decoding.py", "batch_tokens(None)", "batch_tokens(64)")  # a default
    again = planned(finished)
    assert {"translate", "score"} <= again
    assert not {"train", "average_checkpoints"} & again
    edit("transformer/model/layers.py", "", "ADDED = 1\n")
    again = planned(finished)
    assert "train" in again
    assert not {"read_files", "learn_subwords", "encode_part"} & again


@pytest.mark.workflow
def test_a_card_is_made_again_when_it_is_lost_or_has_other_scores(finished):
    card, scores = (finished / PACKAGE / "README.md", finished / PACKAGE.with_name("test.scores.json"))
    card.unlink()
    assert planned(finished) == {"write_readme"}
    card.touch()
    scores.write_text("{}")
    assert "write_readme" in planned(finished)
    scores.write_text("")


@pytest.mark.workflow
def test_results_that_were_moved_to_another_folder_or_clone_are_not_made_again(finished, tmp_path, copy_project):
    """There, Snakemake knows nothing of what made them, and the code is newer."""
    for name in ("own", "results/released", "smoke.yaml", "fetched.yaml", "code.yaml"):
        copy = shutil.copytree if (finished / name).is_dir() else shutil.copy2
        copy(finished / name, tmp_path / name)
    shutil.copytree(finished / "results", tmp_path / "moved")
    copy_project(tmp_path)
    for path in (tmp_path / "transformer").rglob("*.py"):
        path.touch()
    again = planned(tmp_path, "--config", "results=moved")
    assert not {"read_files", "learn_subwords", "encode_part", "train", "average_checkpoints", "translate"} & again


@pytest.mark.workflow
def test_code_that_changes_while_its_job_runs_is_noticed(finished, edit):
    edits_itself = "import sys\nif sys.argv[1] == 'subwords':\n    Path(__file__).open('a').write('ADDED = 1\\n')\n"
    edit("transformer/text/subwords.py", "", edits_itself)
    target = ("meanwhile/code/subwords/ende.model",)
    given(finished, *target, "--config", "results=meanwhile")
    assert "learn_subwords" in planned(finished, *target, "--config", "results=meanwhile")


def test_every_rule_that_runs_a_command_or_a_script_has_its_digest():
    rules = [
        rule
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for rule in re.split(r"\n *rule ?(?=\w*:)", path.read_text())[1:]
    ]
    for rule in rules:
        name = rule.partition(":")[0]
        for command in re.findall(r"(?:-m transformer|\bresources\.nodes\}\"\n *\") (\w[\w-]*) ", rule):
            if command == "corpus":
                assert "digest(making.kind.__module__, *making.kind.data)" in rule
            elif command not in ("fetch", "check"):  # the outputs of the one have a SHA-256, the other has none
                assert f'digest("{command.replace("-", "_")}")' in rule, name
                assert " --code {params.code}" in rule, name
        for script in re.findall(r"jobs/(.*)\.py", rule):
            assert script == "write_config" or f'digest("workflow.jobs.{script}"' in rule, name
    assert len(rules) > 15


def test_planning_loads_no_library_that_only_jobs_need():
    code = "from workflow.results import load; load(); import workflow.dag.resources, sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"matplotlib", "scipy", "sacrebleu", "torch"} & set(run.stdout.split())
