"""The numbers of docs/gpu.md and docs/notes/gpu.md beside what an H100 has measured (docs/h100)."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.gpu.report import KINDS
from transformer.experiment.config import read_experiment
from transformer.experiment.cost import DEVICES, step_flops

DOCS = Path(__file__).parents[1] / "docs"
MEASURED = json.loads((DOCS / "h100/results.json").read_text())
STEPS = pd.read_csv(DOCS / "h100/steps.csv")


def cells(page, heading):
    """The cells of the table with this heading: first cell -> the others."""
    table = (DOCS / page).read_text().partition(heading)[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {name: others for name, *others in rows}


@pytest.mark.parametrize("model", ["base", "big", "aop1"])
def test_the_page_has_the_speeds_that_were_measured(model):
    systems = MEASURED[f"training {model}"]["systems"]
    ours, *others = systems.values()
    shown = [f"{ours['ms']:.1f}", f"{round(ours['subwords_per_second'], -3):,.0f}", f"{100 * ours['mfu']:.0f} %"]
    shown += [f"{ours['bytes'] / 1e9:.1f} GB", *(f"{each['ms']:.1f}" for each in others)]
    assert cells("gpu.md", "| model | ms a step |")[model] == shown + [""] * (6 - len(shown))


def test_the_page_has_the_tests_and_the_bleu_that_were_found():
    page, found = " ".join((DOCS / "gpu.md").read_text().split()), MEASURED["multi30k"]
    assert re.match(r"(\d+) passed, [^f]* warnings", MEASURED["tests"]["summary"])[1] == "54"
    assert "all 54 tests marked `gpu` pass" in page
    assert f"all its {found['of']:,} steps in {found['training_seconds']:.0f} s" in page
    assert f"{found['bleu']:.1f} BLEU, {round(found['sentences_per_second'], -1):,.0f} sentences/s" in page


@pytest.mark.parametrize("name", ["base, at first", "base", "big", "aop1", "parser"])
def test_the_notes_sum_the_kernels_that_were_measured(name):
    kernels = STEPS[STEPS.model == {"base, at first": "base, mixed sums"}.get(name, name)]
    kinds = kernels.kernel.map(lambda kernel: next(kind for kind, part in KINDS.items() if re.search(part, kernel)))
    sums = kernels.ms.groupby(kinds).sum()
    table = cells("notes/gpu.md", "| ms per step ")
    column = ["base, estimated", "base, at first", "base", "big", "aop1", "parser"].index(name)
    assert {kind: cells[column] for kind, cells in table.items()} == {
        **{kind: f"{sums[kind]:.1f}" for kind in KINDS},
        "sum": f"{sums.sum():.1f}",
    }


@pytest.mark.parametrize(("model", "width"), [("base", 512), ("big", 1024)])
def test_the_efficiency_of_an_h100_follows_from_the_steps_that_were_measured(model, width):
    seconds = MEASURED[f"training {model}"]["systems"]["ours"]["ms"] / 1000
    run = read_experiment([DOCS.parent / "config/paper.yaml"]).run("ende", model, 1)
    assert DEVICES["H100"].step_seconds(step_flops(run, 37000), width) == pytest.approx(seconds, rel=0.01)
