"""Test the comparison of two commits, benchmarks/commits.py. Fakes replace git and Snakemake."""

import os
from pathlib import Path

from benchmarks.commits import Commit

ROOT = Path(__file__).parents[1]


def test_gpus_are_hidden_because_cpu_seconds_are_compared(tmp_path, monkeypatch):
    for name, script in {"git": f"tar --create --directory {ROOT} config", "snakemake": "env > given"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    commit = Commit("HEAD", tmp_path / "commit", [], "ende", "base")
    assert "CUDA_VISIBLE_DEVICES=" in (commit.folder / "given").read_text().splitlines()
