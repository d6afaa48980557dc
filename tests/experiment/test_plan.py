import re
import resource
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer.experiment.config import Experiment, read_experiment
from transformer.experiment.cost import DEVICES, PAPER, cost, parameters, request, si, step_flops
from transformer.experiment.plan import downloads, plan, sentences
from transformer.support.strict import load, read_yaml
from transformer.text.tokens import Pairs, pack, write_pairs
from transformer.training.loop import Trainer

CONFIG = Path(__file__).parents[2] / "config"
MODELS = read_yaml(CONFIG / "models.yaml")["models"]
PUBLISHED = read_yaml(CONFIG / "published.yaml")
MILLIONS = {
    row["model"]: row["params"]
    for row in PUBLISHED["table3"] + PUBLISHED["appendix"]
    if "params" in row and row["model"] != "big"  # 218, by the formula that gives all others
}
HOURS = {row["model"]: row["hours"] for row in PUBLISHED["appendix"]} | {"big": 3.5 * 24}
HASH = "0" * 64
DECODING = {"beam": 4, "alpha": 0.6, "extra": 50}
SIZES = {"train": 100, "dev": 9, "test": 9, "plain": 1000}


def texts(*locations):
    return [{"en": location, "de": f"{location}.de", "fr": f"{location}.fr"} for location in locations]


def task(corpus, *models, target="de", vocabulary=37000):
    translation = {"kind": "translation", "corpus": corpus, "source": "en", "target": target}
    return translation | {"vocabulary": vocabulary, "decoding": DECODING, "models": models}


def experiment(**changes):
    trees = {"origin": "grammar", "description": "", "licence": "", "sentences": SIZES, "words": [3, 9], "seed": 1}
    more = {
        "origin": "self-training",
        "description": "",
        "licence": "",
        "gold": "wsj",
        "parser": "parser",
        "copies": 2,
        "keep": 1,
    }
    values = {
        "experiment": "paper",
        "results": "results",
        "mirror": None,
        "packages": None,
        "notes": [],
        "seeds": [1],
        "scale": {"width": 1, "depth": 1},
        "subwords": {"pairs": 9, "seed": 1},
        "table3_average": 1,
        "figures": {"task": "ende", "model": "base"},
        "tasks": {
            "ende": task("wmt", "base", "big"),
            "enfr": task("wmt", "base", target="fr"),
            "wsj": task("trees", "parser"),
            "semi": task("more", "parser"),
            "none": task("unused"),
        },
        "models": MODELS,
        "corpora": {
            "wmt": {
                "origin": "files",
                "train": [
                    {"en": "http://a/news.tgz/en", "de": "http://a/news.tgz/de", "fr": "http://a/french.tar/fr.gz"},
                    {"en": "own.en", "de": "own.tsv#1", "fr": "own.tsv#2"},
                ],
                "dev": [dict.fromkeys(("en", "de", "fr"), "http://a/dev.tsv.gz#2")],
                "test": [dict.fromkeys(("en", "de", "fr"), "http://a/dev.tsv.gz#3")],
                "pairs": 4_520_620,
            },
            "unused": {"origin": "files", **dict.fromkeys(("train", "dev", "test"), texts("http://a/unused"))},
            "trees": trees,
            "more": more,
        },
        "downloads": {
            f"http://a/{name}": {"bytes": size, "sha256": HASH}
            for name, size in {"news.tgz": 3000, "french.tar": 500, "dev.tsv.gz": 20, "unused": 1, "news": 7}.items()
        },
    }
    return load(Experiment, values | changes, "config")


