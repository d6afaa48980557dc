"""Files that describe the project to tools agree with each other. Tests see no GPU, and repeat themselves."""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]


def test_tests_and_their_processes_see_no_gpu_unless_they_are_marked():
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def drawn():
    """What Hypothesis draws for a test."""
    examples = []

    @given(st.integers(), st.text())
    def see(number, text):
        examples.append((number, text))

    see()
    return examples


def test_the_examples_of_a_test_do_not_depend_on_the_tests_before(tmp_path, monkeypatch):
    """Hypothesis also draws constants of modules that are loaded, unless tests/conftest.py prevents it."""
    before = drawn()
    path = tmp_path / "loaded.py"
    path.write_text(f"NUMBERS = {[*range(7000, 8000)]}")
    spec = importlib.util.spec_from_file_location("loaded", path)
    monkeypatch.setitem(sys.modules, "loaded", importlib.util.module_from_spec(spec))
    assert drawn() == before
    assert len(set(before)) > 50


def test_conda_and_pip_users_get_the_same_versions():
    files = ("requirements.txt", "requirements-torch.txt", "tests/requirements.txt")
    lines = "".join((ROOT / name).read_text() for name in files).splitlines()
    pins = {line.split("==")[0]: line.removesuffix("\\").rstrip() for line in reversed(lines) if line[0] not in "# "}
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert {*environment["dependencies"][-1]["pip"]} == {*pins.values()}
    assert all("==" in pin for pin in pins.values())


IMPORT = """
import importlib, sys

lacking, names = eval(sys.stdin.read())

class Lacking:
    def find_spec(name, *_):
        if name.partition(".")[0] in lacking:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Lacking)
for name in names:
    importlib.import_module(name)
"""


@pytest.mark.parametrize("part", ["transformer", "workflow"])
def test_no_module_needs_a_package_of_pyproject_toml_that_the_users_of_its_part_may_lack(part):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    unused = extras["export"] + extras["tensorboard"] + groups["site"] + groups["witnesses"]
    named = unused + extras["workflow"] if part == "transformer" else unused
    lacking = {re.split("[<>=]", name)[0].replace("-", "_") for name in named}
    assert {"ctranslate2", "transformers", "x_transformers", "tensorboard"} < lacking
    parts = ("dag", "cli", "experiment", "results")
    folders = ["transformer"] if part == "transformer" else [*(f"workflow/{each}" for each in parts), "benchmarks"]
    files = [file.relative_to(ROOT) for folder in folders for file in (ROOT / folder).rglob("*.py")]
    names = [".".join(file.with_suffix("").parts) for file in files if file.stem != "__main__"]
    assert len(names) > 50
    command, given = [sys.executable, "-c", IMPORT], repr((lacking, names))
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_installs_the_pinned_versions_into_the_environment_that_it_uses(tmp_path):
    text = (ROOT / "Containerfile").read_text().replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    given = {word: [value for name, value in steps if name == word] for word, _ in steps}
    assert given["FROM"] == ["docker.io/library/debian:12-slim"]
    *names, _ = given["COPY"][0].split()
    for name in names:
        (tmp_path / name).touch()  # no packages, because the real ones are gigabytes
    install = given["RUN"][1].replace("/opt/transformer", str(tmp_path)).replace("python3", shlex.quote(sys.executable))
    subprocess.run(["sh", "-euc", install], check=True, capture_output=True)
    assert (tmp_path / "venv/bin/python").exists()
    assert given["ENV"][0].startswith("PATH=/opt/transformer/venv/bin:$PATH ")


def test_pre_commit_runs_what_make_lint_runs():
    recipe = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == [line.strip() for line in recipe.splitlines()[1:]]


def test_the_citation_has_the_version_and_licence_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])


def test_of_the_results_git_knows_the_released_ones_alone():
    names = [
        "results/quick/tables/table2.md",
        "results/site",
        "results/README.md",
        "results/released/quick/tables/x.csv",
    ]
    ignored = subprocess.run(["git", "check-ignore", "--no-index", *names], cwd=ROOT, capture_output=True, text=True)
    assert ignored.stdout.split() == names[:2]


def test_the_badges_of_the_readme_say_what_the_project_declares():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    labels = [re.findall("<text .*>(.*)</text>", path.read_text()) for path in (ROOT / "docs/badges").iterdir()]
    versions = {
        python
        for workflow in (ROOT / ".github/workflows").iterdir()
        for python in re.findall(r"3\.\d+", workflow.read_text())
    }
    lowest, highest = project["requires-python"].removeprefix(">="), max(versions, key=lambda text: int(text[2:]))
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    paper = citation["preferred-citation"]["url"].rpartition("/")[2]
    assert sorted(labels) == [
        ["Python", f"{lowest} to {highest}"],
        ["licence", project["license"]],
        ["paper", f"arXiv {paper}"],
    ]
