"""docs/own-idea.md: its overlays can be tried, its diffs apply and run, and its numbers are those of the code."""

import re
import shutil
import textwrap

import pytest

from tests.pages import ROOT, follow, run, sections
from tests.released_tables import rows_of
from transformer.model.parameters import parameters
from workflow.experiment.config import read_experiment, read_sources
from workflow.experiment.cost import step_flops
from workflow.experiment.trial import archives, check_trial

PAGE = (ROOT / "docs/own-idea.md").read_text()
SMALL = ROOT / "config/small.yaml"
STEPS = sections("docs/own-idea.md", "An idea that needs code")
NUMBERS = re.findall(r"^\| ([\w-]+) \| ([\d,]+) \| ([\d.e+]+) \| ", PAGE, re.MULTILINE)
# Prints what the table has of the base and the row of an overlay.
COUNT = textwrap.dedent("""
    import sys
    from pathlib import Path
    from workflow.experiment.config import read_experiment
    from workflow.experiment.cost import step_flops
    from transformer.model.parameters import parameters

    experiment = read_experiment([Path("config/small.yaml"), Path(sys.argv[1])])
    run = experiment.run("ende", experiment.trial.row, 1)
    print(f"{parameters(run.architecture, 3000):,} {step_flops(run, 3000):.2e}")
""")


def test_the_overlays_of_the_page_can_be_tried(tmp_path):
    overlays = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert len(overlays) == 5
    for number, text in enumerate(overlays):
        path = tmp_path / f"{number}.yaml"
        path.write_text(text)
        check_trial(read_experiment([SMALL, path]), read_sources([SMALL, path]), archives())


def test_the_page_has_the_numbers_of_base_and_every_example():
    run = read_experiment([SMALL]).run("ende", "base", 1)
    assert NUMBERS[0] == ("base", f"{parameters(run.architecture, 3000):,}", f"{step_flops(run, 3000):.2e}")
    assert [name for name, *_ in NUMBERS[1:]] == list(STEPS) == ["SwiGLU", "Pre-norm", "RMSNorm"]
    assert all({kind for kind, _ in steps} == {"diff", "sh"} for steps in STEPS.values())


@pytest.mark.parametrize("name", STEPS)
def test_the_verdict_of_an_idea_is_that_of_its_released_trial(name):
    row = {"SwiGLU": "swiglu", "Pre-norm": "pre-norm", "RMSNorm": "rms-norm"}[name]
    table = {each["Measure"]: each for each in rows_of(f"trial-{row}/trial")}
    cells = [
        f"{table[measure]['In favour, mean']} ({table[measure]['In favour, interval']})"
        for measure in ("perplexity", "BLEU")
    ]
    verdict = f"{table['perplexity']['Verdict']} in perplexity, {table['BLEU']['Verdict']} in BLEU"
    time = table["milliseconds of a step"]
    cells += [
        f"{time['More, mean']} ({time['More, interval']})",
        f"[{verdict}](../results/released/trial-{row}/tables/trial.md)",
    ]
    assert re.search(rf"^\| {name} \| .*?\| {re.escape(' | '.join(cells))} \|$", PAGE, re.MULTILINE)


@pytest.mark.workflow
@pytest.mark.parametrize("name", STEPS)
def test_an_idea_that_needs_code_applies_and_runs(name, tmp_path, copy_project):
    copy_project(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "results/released/small").mkdir(parents=True)
    shutil.copy(ROOT / "results/released/small/scores.tar.gz", tmp_path / "results/released/small")
    printed = follow(STEPS[name], tmp_path)
    overlay = re.findall(r"[\w-]+\.yaml$", STEPS[name][-1][1], re.MULTILINE)[-1]
    assert "[100%]" in printed
    assert re.search(r"^train +6$", printed, re.MULTILINE)
    [numbers] = [numbers for row, *numbers in NUMBERS if row == name]
    assert run(["python", "-c", COUNT, overlay], tmp_path).split() == numbers