def cells(text):
    """The rows of all tables, by their first two cells, each a list of its other cells."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    return {tuple(row[:2]): row[2:] for row in rows}


def run(model, **changes):
    return experiment(**changes).run("ende", model, 1)


@pytest.mark.parametrize("model", MILLIONS)
def test_a_row_has_as_many_parameters_as_the_paper_prints(model):
    assert round(parameters(run(model).architecture, 40960) / 1e6) == MILLIONS[model]


@pytest.mark.parametrize(("model", "width"), [("base", 512), ("big", 1024)])
def test_the_paper_s_efficiency_is_its_step_time_s(model, width):
    seconds = {"base": 0.4, "big": 1.0}[model]
    flops = step_flops(run(model), 37000)
    assert PAPER[width] * 8 * 10.6e12 * seconds == pytest.approx(flops, rel=0.02)


@pytest.mark.parametrize("model", ["base", "big"])
def test_the_paper_s_hours_come_out(model):
    assert cost(run(model), 37000, 1, [DEVICES["8xP100"]]).hours == pytest.approx((HOURS[model],), rel=0.1)


@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES)
def test_efficiency_grows_with_width_between_the_widths_given_and_is_theirs_beyond(device):
    least, most = min(device.efficiency), max(device.efficiency)
    device = replace(device, peak=1e9)  # a CPU's is measured
    full = device.count * device.peak
    assert device.flops(least // 2) == device.flops(least) == pytest.approx(device.efficiency[least] * full)
    assert device.flops(2 * most) == device.flops(most) == pytest.approx(device.efficiency[most] * full)
    assert device.flops(512) < device.flops(724) < device.flops(1024)
    assert device.flops(724) == pytest.approx((device.flops(512) + device.flops(1024)) / 2, rel=1e-3)


def test_efficiency_is_that_of_the_scaled_width():
    for width, share in ((1, 0.33), ("1/2", 0.22)):
        one = run("big", scale={"width": width, "depth": 1})
        seconds = one.training.steps * step_flops(one, 99) / (312e12 * share)
        assert cost(one, 99, 1, [DEVICES["A100"]]).hours == pytest.approx((seconds / 3600,))


def test_shorter_sentences_cost_less_attention():
    base = run("base")
    short = replace(base, training=replace(base.training, longest_pair=7))
    assert step_flops(short, 99) < step_flops(base, 99)


def test_a_run_s_files_are_as_large_as_planned(run_config, encoded, tmp_path):
    config = run_config(d_model=64, d_ff=256)
    planned = cost(config, 40, 1, [])
    Trainer(config, 40, encoded("train"), encoded("dev"), tmp_path, torch.device("cpu")).train(save_seconds=0)
    checkpoints = sum(path.stat().st_size for path in tmp_path.glob("step-*"))
    states = sum((tmp_path / f"{name}.safetensors").stat().st_size for name in ("state", "previous"))
    assert planned.disk == pytest.approx(checkpoints * 5 / 3, rel=0.05)  # three checkpoints, two packages
    assert states == pytest.approx(24 * planned.parameters, rel=0.05)


def rise_of_memory(config, vocabulary, prefix, folder, result):
    """How much more memory two steps take at most, in bytes."""
    torch.set_num_threads(1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pairs = Pairs(prefix)
    trainer = Trainer(config, vocabulary, pairs, pairs, folder, torch.device("cpu"))
    for _, _, batches in islice(trainer.batches.from_position(0, 0), 2):
        trainer.step(batches)
    result.value = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)


def test_a_run_takes_as_much_memory_as_planned(run_config, tmp_path, forkserver):
    vocabulary, longest = 8000, 32
    config = run_config(
        N=2,
        d_model=256,
        d_ff=1024,
        h=8,
        d_k=32,
        d_v=32,
        batch_tokens=2048,
        micro_batch_tokens=2048,
        longest_pair=longest,
    )
    sentences = [[3 + i] * longest for i in range(100)]
    write_pairs(tmp_path / "train", [pack(sentences, sentences, vocabulary)], vocabulary)
    taken = forkserver.Value("q")
    process = forkserver.Process(
        target=rise_of_memory, args=(config, vocabulary, tmp_path / "train", tmp_path / "state", taken)
    )
    process.start()
    process.join()
    assert taken.value == pytest.approx(cost(config, vocabulary, 1, []).memory, rel=0.33)


def test_larger_models_ask_for_longer_jobs_with_more_memory():
    asked = [request(run(model), 37000) for model in ("base", "big")]
    for model, job in zip(("base", "big"), asked, strict=True):
        planned = cost(run(model), 37000, 1, [DEVICES["A100"]])
        assert job.minutes > 60 * planned.hours[0]
        assert job.megabytes > planned.memory / 1e6
    assert asked[1].minutes > asked[0].minutes
    assert asked[1].megabytes > asked[0].megabytes
    row = cells(plan(experiment()))["ende", "big"]
    assert row[-2:] == [f"{asked[1].minutes:,}", f"{asked[1].megabytes:,}"]


def test_smaller_micro_batches_take_less_memory():
    base = run("base")
    half = replace(base, training=replace(base.training, micro_batch_tokens=12500))
    whole, less = (cost(one, 37000, 1, []).memory - 16 * parameters(one.architecture, 37000) for one in (base, half))
    assert less == pytest.approx(whole / 2, rel=0.05)


def test_the_total_is_of_all_tasks_models_and_seeds():
    rows = cells(plan(experiment(seeds=[1, 2])))
    hours = [float(rows[key][6]) for key in (("ende", "base"), ("ende", "big"), ("enfr", "base"))]
    parsers = [float(rows[key, "parser"][6]) for key in ("wsj", "semi")]
    assert rows["all", "10 runs"][5] == rows["ende", "big"][5]
    assert float(rows["all", "10 runs"][6]) == pytest.approx(2 * sum(hours + parsers), abs=0.1)
    assert rows["all", "10 runs"][3] == si(2 * (4 * 5e9 + 15e9))
    assert ("none", "") not in rows


def test_all_rows_of_a_table_are_as_wide():
    for table in re.split(r"\*\*Data|\*\*The whole", plan(experiment())):
        assert len({len(line) for line in table.splitlines() if line.startswith("|")}) == 1


def test_the_devices_and_what_is_assumed_stand_below():
    text = plan(experiment())
    assert "| 8xP100 | 8 x 10.6 TFLOP/s, float32" in text
    assert "- 8xP100 reaches 28 % at d_model 512, 38 % at d_model 1024 (the paper's step times" in text
    assert "20 % at d_model 512, 30 % at d_model 1024 (assumed, not measured" in text


def test_the_peak_of_this_cpu_is_measured(monkeypatch):
    monkeypatch.setattr("transformer.experiment.plan.faster_precision", lambda _: "bfloat16")
    monkeypatch.setattr("transformer.experiment.plan.sustained_flops", lambda _, dtype: {torch.bfloat16: 2.5e11}[dtype])
    assert "1 x 250 GFLOP/s, bfloat16" in plan(experiment())


def test_the_whole_is_all_runs_on_all_processors_and_the_disk_of_all():
    one = experiment(seeds=[1, 2])
    printed = plan(one)
    rows, whole = cells(printed.split("**Data**")[0]), cells(printed.partition("**The whole")[2])
    for column, (name, device) in enumerate(DEVICES.items(), 6):
        hours, processors, longest = (
            float(cell.replace(",", "")) for key, row in whole.items() if key[0] == name for cell in row
        )
        if name != "cpu":
            assert hours == float(rows["all", "10 runs"][column])
            assert processors == pytest.approx(device.count * hours, abs=0.05)
            assert longest == float(rows["ende", "big"][column])
    data, pairs = cells(printed)["all", ""], 4_520_620 * 2 + 100 + 1200
    assert data == ["3.52 kB", f"{pairs:,}", si(pairs * 280, "B"), si(pairs * 132, "B")]
    state = si(24 * cost(one.run("ende", "big", 1), 37000, 1, []).parameters, "B")
    packages = rows["all", "10 runs"][4]
    assert f"{packages} of checkpoints and packages, 3.52 kB of downloads, {data[2]} of text" in printed
    assert f"{state} of the largest run's state while it trains" in printed


def test_the_page_of_costs_is_what_plan_prints():
    def squeezed(text):
        return [re.sub("-+", "-", re.sub(" +", " ", line)) for line in text.splitlines() if line[:1] in ("|", "-")]

    printed = plan(read_experiment([CONFIG / "paper.yaml"])).partition("**The whole")[2]
    page = (CONFIG.parent / "docs/cost.md").read_text()
    assert squeezed(page) == [line for line in squeezed(printed) if not re.match("(- |\\| )cpu ", line)]


def test_downloads_are_those_of_the_task_s_languages():
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


def test_text_that_is_only_parsed_counts_in_the_total():
    one = read_experiment([CONFIG / "wsj-cpu.yaml"])
    trees, parsed = (sum(downloads(one, task).values()) for task in ("wsj", "ende"))
    rows = cells(plan(one))
    assert ("ende", "multi30k") not in rows
    assert rows["wsj", "wsj-sample"][0] == si(trees, "B")
    assert rows["all", ""][0] == si(trees + parsed, "B") != si(trees, "B")


def test_gold_trees_count_as_often_as_they_stand_in_the_corpus():
    one = experiment()
    assert sentences(one, one.corpora["trees"]) == (100, 1000)
    assert sentences(one, one.corpora["more"]) == (1200, 0)


def test_a_treebank_is_planned_as_its_sentences_and_its_archive():
    parts = {"train": [1, 1], "dev": [2, 2], "test": [3, 3], "sentences": {"train": 50}}
    plain = {"task": "ende", "sentences": 70, "words": [3, 9], "seed": 1}
    trees = {"origin": "treebank", "description": "", "licence": "", "trees": "http://a/news.tgz/wsj", "plain": plain}
    more = {
        "origin": "self-training",
        "description": "",
        "licence": "",
        "gold": "ende",
        "parser": "base",
        "copies": 2,
        "keep": 1,
    }
    tasks = {"ende": task("trees", "base"), "semi": task("more", "base")}
    one = experiment(corpora={"trees": trees | parts, "more": more}, tasks=tasks)
    assert [sentences(one, corpus) for corpus in one.corpora.values()] == [(50, 70), (170, 0)]
    assert downloads(one, "ende") == {"http://a/news.tgz": 3000}
    many = experiment(corpora={"trees": trees | parts | {"constituents": [2, 9]}, "more": more}, tasks=tasks)
    assert [sentences(many, corpus) for corpus in many.corpora.values()] == [(None, 70), (None, 0)]


def test_pairs_that_nobody_declared_are_unknown():
    corpora = read_yaml(CONFIG / "corpora.yaml")["corpora"]
    tasks = {"ende": task("libreoffice-help", "base"), "wsj": task("generated-english", "parser")}
    rows = cells(plan(experiment(tasks=tasks, corpora=corpora)))
    assert rows["ende", "libreoffice-help"] == ["", "unknown until fetched", "", ""]
    assert rows["all", ""][1:] == rows["wsj", "generated-english"][1:] == ["4,000", "1.12 MB", "528 kB"]


@given(st.floats(1, 9e20))
def test_a_prefix_leaves_three_figures(value):
    figures, _, unit = si(value, "B").partition(" ")
    assert 1 <= float(figures) < 1000
    assert float(figures) * 1000.0 ** " kMGTPE".index(unit[:-1] or " ") == pytest.approx(value, rel=0.005)
