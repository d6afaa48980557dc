"""The star of Table 3 and of the tables with rows like its own, and chrF beside BLEU."""

import pytest

from transformer.evaluation.statistics import p_over_seeds_and_sentences


def test_rows_that_differ_from_base_are_marked(results):
    runs = [results.run("ende", "base"), results.run("ende", "A-h1", p=0.04), results.run("ende", "A-h4", p=0.06)]
    rows, texts = results.table("table3", runs)
    tests = ("sacreBLEU, differs on other sentences", "sacreBLEU, p, randomisation", "sacreBLEU, p, bootstrap")
    shown = {row["Model"]: [row[column] for column in tests] for row in rows}
    assert shown["base"] == shown["C-N2"] == ["", "", ""]
    assert shown["A-h1"] == ["*", "0.040", "0.020"]
    assert shown["A-h4"] == ["", "0.060", "0.030"]
    for text in texts:
        assert "ar:1000" in text
        assert "bs:1000" in text


def test_the_largest_p_of_several_seeds_decides_where_comparisons_have_no_differences(results):
    runs = [results.run("ende", model, seed, p=p) for model, seed, p in (("aop1", 1, 0.001), ("aop1", 2, 0.2))]
    rows, _ = results.table("appendix", runs)
    assert [row["sacreBLEU, p, randomisation"] for row in rows] == ["", "0.200", ""]
    assert not any(row["sacreBLEU, differs on other sentences"] for row in rows)


def compared(results, *rows):
    """Base and rows with the seeds 1 and up. A row: model, p of the randomisation, the differences of each seed."""
    runs = [results.run("ende", "base", seed) for seed in range(1, 1 + len(rows[0][2]))]
    for model, p, differences in rows:
        for seed, each in enumerate(differences, 1):
            chrf = {"baseline": 40.0 + seed, "system": 40.0 + seed + each[0], "signature": "nc:6"}
            more = {"differences": each, "chrf": chrf}
            runs.append(results.run("ende", model, seed, p=p, compared=more))
    return runs


def test_with_several_seeds_one_test_over_seeds_and_sentences_decides(results):
    sure, unsure = [[2.0, 1.9, 2.1]] * 3, [[2.0, 1.9, 2.1], [-2.0, -1.9, -2.1], [0.1, 0.0, 0.2]]
    rows, (md, *_) = results.table("table3", compared(results, ("A-h1", 0.2, sure), ("A-h4", 0.001, unsure)))
    shown = {row["Model"]: row for row in rows}
    marks = [shown[model]["sacreBLEU, differs on other sentences"] for model in ("base", "A-h1", "A-h4")]
    assert marks == ["", "*", ""]
    p = p_over_seeds_and_sentences(unsure)
    assert shown["A-h4"]["sacreBLEU, p, seeds and sentences"] == f"{p:.3f}"
    assert shown["A-h4"]["sacreBLEU, p, randomisation"] == "0.001"
    assert "would show with other seeds and on other sentences" in md


def test_where_a_comparison_is_of_an_earlier_version_all_stars_are_those_of_the_randomisation(results):
    sure = [[2.0, 1.9, 2.1]] * 2
    earlier = [results.run("ende", "A-h4", seed, p=0.2) for seed in (1, 2)]
    rows, (md, *_) = results.table("table3", compared(results, ("A-h1", 0.2, sure)))
    assert [row["sacreBLEU, differs on other sentences"] for row in rows if row["Model"] == "A-h1"] == ["*"]
    rows, (md, *_) = results.table("table3", [*compared(results, ("A-h1", 0.2, sure)), *earlier])
    assert not any(row["sacreBLEU, differs on other sentences"] for row in rows)
    assert "for every seed, by approximate randomisation" in md


def test_the_star_of_one_seed_is_that_of_the_randomisation(results):
    rows, (md, *_) = results.table("table3", compared(results, ("A-h1", 0.04, [[1, -1]]), ("A-h4", 0.06, [[1, 1]])))
    shown = {row["Model"]: row for row in rows}
    column = "sacreBLEU, differs on other sentences"
    assert [shown[model][column] for model in ("A-h1", "A-h4")] == ["*", ""]
    assert not any(row["sacreBLEU, p, seeds and sentences"] for row in rows)
    assert "for every seed, by approximate randomisation" in md


def test_with_several_seeds_and_one_sentence_the_star_is_that_of_the_randomisation(results):
    rows, _ = results.table("table3", compared(results, ("A-h1", 0.04, [[1], [2]]), ("A-h4", 0.06, [[1], [2]])))
    shown = {row["Model"]: row for row in rows}
    assert [shown[model]["sacreBLEU, p, randomisation"] for model in ("A-h1", "A-h4")] == ["0.040", "0.060"]
    assert not any(row["sacreBLEU, p, seeds and sentences"] for row in rows)


def test_chrf_stands_beside_bleu(results):
    rows, (md, *_) = results.table("table3", compared(results, ("A-h1", 0.2, [[2.0, 1.9], [1.5, 1.6]])))
    shown = {row["Model"]: [row["chrF, ours"], row["chrF, from base"]] for row in rows}
    assert shown["base"] == ["41.5 ± 0.7", ""]
    assert shown["A-h1"] == ["43.2 ± 0.4", "+1.8 ± 0.4"]
    assert "Signature of chrF: nc:6" in md
    assert "no brevity penalty" in md


def test_comparisons_without_chrf_leave_its_columns_empty(results):
    rows, (md, *_) = results.table("table3", [results.run("ende", "base"), results.run("ende", "A-h1", p=0.2)])
    assert not any(row["chrF, ours"] or row["chrF, from base"] for row in rows)
    assert "no brevity penalty" not in md


def test_a_number_that_some_seeds_lack_has_no_mean(results):
    runs = compared(results, ("A-h1", 0.2, [[2.0, 1.9], [1.5, 1.6]]))
    runs += [results.run("ende", model, 3, p=p) for model, p in (("base", None), ("A-h1", 0.1))]
    rows, (md, *_) = results.table("table3", runs)
    assert not any(row["chrF, ours"] or row["chrF, from base"] for row in rows)
    assert "no brevity penalty" not in md
    assert [row["sacreBLEU, p, randomisation"] for row in rows if row["Model"] == "A-h1"] == ["0.200"]


@pytest.mark.parametrize(("base", "mark"), [((15.0, 15.2), "*"), ((14.0, 16.2), "")])
def test_a_mark_means_a_larger_difference_than_between_the_seeds_of_base(results, base, mark):
    runs = [results.run("ende", "base", 1 + i, sacrebleu={"score": score}) for i, score in enumerate(base)]
    runs += [results.run("ende", "A-h1", seed, p=0.01, sacrebleu={"score": 17.0}) for seed in (1, 2)]
    rows, (md, _, _) = results.table("table3", runs)
    [row] = [row for row in rows if row["Model"] == "A-h1"]
    assert row["sacreBLEU, differs on other sentences"] == mark
    assert "another training might not" in md
