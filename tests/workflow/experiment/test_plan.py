import re

import pytest
import yaml

from tests.pages import ROOT
from workflow.experiment.config import read_experiment
from workflow.experiment.cost import si
from workflow.experiment.plan import downloads, plan

CONFIG = ROOT / "config"


def cells(text):
    """The rows of all tables: their first two cells -> a list of the other cells."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {tuple(row[:2]): row[2:] for row in rows}


@pytest.fixture
def printed(tmp_path):
    """The plan of the paper's base and big from English to German, with an overlay."""

    def made(**overlay):
        models = {"only": ["ende"], "tasks": {"ende": {"models": ["base", "big"]}}}
        (tmp_path / "overlay.yaml").write_text(yaml.safe_dump(models | overlay))
        return plan(read_experiment([CONFIG / "paper.yaml", tmp_path / "overlay.yaml"]))

    return made


@pytest.fixture
def planned(printed):
    return lambda **overlay: cells(printed(**overlay))


def test_seeds_that_a_claim_adds_count_for_its_rows(planned):
    mine = {"claim": "mine", "section": "own", "metric": "bleu", "part": "dev", "rows": ["ende/base", "ende/big"]}
    mine |= {"differ": ["steps"], "further_seeds": [3, 4, 5]}
    rows = planned(seeds=[1, 2], claims={"mine": mine})
    hours = {name: float(rows["ende", name][7]) for name in ("base", "big")}
    without = planned(seeds=[1, 2])["all", "4 runs"]
    assert float(rows["all", "10 runs"][7]) == pytest.approx(float(without[7]) + 3 * sum(hours.values()), abs=0.1)
    assert rows["ende", "dev, test"][0] == "60,000"  # two models, five seeds, two parts of 3,000


@pytest.mark.parametrize(
    ("width", "able", "precision"),
    [(1, "bfloat16", "bfloat16"), (1, "float32", "float32"), ("1/16", "bfloat16", "float32")],
)
def test_the_hours_of_this_cpu_are_those_of_the_runs_precision(monkeypatch, printed, width, able, precision):
    for name, value in {"cpu_precision": able, "core_flops": 1e11, "cores": 3}.items():
        monkeypatch.setattr(f"workflow.experiment.plan.{name}", lambda value=value: value)
    text = printed(scale={"width": width, "depth": 1})
    assert "3 x 100 GFLOP/s" in text
    assert f"training in {precision}" in text


def squeezed(text):
    """The lines of tables and notes without padding, except those about `cpu`."""
    lines = [re.sub("-+", "-", re.sub(" +", " ", line)) for line in text.splitlines() if line[:1] in ("|", "-")]
    return [line for line in lines if not re.match(r"(- |\| )cpu ", line)]


def columns(lines, names=None):
    """The columns of a table, or those that have these names."""
    tables = [line.split("|")[1:-1] for line in lines if line.startswith("|")]
    chosen = [place for place, name in enumerate(tables[0]) if not names or name.strip() in names]
    return [[cells[place].strip() for place in chosen] for cells in tables]


def page_of_costs(section):
    page = (CONFIG.parent / "docs/cost.md").read_text()
    return squeezed(page.partition(f"\n## {section}\n")[2].partition("\n## ")[0])


@pytest.mark.parametrize(
    ("section", "overlays", "left_out"),
    [
        ("The whole experiment", ["paper"], "nothing"),
        ("The first stage", ["paper", "paper-base"], "- (Hours|8xP100|A100|H100|H200|8xH100)"),  # they are above
    ],
)
def test_the_page_of_costs_has_the_first_table_of_plan(section, overlays, left_out):
    printed = plan(read_experiment([CONFIG / f"{name}.yaml" for name in overlays])).partition("**Runs")[0]
    assert page_of_costs(section) == [line for line in squeezed(printed) if not re.match(left_out, line)]


def test_the_page_of_costs_has_the_cost_of_each_run_as_plan_prints_it():
    printed = squeezed(plan(read_experiment([CONFIG / "paper.yaml"])).partition("**Runs")[2].partition("**Decoding")[0])
    page = page_of_costs("Each run")
    [names, *_] = table = columns(page)
    assert {"Model", "Memory, float32", "Memory, bfloat16", "Disk", "Hours, A100", "Job, MB"} <= {*names}
    assert table == columns(printed, names)
    notes = [line for line in page if line.startswith("-")]
    assert notes == [line for line in printed if line.startswith(("- Disk", "- Memory", "- Hours", "- Job"))]


def test_the_searches_of_the_table_decoding_are_counted(planned):
    rows = planned(seeds=[1, 2], searches={"beams": [1, 4], "alphas": [0, 0.6]})
    assert rows["ende", "dev, searched"][0] == "18,000"  # beam 1, beam 4 with two alphas; two seeds, 3,000 sentences
    assert ("ende", "dev, searched") not in planned(searches=None)


def test_downloads_are_those_of_the_task_s_languages_and_a_shared_one_counts_once_in_the_total():
    paper = read_experiment([CONFIG / "paper.yaml"])
    german, french = (downloads(paper, task) for task in ("ende", "enfr"))
    assert {*german} < {*french}
    rows = cells(plan(paper))
    assert [rows["ende", "wmt14-en-de"][0], rows["enfr", "wmt14-en-fr"][0], rows["all", ""][0]] == [
        si(sum(each.values()), "B") for each in (german, french, german | french)
    ]
