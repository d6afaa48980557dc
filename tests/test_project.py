"""Files that describe the project to tools agree with each other."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from tests.pages import ROOT


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


def test_the_container_installs_the_pinned_versions_into_the_environment_that_it_uses():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    given = {word: [value for name, value in steps if name == word] for word, _ in steps}
    assert given["FROM"] == ["docker.io/library/debian:12-slim"]
    *names, folder = given["COPY"][0].split()
    environment = "/opt/transformer/venv"
    install = f"{environment}/bin/python -m pip install --no-cache-dir --requirement"
    assert [" ".join(command.split()) for command in given["RUN"][1].split("&&")] == [
        f"python3 -m venv {environment}",
        *(f"{install} {folder}{name}" for name in names),
    ]
    assert given["ENV"][0].startswith(f"PATH={environment}/bin:$PATH ")


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
