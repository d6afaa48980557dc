"""The released tables, made again from the released scores: to the byte."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import read_experiment
from workflow.results.selection import Selection

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["quick", "quick-captions", "small", "replication"])
def test_tables_that_are_made_from_released_scores_are_the_released_ones(name, tmp_path, monkeypatch):
    subprocess.run(["tar", "-xf", ROOT / f"docs/{name}/scores.tar.gz"], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    overlay, released = ROOT / f"config/{name}.yaml", ROOT / f"docs/{name}/tables"
    experiment = read_experiment([overlay] if overlay.exists() else [])
    found = Selection(experiment, Runs(experiment, Paths.of(experiment)), ROOT / "config/published.yaml")
    tables = [(result, plan) for _, result, plan in found.planned if result.target == "tables"]
    for table, plan in tables:
        compared = [path for path in plan.input.get("comparisons", ()) if Path(path).exists()]
        job = SimpleNamespace(
            input=SimpleNamespace(**{**plan.input, "comparisons": compared}),
            params=SimpleNamespace(**table.params(plan)),
            output={kind: [f"{table.name}.{kind}"] for kind in ("csv", "md", "html", "tex")},
        )
        table.make(job)
        assert Path(f"{table.name}.csv").read_bytes() == (released / f"{table.name}.csv").read_bytes()
    assert {table.name for table, _ in tables} == {path.stem for path in released.glob("*.csv")}
