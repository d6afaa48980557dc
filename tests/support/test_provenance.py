import platform
import shutil
import subprocess
from importlib.metadata import version

import pytest
import torch

from transformer.support import provenance
from transformer.support.provenance import commit, software


@pytest.fixture
def work_tree(tmp_path):
    """A repository with one commit: its folder and the commit's SHA-1."""

    def git(*arguments):
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        return subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True)

    git("init")
    (tmp_path / "file").write_text("one")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/README.md").touch()
    git("add", "file", "results")
    git("commit", "--message", "one")
    git("tag", "v1")
    return tmp_path, git("rev-parse", "HEAD").stdout.strip()


def test_a_work_tree_is_named_by_its_commit_and_dirty_if_a_tracked_file_has_changed(work_tree):
    folder, head = work_tree
    assert len(head) == 40
    (folder / "untracked").touch()
    shutil.rmtree(folder / "results")  # or another folder is mounted there
    assert commit(folder) == head
    (folder / "file").write_text("two")
    assert commit(folder) == f"{head}-dirty"


def test_without_git_and_in_an_archive_inside_another_repository_it_is_unknown(work_tree, monkeypatch):
    folder, _ = work_tree
    (folder / "archive").mkdir()
    assert commit(folder / "archive") == "unknown"
    monkeypatch.setenv("PATH", str(folder))
    assert commit(folder) == "unknown"


def test_versions_are_those_in_use_and_packages_that_are_not_installed_are_left_out(monkeypatch):
    monkeypatch.setattr(provenance, "PACKAGES", ("sacrebleu", "no-such-package"))
    versions = software()
    assert list(versions) == ["commit", "python", "torch", "sacrebleu"]
    assert versions["python"] == platform.python_version()
    assert versions["torch"] == torch.__version__
    assert versions["sacrebleu"] == version("sacrebleu")
