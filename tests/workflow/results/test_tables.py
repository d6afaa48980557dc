"""The rows of tables: published, ours, and how they differ."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import bleu

from workflow.jobs.job import run as run_job
from workflow.results import load
from workflow.results.tables import table3

ROOT = Path(__file__).parents[3]
MODELS = yaml.safe_load((ROOT / "config/models.yaml").read_text())["models"]


@pytest.mark.parametrize(
    ("name", "count", "not_run"), [("table2", 21, 8), ("table3", 20, 20), ("table4", 12, 2), ("appendix", 3, 3)]
)
def test_every_printed_row_is_there_when_nothing_was_run(results, name, count, not_run):
    rows, _ = results.table(name, [], trained_on={})
    ours = [row[column] for row in rows for column in row if column in ("BLEU, ours", "F1, ours")]
    assert (len(rows), ours.count("not run"), set(ours) <= {"not run", ""}) == (count, not_run, True)
    table = next(result for _, result in load() if result.rule == f"write_{name}")
    assert set(table.printed) <= set(rows[0])


def test_differences_from_base_have_a_minus_and_no_break_in_html_and_latex(results):
    runs = [
        results.run("ende", model, seed, perplexity=perplexity)
        for model, seeds in (("base", (8.0, 10.0)), ("A-h1", (6.0, 8.0)))
        for seed, perplexity in enumerate(seeds, 1)
    ]
    rows, (md, html, tex) = results.table("table3", runs)
    assert rows[1]["Perplexity from base, ours"] == "-22.5 ± 3.5 %"  # -25 and -20 %
    assert "<td>\u221222.5 ±\u00a03.5\u00a0%</td>" in html
    assert r"$-$22.5 ± 3.5 \%" in tex
    assert "BLEU from base, ours" in md
    assert "difference |" not in md


def test_a_model_of_ones_own_is_a_row_with_empty_published_cells(results):
    changes = {"d_ff": 1024, "eps_ls": 0.3, "steps": 1500, "attention_over_parameters": {"h_p": 2, "n_p": 9}}
    own = [{"group": "own", "model": "mine", "changes": changes}]
    rows, texts = results.table("table3", [results.run("ende", "base"), results.run("ende", "mine")], own=own)
    row = rows[0]
    assert (row["Row"], row["Model"]) == ("own", "mine: steps 1500, attention_over_parameters (h_p 2, n_p 9)")
    assert (row["d_ff"], row["eps_ls"], row["N"]) == ("1024", "0.3", "")
    assert (row["BLEU, ours"], row["Perplexity, ours"], row["Steps, ours"]) == ("16.0", "9.87", "1500")
    assert {row[column] for column in row if "published" in column or "difference" in column} == {""}
    assert all("mine" in text for text in texts)
    rows, _ = results.table(
        "table2",
        [results.run("enfr", "mine", part="test")],
        in_full=["ende"],
        own=[{"name": "mine", "model": {"enfr": "mine"}, "bleu": {}}],
    )
    [row] = [row for row in rows if row["Pair"] == "en-fr"]
    assert (row["Model"], row["BLEU, ours"], row["BLEU, published"]) == ("mine", "16.0", "")
    own = [{"name": "mine", "model": "mine", "task": "wsj", "training": "own"}]
    rows, _ = results.table("table4", [results.run("wsj", "mine", part="test")], own=own, trained_on={"wsj": "trees"})
    assert (rows[0]["Training"], rows[0]["F1, ours"], rows[0]["F1, published"]) == ("own", "88.1", "")


def test_a_parser_of_a_user_s_own_trees_does_not_stand_in_the_paper_s_row(results):
    own = [{"name": "parser", "model": "parser", "task": "wsj", "training": "mine"}]
    runs = [results.run("wsj", "parser", part="test")]
    rows, _ = results.table("table4", runs, in_full=["wsj"], own=own, trained_on={"wsj": "own trees"})
    ours = [(row["Training"], row["F1, published"], row["F1, ours"]) for row in rows if row["F1, ours"]]
    assert ours == [("mine", "", "88.1"), ("WSJ only, discriminative", "91.3", "not run")]


def test_a_task_that_is_not_shown_in_full_shows_only_rows_that_are_run(results):
    base = [results.run("ende", "base")]
    assert [row["Model"] for row in results.table("table3", base, in_full=[])[0]] == ["base"]
    rows, _ = results.table("table2", base, in_full=[])
    assert [(row["Pair"], row["Model"]) for row in rows] == [("en-de", "Transformer (base model)")]
    rows, _ = results.table("table2", base, in_full=["ende"])
    assert {row["Pair"] for row in rows} == {"en-de"}
    rows, _ = results.table("table4", [], in_full=["wsj"], trained_on={})
    assert [row["F1, ours"] for row in rows].count("not run") == 1
    assert len(rows) == 11  # the literature stays
    rows, _ = results.table("appendix", [*base, results.run("ende", "aop1")], in_full=[])
    assert [row["Model"] for row in rows] == ["base", "AOP1"]


def test_a_result_that_was_cut_short_ends_a_job_with_its_name(results):
    job = results.job([results.run("ende", "base")], SimpleNamespace())
    scores = Path(job.input.scores[0])
    scores.write_text(scores.read_text()[:40])
    with pytest.raises(SystemExit, match=re.escape(f"error: {scores}: not JSON")):
        run_job(table3.RESULTS[0].make, {"snakemake": job})
    assert Path(job.log[0]).read_text().startswith(f"error: {scores}: not JSON")


@pytest.mark.agreement(witness="numbers of the paper")
def test_published_floats_are_numbers(published):
    for row in published["table2"]:
        values = [*row["bleu"].values(), *row.get("flops", {}).values()]
        assert all(isinstance(value, float) for value in values)
    assert published["sustained_flops"]["P100"] * 8 * 12 * 3600 == pytest.approx(3.3e18, rel=0.01)


@pytest.mark.agreement(witness="numbers of the paper")
def test_published_overrides_are_those_of_the_models(published):
    keys = ("N", "d_model", "d_ff", "h", "d_k", "d_v", "P_drop", "eps_ls", "steps")
    base = published["table3"][0]
    for row in published["table3"]:
        model = {**MODELS["base"], **MODELS[row["model"]]}
        assert {key: model[key] for key in keys} == {key: row.get(key, base[key]) for key in keys}
    for row in published["appendix"][1:]:
        shown = MODELS[row["model"]]["attention_over_parameters"]
        assert shown == {key: row[key] for key in ("h_p", "d_pk", "d_pv", "n_p")}
    for row in published["table2"]:
        assert set(row.get("model", {}).values()) <= set(MODELS)


def test_published_marks_stand_beside_bleu_of_the_tokens_over_seeds(results, published):
    runs = [results.run("ende", "base", seed=seed, part="test") for seed in (1, 2)]
    reference = results.write("test.target", "a b c d e\nv w x y z\n")
    translations = [
        results.write("1.translation", "a b c d e\nv w x y z\n"),
        results.write("2.translation", "a b c d e\nv w x y q\n"),
    ]
    marks = [row | {"reference": reference, "translations": translations} for row in published["marks"][:2]]
    rows, texts = results.table("marks", runs, rows=marks)
    second = 100 * (9 / 10 * 7 / 8 * 5 / 6 * 3 / 4) ** 0.25
    first = rows[0]
    assert (first["Pair"], first["Test set"]) == ("en-de", "test_2016_flickr")
    assert first["BLEU, published"] == "41.02"
    assert first["BLEU, ours"] == f"{(100 + second) / 2:.1f} ± {(100 - second) / 2**0.5:.1f}"
    assert first["BLEU, difference"] == f"{round((100 + second) / 2, 1) - 41.02:+.1f}"
    assert first["BLEU, each seed"] == f"100.0 {second:.1f}"
    alone = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25  # BLEU of the one sentence with a fault
    half = 1.96 * (100 - alone) / 2 / 2  # of two sentences, then of two seeds, of which one has no fault
    assert first["BLEU, over sentences"] == f"{(100 + second) / 2 - half:.1f} to {(100 + second) / 2 + half:.1f}"
    assert first["Precisions, published"] == "71.0/47.5/34.3/24.5"
    assert first["Precisions, ours"] == "95.0/93.8/91.7/87.5"
    assert (first["Brevity penalty, published"], first["Brevity penalty, ours"]) == ("0.999", "1.000")
    tokens = ("Tokens of the reference, published", "Tokens of the reference, ours")
    assert [first[name] for name in tokens] == ["12103", "10"]
    assert [rows[1][name] for name in tokens] == ["", "10"]
    for text in texts:
        assert "Signature of BLEU: nrefs:1" in text
        assert "moses|compounds" not in text  # the signature of another table's BLEU


def test_rows_of_a_task_of_ones_own_stand_beside_its_base(results):
    scores = [{"perplexity": 8.0, **bleu(20.0)}, {"perplexity": 10.0, "p": 0.01, **bleu(18.5)}]
    runs = [results.run("nlen", model, **each) for model, each in zip(("base", "mine"), scores, strict=True)]
    own = [{"task": "nlen", "model": model, "changes": changes} for model, changes in (("base", ""), ("mine", "h 2"))]
    rows, (md, _, _) = results.table("own", runs, own=own, pairs={"ende": "en-de", "nlen": "nl-en"})
    base, mine = rows
    assert (mine["Task"], mine["Pair"], mine["Model"], mine["Changes"]) == ("nlen", "nl-en", "mine", "h 2")
    assert (base["Perplexity"], base["BLEU"], base["Perplexity from base"]) == ("8.00", "20.0", "")
    assert (mine["Perplexity from base"], mine["BLEU from base"]) == ("+25.0 %", "-1.5")
    assert mine["sacreBLEU, differs on other sentences"] == "*"
    assert mine["Parameters (millions)"] == "0.83"
    assert "published" not in md.partition("\n\n-")[0]
    assert "not run" not in md
