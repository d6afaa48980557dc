"""Another workflow has this one as a module, as `snakedeploy deploy-workflow` sets it up."""

import shutil
import subprocess

import pytest
from calls import jobs, snakemake

from tests.pages import ROOT

# As snakedeploy writes it.
SNAKEFILE = """
configfile: "config/config.yaml"

module paper:
    snakefile:
        {snakefile}
    config:
        config

use rule * from paper
"""


@pytest.fixture
def deployed(tmp_path):
    """A folder with the config and the profiles of this project; takes the declaration of the module's Snakefile."""

    def deploy(snakefile):
        for name in ("config", "profiles"):
            shutil.copytree(ROOT / name, tmp_path / name)
        (tmp_path / "workflow").mkdir()
        (tmp_path / "workflow/Snakefile").write_text(SNAKEFILE.format(snakefile=snakefile))
        return tmp_path

    return deploy


@pytest.mark.workflow
def test_a_module_from_a_clone_has_all_jobs_and_takes_changes_of_the_copied_config(deployed):
    folder = deployed(f'"{ROOT}/Snakefile"')
    config = folder / "config/config.yaml"
    config.write_text(config.read_text().replace("experiment: quick", "experiment: mine"))
    planned = ("--dry-run", "results/mine/tables/table4.csv", "--set-resources", "its_own_rule:gpu=1")
    assert jobs(snakemake(folder, *planned))["train"] == "2"


@pytest.mark.workflow
def test_the_snakefile_where_the_catalog_looks_has_the_same_jobs(tmp_path):
    files = (ROOT / "Snakefile", ROOT / "workflow/Snakefile")
    own, found = (jobs(snakemake(tmp_path, "--dry-run", "--snakefile", str(path))) for path in files)
    assert found.pop("everything") == own.pop("all") == "1"
    assert own["train"]
    assert found == own


@pytest.mark.workflow
def test_a_module_from_a_repository_is_refused_in_a_line(deployed, tmp_path, copy_project):
    (repository := tmp_path / "repository").mkdir()
    copy_project(repository)
    for command in ("init -q", "add -A", "-c user.name=a -c user.email=a@b commit -qm all", "tag v1"):
        subprocess.run(["git", *command.split()], cwd=repository, check=True)
    run = snakemake(deployed(f'gitfile("{repository}", path="Snakefile", tag="v1")'), "--dry-run", status=1)
    assert "is not a folder; clone the repository" in run.stdout + run.stderr
