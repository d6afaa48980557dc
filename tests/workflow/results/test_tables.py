"""The rows of tables: published, ours, and how they differ."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from conftest import bleu

from workflow.jobs.job import run as run_job
from workflow.results import load
from workflow.results.common.cells import beside
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


def test_difference_is_ours_minus_published_as_shown(results):
    base, *others = results.table("table3", [results.run("ende", "base"), results.run("ende", "big")])[0]
    cells = [
        [base[f"{name}, {whose}"] for whose in ("published", "ours", "difference")] for name in ("BLEU", "Perplexity")
    ]
    assert cells == [["25.8", "16.0", "-9.8"], ["4.92", "9.87", "+4.95"]]
    assert (base["sacreBLEU, ours"], base["Parameters (millions), ours"]) == ("15.3", "0.83")
    assert all(
        row["BLEU, ours"] == "not run" and row["BLEU, difference"] == "" for row in others if row["Model"] != "big"
    )
    steps = {row["Model"]: (row["Steps, published"], row["Steps, ours"]) for row in (base, *others)}
    assert (steps["base"], steps["big"]) == (("100000", "1500"), ("300000", "1500"))
    assert steps["C-N2"] == ("100000", "")
    cells = beside("BLEU", 25.98, {"score": 16.04}, "score", 1)
    assert list(cells.values()) == ["25.98", "16.0", "-10.0"]  # of the numbers that a reader sees


def test_rows_stand_beside_base_in_points_of_bleu_and_percent_of_perplexity(results):
    score = {"perplexity": 10.0, "paper_bleu": {"score": 17.25, "signature": "s"}}
    base = {"perplexity": 8.0, "paper_bleu": {"score": 16.0, "signature": "s"}}
    runs = [
        results.run("ende", "base", **base),
        results.run("ende", "A-h1", **score),
        results.run("ende", "mine", **score),
    ]
    rows, (md, _, _) = results.table("table3", runs, own=[{"group": "own", "model": "mine", "changes": {}}])
    columns = [f"{name} from base, {whose}" for name in ("BLEU", "Perplexity") for whose in ("published", "ours")]
    shown = {row["Model"]: [row[column] for column in columns] for row in rows}
    assert shown["base"] == [""] * 4
    assert shown["A-h1"] == ["-0.9", "+1.2", "+7.5 %", "+25.0 %"]  # 24.9 and 25.8, 5.29 and 4.92
    assert shown["mine"] == ["", "+1.2", "", "+25.0 %"]
    assert shown["A-h4"][1::2] == ["", ""]
    runs = [
        results.run("ende", model, seed, perplexity=perplexity)
        for model, seeds in (("base", (8.0, 10.0)), ("A-h1", (6.0, 8.0)))
        for seed, perplexity in enumerate(seeds, 1)
    ]
    rows, (_, html, tex) = results.table("table3", runs)
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


def test_rows_that_are_one_model_show_its_one_run(results):
    runs = [results.run("ende", "base"), results.run("ende", "C-N2", p=0.01)]
    equal = {"ende": {"base": ["base"], "C-N2": ["C-N2", "C-N4"]}}
    rows, _ = results.table("table3", runs, equal=equal)
    two, four = ({**row} for row in rows if row["Model"] in ("C-N2", "C-N4"))
    ours = [column for column in two if "ours" in column or "sacreBLEU" in column]
    assert [two[column] for column in ours] == [four[column] for column in ours]
    assert (four["sacreBLEU, ours"], four["sacreBLEU, p, randomisation"]) == ("15.3", "0.010")
    [base, both] = results.table("runs", runs, equal=equal)[0]
    assert (base["Model"], both["Model"]) == ("base", "C-N2, C-N4")


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


def test_table2_gives_both_bleus_and_three_costs(results):
    runs = [
        results.run("ende", "base", part="test", average=5),
        results.run("enfr", "big-enfr", part="test", average=20),
    ]
    rows, (md, _, _) = results.table("table2", runs)
    trained = {(row["Pair"], row["Model"]): row for row in rows}
    base = trained["en-de", "Transformer (base model)"]
    assert (base["BLEU, ours"], base["sacreBLEU, ours"]) == ("16.0", "15.3")
    assert base["Training cost (FLOPs), published"] == "3.3e+18"
    assert base["Training cost (FLOPs), ours, estimated"] == "2.0e+13"  # 200 s x 2 devices x 5e10
    assert base["Training cost (FLOPs), ours, counted"] == "1.5e+12"
    assert base["Training cost (FLOPs), ratio"] == "6.1e-06"
    assert (base["Training, ours, seconds"], base["Training, ours, subwords/s"]) == ("200", "5000")
    assert trained["en-fr", "Transformer (big)"]["BLEU, ours"] == "16.0"
    assert trained["en-de", "Transformer (big)"]["BLEU, ours"] == "not run"
    assert trained["en-de", "ByteNet"]["BLEU, ours"] == ""
    assert "ende: 900 sentences of test, beam 4, length penalty 0.6, checkpoints averaged: 5; enfr" in md
    assert "a CPU, 5.0e+10 FLOP/s sustained; BLEU tok:moses|compounds:split; sacreBLEU nrefs:1|tok:13a." in md


def test_ours_is_the_mean_over_seeds_with_its_standard_deviation(results):
    runs = [results.run("ende", "base", seed, **bleu(score)) for seed, score in ((1, 10.0), (2, 13.0))]
    runs.append(results.run("ende", "A-h1"))
    [row, *_], texts = results.table("table3", runs)
    assert row["BLEU, ours"] == "11.5 ± 2.1"  # sqrt((1.5**2 + 1.5**2) / 1)
    assert row["Perplexity, ours"] == "9.87"  # equal for both
    assert row["BLEU, difference"] == f"{11.5 - 25.8:+.1f}"
    assert all("Means ± standard deviations of 1 to 2 seeds. ende: 900 sentences of dev" in text for text in texts)


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


def test_positions_have_their_perplexity_and_bleu_by_length_in_classes_that_are_not_too_small(results):
    runs = [results.run("ende", "base"), results.run("ende", "E-learned")]
    tail = ((21, 30, 29, 9), (31, 40, 32, 30), (61, 140, 30, 99))  # 29 pairs are too few
    lengths = [
        results.lengths(runs[0], (1, 10, 15, 20, 2.0), (11, 20, 15, 60, 8.0), *((*row, 10.0) for row in tail)),
        results.lengths(runs[1], (1, 10, 15, 20, 3.0), (11, 20, 15, 60, 9.0), *((*row, "") for row in tail)),
    ]
    rows, (md, *_) = results.table("positions", runs, inputs={"lengths": lengths}, longest=20)
    shown = [
        [text for heading, text in row.items() if heading.startswith(f"{name} by subwords")]
        for name in ("Perplexity", "sacreBLEU")
        for row in rows[:3]
    ]
    mean = f"{2**0.25 * 8**0.75:.2f}"
    assert shown[0] == [mean, "10.00", "10.00"]
    assert shown[1] == [f"{3**0.25 * 9**0.75:.2f}", "–", "–"]  # without positions for such lengths
    assert shown[2] == ["not run"] * 3
    assert shown[3] == ["31.3", "10.0", "10.0"]  # of 50 and 12.5, with as many words
    counts = "30 (1 to 20), 32 (31 to 40), 30 (above 60)"
    assert f"Pairs by length: {counts}; translated: {counts}." in md


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
