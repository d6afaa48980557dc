"""Files that describe the project to tools agree with each other."""

import re
import subprocess
import sys
import tomllib

import yaml

from tests.pages import ROOT


def test_conda_and_pip_users_get_the_same_versions():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["dependencies"][-1]["pip"] == pins
    assert all("==" in pin for pin in pins)


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


def test_no_module_needs_an_extra_of_pyproject_toml_before_it_is_used():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lacking = {re.split("[<>=]", name)[0].replace("-", "_") for key in extras.keys() - {"dev"} for name in extras[key]}
    assert {"ctranslate2", "transformers", "x_transformers", "tensorboard"} < lacking
    parts = ("dag", "cli", "experiment", "results")
    folders = ("transformer", *(f"workflow/{part}" for part in parts), "benchmarks")
    files = [file.relative_to(ROOT) for folder in folders for file in (ROOT / folder).rglob("*.py")]
    names = [".".join(file.with_suffix("").parts) for file in files if file.stem != "__main__"]
    assert len(names) > 100
    command, given = [sys.executable, "-c", IMPORT], repr((lacking, names))
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_installs_the_pinned_versions_into_the_environment_that_it_uses():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", "")
    steps = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    given = {word: [value for name, value in steps if name == word] for word, _ in steps}
    assert given["FROM"] == ["docker.io/library/debian:12-slim"]
    assert given["COPY"] == ["requirements.txt /opt/transformer/requirements.txt"]
    environment = "/opt/transformer/venv"
    assert [" ".join(command.split()) for command in given["RUN"][1].split("&&")] == [
        f"python3 -m venv {environment}",
        f"{environment}/bin/python -m pip install --no-cache-dir --requirement /opt/transformer/requirements.txt",
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
