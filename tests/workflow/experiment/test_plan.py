import re

import pytest
from planned import CONFIG, experiment, run

from workflow.experiment.config import read_experiment
from workflow.experiment.cost import DEVICES, cost, request, si
from workflow.experiment.plan import downloads, plan


def cells(text):
    """The rows of all tables: their first two cells -> a list of the other cells."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {tuple(row[:2]): row[2:] for row in rows}


def test_a_row_ends_with_the_request_of_its_job():
    asked = request(run("big"), 37000, DEVICES["A100"])
    row = cells(plan(experiment()))["ende", "big"]
    assert row[-2:] == [f"{asked.minutes:,}", f"{asked.megabytes:,}"]


def test_seeds_that_a_claim_adds_count_for_its_rows():
    mine = {"claim": "mine", "section": "own", "metric": "bleu", "part": "dev", "rows": ["ende/base", "ende/big"]}
    mine |= {"differ": ["steps"], "further_seeds": [3, 4, 5]}
    rows = cells(plan(experiment(seeds=[1, 2], claims={"mine": mine})))
    hours = {name: float(rows["ende", name][7]) for name in ("base", "big")}
    without = cells(plan(experiment(seeds=[1, 2])))["all", "10 runs"]
    assert float(rows["all", "16 runs"][7]) == pytest.approx(float(without[7]) + 3 * sum(hours.values()), abs=0.1)
    assert rows["ende", "dev, test"][0] == "60,000"  # two models, five seeds, two parts of 3,000


def test_the_total_sums_all_tasks_models_and_seeds():
    rows = cells(plan(experiment(seeds=[1, 2])))
    hours = [float(rows[key][7]) for key in (("ende", "base"), ("ende", "big"), ("enfr", "base"))]
    parsers = [float(rows[key, "parser"][7]) for key in ("wsj", "semi")]
    assert rows["all", "10 runs"][5:7] == rows["ende", "big"][5:7]
    assert float(rows["all", "10 runs"][7]) == pytest.approx(2 * sum(hours + parsers), abs=0.1)
    assert rows["all", "10 runs"][3] == si(2 * (4 * 5e9 + 15e9))
    assert ("none", "") not in rows


def test_notes_list_the_devices_and_the_assumptions():
    text = re.sub(" +", " ", plan(experiment()))
    assert "| 8xP100 | 8 x 10.6 TFLOP/s, float32" in text
    assert "- 8xP100 reaches 28 % at d_model 512, 38 % at d_model 1024 (the paper's step times" in text
    assert "- H100 reaches 28 % at d_model 512, 42 % at d_model 1024 (measured with this code" in text


@pytest.mark.parametrize(
    ("width", "able", "precision"),
    [(1, "bfloat16", "bfloat16"), (1, "float32", "float32"), ("1/16", "bfloat16", "float32")],
)
def test_the_hours_of_this_cpu_are_those_of_the_runs_precision(monkeypatch, width, able, precision):
    for name, value in {"cpu_precision": able, "core_flops": 1e11, "cores": 3}.items():
        monkeypatch.setattr(f"workflow.experiment.plan.{name}", lambda value=value: value)
    printed = plan(experiment(scale={"width": width, "depth": 1}))
    assert "3 x 100 GFLOP/s" in printed
    assert f"training in {precision}" in printed


def test_the_first_table_sums_hours_processors_and_disk():
    one = experiment(seeds=[1, 2])
    printed = plan(one)
    rows, whole = cells(printed.split("**Data**")[0]), cells(printed.partition("**Runs")[0])
    for column, (name, device) in enumerate(DEVICES.items(), 7):
        hours, decoding, processors, longest = (
            float(cell.replace(",", "")) for key, row in whole.items() if key[0] == name for cell in row
        )
        if name != "cpu":
            assert hours == pytest.approx(float(rows["all", "10 runs"][column]) + decoding, abs=0.015)
            parts = [float(row[column - 5]) for key, row in rows.items() if key[1] in ("dev, test", "plain sentences")]
            assert len(parts) == 5
            assert decoding == pytest.approx(sum(parts), abs=0.01)
            assert processors == pytest.approx(device.count * hours, abs=0.05)
            assert longest == float(rows["ende", "big"][column])
    data, pairs = cells(printed)["all", ""], 4_520_620 * 2 + 100 + 1200
    assert data == ["3.52 kB", f"{pairs:,}", si(pairs * 280, "B"), si(pairs * 132, "B")]
    state = si(24 * cost(one.run("ende", "big", 1), 37000, 1, []).parameters, "B")
    packages = rows["all", "10 runs"][4]
    assert f"{packages} of checkpoints and packages, 3.52 kB of downloads, {data[2]} of text" in printed
    assert f"{state} of the largest run's state while it trains" in printed


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


def test_all_runs_decode_dev_and_test_and_one_parser_decodes_plain_sentences():
    rows = cells(plan(experiment(seeds=[1, 2])))
    assert rows["ende", "dev, test"][0] == "24,000"  # two models, two seeds, two parts of 3,000
    assert rows["wsj", "dev, test"][0] == "12,000"
    assert rows["wsj", "plain sentences"][0] == "1,000"
    assert not {("none", "dev, test"), ("semi", "plain sentences"), ("ende", "plain sentences")} & rows.keys()


def test_the_searches_of_the_table_decoding_are_counted():
    rows = cells(plan(experiment(seeds=[1, 2], searches={"beams": [1, 4], "alphas": [0, 0.6]})))
    assert rows["ende", "dev, searched"][0] == "18,000"  # beam 1, beam 4 with two alphas; two seeds, 3,000 sentences
    assert ("ende", "dev, searched") not in cells(plan(experiment()))


def test_downloads_are_limited_to_the_task_s_languages():
    assert downloads(experiment(), "ende") == {"http://a/news.tgz": 3000, "http://a/dev.tsv.gz": 20}
    assert downloads(experiment(), "enfr") == {
        "http://a/news.tgz": 3000,
        "http://a/french.tar": 500,
        "http://a/dev.tsv.gz": 20,
    }
    assert downloads(experiment(), "semi") == {}


def test_a_shared_download_counts_once_in_the_total():
    rows = cells(plan(experiment()))
    assert [rows[key][0] for key in (("ende", "wmt"), ("enfr", "wmt"), ("all", ""))] == [
        "3.02 kB",
        "3.52 kB",
        "3.52 kB",
    ]
