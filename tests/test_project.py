"""Files that describe the project to tools agree with each other."""

import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_pre_commit_runs_what_make_lint_runs():
    recipe = (ROOT / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    [repository] = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [hook["entry"] for hook in repository["hooks"]] == [line.strip() for line in recipe.splitlines()[1:]]


def test_the_citation_has_the_version_and_licence_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
