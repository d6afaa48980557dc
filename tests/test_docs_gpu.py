"""The numbers of docs/gpu.md and docs/notes/gpu.md beside what an H100 has measured (docs/h100)."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import torch

from benchmarks.gpu.report import KINDS, kind_of
from transformer.decoding.translate import padded_subwords
from transformer.experiment.config import read_experiment
from transformer.experiment.cost import DEVICES, cost, step_flops
from transformer.package.config import SECTION_6_1

DOCS = Path(__file__).parents[1] / "docs"
MEASURED = json.loads((DOCS / "h100/results.json").read_text())
LATER = json.loads((DOCS / "h100/later.json").read_text())
LATEST = LATER["call 3"] | {name: LATER["call 4"][name] for name in ("training aop1", "decoding")}
STEPS = pd.read_csv(DOCS / "h100/steps.csv")
OTHERS = pd.read_csv(DOCS / "h100/others.csv")


def cells(page, heading):
    """The cells of the table with this heading: first cell -> the others."""
    table = (DOCS / page).read_text().partition(heading)[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {name: others for name, *others in rows}


@pytest.mark.parametrize("model", ["base", "big", "aop1"])
def test_the_page_has_the_speeds_that_were_measured(model):
    ours = LATEST[f"training {model}"]["systems"]["ours"]
    _, *others = MEASURED[f"training {model}"]["systems"].values()
    speeds = [f"{round(each['subwords_per_second'], -3):,.0f}" for each in (ours, *others)]
    shown = [f"{ours['ms']:.1f}", f"{100 * ours['mfu']:.0f} %", f"{ours['bytes'] / 1e9:.1f} GB", *speeds]
    assert cells("gpu.md", "| model | ms a step |")[model] == shown + [""] * (6 - len(shown))


def rounded(sentences, subwords):
    return [f"{sentences:,.0f}", f"{round(subwords, -2):,.0f}"]


def test_the_page_has_the_speeds_of_decoding():
    rows = [line.strip("| ").split(" | ") for line in (DOCS / "gpu.md").read_text().splitlines() if ", call " in line]
    third, fourth = (LATER[f"call {number}"]["decoding"]["systems"] for number in (3, 4))
    sentences, subwords = third["ours, bfloat16"].values()
    [slower] = third["ours, float32"].values()
    assert [row[1:] for row in rows if row[0].endswith(("3", "4"))] == [
        ["1,024", *rounded(slower, slower * subwords / sentences)],  # each system makes the same subwords
        ["1,024", *rounded(*fourth["ours, bfloat16"].values())],
        ["about 2,800", *rounded(*fourth["ours, bfloat16, batches of translate"].values())],
    ]
    text = " ".join((DOCS / "gpu.md").read_text().split())
    of = OTHERS[OTHERS.unit == "subwords/s"].set_index("what").value
    small, large = (of[f"decoding in bfloat16, {size} sentences in a batch"] for size in (512, 1024))
    both = f"512 sentences at once gave {round(small, -2):,.0f} subwords/s, and 1,024 gave {round(large, -3):,.0f}"
    assert both in text
    assert f"In call 3 it gave {round(subwords, -2):,.0f} with" in (DOCS / "notes/gpu.md").read_text()


def test_the_page_has_the_batches_of_translate(monkeypatch):
    memory = SimpleNamespace(total_memory=80 * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: memory)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: (9, 0))
    sentences = padded_subwords(torch.device("cuda"), "bfloat16") / SECTION_6_1.beam / 29
    assert sentences == pytest.approx(700, rel=0.02)
    assert "takes about 700 sentences of 29 subwords at once" in " ".join((DOCS / "gpu.md").read_text().split())


def test_the_notes_have_the_times_of_attention():
    table, of = cells("notes/gpu.md", "| | ms |"), OTHERS.set_index("what").value
    at = "one layer's attention, not causal:"
    names = ["memory-efficient attention with a bias", "cuDNN's attention with a bias"]
    names += ["FlexAttention, all rows as one sequence", "FlexAttention, row by row"]
    names += ["FlashAttention for sequences of different lengths"]
    assert [shown for [shown] in table.values()] == [f"{of[f'{at} {name}']:.2f}" for name in names]


def test_the_page_has_the_tests_and_the_bleu_that_were_found():
    page, found = " ".join((DOCS / "gpu.md").read_text().split()), LATEST["multi30k"]
    assert re.match(r"(\d+) passed, [^f]* warnings", LATEST["tests"]["summary"])[1] == "60"
    assert "all 60 tests marked `gpu`" in page
    assert f"*call 1* is commit {MEASURED['machine']['software']['commit'][:7]}, " in page
    for number in (3, 4):
        assert f"*call {number}* is {LATER[f'call {number}']['code']}" in page
    assert f"all its {found['of']:,} steps in {found['training_seconds']:.0f} s (call 3)" in page
    assert f"test 2016: {found['bleu']:.1f} BLEU, {found['sentences_per_second']:,.0f} sentences/s" in page
    assert found["bleu"] == MEASURED["multi30k"]["bleu"]
    assert f"at {round(MEASURED['multi30k']['sentences_per_second'], -1):,.0f} sentences/s" in page


def test_the_page_has_the_steps_of_trainings_that_share_a_gpu():
    of = OTHERS[OTHERS.unit == "steps/s"]
    for number, (word, (each, together)) in enumerate(
        zip(("one", "two", "three"), list(cells("gpu.md", "| trainings at once |").values()), strict=True), 1
    ):
        rates = of[of.what.str.startswith(f"{word} training")].value
        assert len(rates) == number
        assert [*map(int, each.split(", "))] == [*rates.round()]
        assert int(together) == pytest.approx(rates.sum(), abs=1)


def test_a_training_takes_the_main_memory_that_the_page_tells():
    taken = [LATEST[f"training {model}"]["main_memory"] / 1e9 for model in ("base", "big", "aop1")]
    [whole] = OTHERS[OTHERS.what.str.contains("max_pss")].value
    page = (DOCS / "gpu.md").read_text()
    assert "A training took less than 3 GB of main memory." in page
    assert 2.5 < max(taken) < 3
    assert f"`multi30k` took at most {whole:.1f} GB" in page


@pytest.mark.parametrize("name", ["base, at first", "base", "big", "aop1", "parser"])
def test_the_notes_sum_the_kernels_that_were_measured(name):
    kernels = STEPS[STEPS.model == {"base, at first": "base, mixed sums"}.get(name, name)]
    sums = kernels.ms.groupby(kernels.kernel.map(kind_of)).sum()
    table = cells("notes/gpu.md", "| ms per step ")
    column = ["base, estimated", "base, at first", "base", "big", "aop1", "parser"].index(name)
    assert {kind: cells[column] for kind, cells in table.items()} == {
        **{kind: f"{sums[kind]:.1f}" for kind in KINDS},
        "sum": f"{sums.sum():.1f}",
    }


def test_the_notes_have_the_time_of_the_compiled_kernels_of_the_first_base():
    compiled = STEPS[(STEPS.model == "base, mixed sums") & STEPS.kernel.str.startswith("triton")].ms.sum()
    assert f"where base at first needed {compiled:.1f}" in (DOCS / "notes/gpu.md").read_text()


@pytest.mark.parametrize("model", ["base", "big", "aop1", "parser"])
def test_the_planned_memory_in_bfloat16_is_within_a_third_of_what_was_measured(model):
    paper = read_experiment([DOCS.parent / "config/paper.yaml"])
    task = "wsj" if model == "parser" else "ende"
    if model == "parser":
        [measured] = OTHERS[OTHERS.what == "a step of parser: the most GPU memory"].value
    else:
        measured = LATEST[f"training {model}"]["systems"]["ours"]["bytes"] / 1e9
    planned = cost(paper.run(task, model, 1), paper.tasks[task].vocabulary, 1, [])
    assert planned.memory_bfloat16 / 1e9 == pytest.approx(measured, rel=0.34)
    assert f"{measured:.1f} GB" in (DOCS / "cost.md").read_text()


@pytest.mark.parametrize(("model", "width"), [("base", 512), ("big", 1024)])
def test_the_efficiency_of_an_h100_follows_from_the_steps_that_were_measured(model, width):
    seconds = LATEST[f"training {model}"]["systems"]["ours"]["ms"] / 1000
    run = read_experiment([DOCS.parent / "config/paper.yaml"]).run("ende", model, 1)
    assert DEVICES["H100"].step_seconds(step_flops(run, 37000), width) == pytest.approx(seconds, rel=0.01)
