"""The star of Table 3 and of the tables with rows like its own, and chrF beside BLEU."""

import pytest

from transformer.evaluation.statistics import p_over_seeds_and_sentences

STAR, RANDOMISATION = "sacreBLEU, differs on other sentences", "sacreBLEU, p, randomisation"
BOTH = "sacreBLEU, p, seeds and sentences"


def compared(results, *rows):
    """Base and rows with the seeds 1 and up. A row: model, p of the randomisation, the differences of each seed."""
    runs = [results.run("ende", "base", seed) for seed in range(1, 1 + len(rows[0][2]))]
    for model, p, differences in rows:
        for seed, each in enumerate(differences, 1):
            chrf = {"baseline": 40.0 + seed, "system": 40.0 + seed + each[0], "signature": "nc:6"}
            more = {"differences": each, "chrf": chrf}
            runs.append(results.run("ende", model, seed, p=p, compared=more))
    return runs


def shown(results, runs):
    """The rows of Table 3 by their models."""
    return {row["Model"]: row for row in results.table("table3", runs)[0]}


def test_the_star_of_one_seed_is_that_of_the_randomisation(results):
    runs = [results.run("ende", "base"), results.run("ende", "A-h1", p=0.04), results.run("ende", "A-h4", p=0.06)]
    rows = shown(results, runs)
    tests = (STAR, RANDOMISATION, "sacreBLEU, p, bootstrap", "chrF, ours")
    assert [rows["base"][column] for column in tests] == [rows["C-N2"][column] for column in tests] == [""] * 4
    assert [rows["A-h1"][column] for column in tests] == ["*", "0.040", "0.020", ""]
    assert [rows["A-h4"][column] for column in tests] == ["", "0.060", "0.030", ""]


@pytest.mark.parametrize("differences", [[[1, -1]], [[1], [2]]], ids=["one seed", "one sentence"])
def test_one_seed_or_one_sentence_has_no_test_over_both(results, differences):
    rows = shown(results, compared(results, ("A-h1", 0.04, differences), ("A-h4", 0.06, differences)))
    assert [rows[model][RANDOMISATION] for model in ("A-h1", "A-h4")] == ["0.040", "0.060"]
    assert not any(row[BOTH] for row in rows.values())


def test_with_several_seeds_one_test_over_seeds_and_sentences_decides(results):
    sure, unsure = [[2.0, 1.9, 2.1]] * 3, [[2.0, 1.9, 2.1], [-2.0, -1.9, -2.1], [0.1, 0.0, 0.2]]
    rows = shown(results, compared(results, ("A-h1", 0.2, sure), ("A-h4", 0.001, unsure)))
    assert [rows[model][STAR] for model in ("base", "A-h1", "A-h4")] == ["", "*", ""]
    assert rows["A-h4"][BOTH] == f"{p_over_seeds_and_sentences(unsure):.3f}"
    assert rows["A-h4"][RANDOMISATION] == "0.001"


def test_where_a_comparison_is_of_an_earlier_version_all_stars_are_those_of_the_randomisation(results):
    earlier = [results.run("ende", "A-h4", seed, p=p) for seed, p in ((1, 0.001), (2, 0.2))]
    rows = shown(results, [*compared(results, ("A-h1", 0.2, [[2.0, 1.9, 2.1]] * 2)), *earlier])
    assert not any(row[STAR] for row in rows.values())
    assert rows["A-h4"][RANDOMISATION] == "0.200"  # the largest of the seeds


def test_chrf_stands_beside_bleu_unless_a_seed_lacks_it(results):
    runs = compared(results, ("A-h1", 0.2, [[2.0, 1.9], [1.5, 1.6]]))
    rows = shown(results, runs)
    assert (rows["base"]["chrF, ours"], rows["base"]["chrF, from base"]) == ("41.5 ± 0.7", "")
    assert (rows["A-h1"]["chrF, ours"], rows["A-h1"]["chrF, from base"]) == ("43.2 ± 0.4", "+1.8 ± 0.4")
    rows = shown(results, runs + [results.run("ende", model, 3, p=p) for model, p in (("base", None), ("A-h1", 0.1))])
    assert not any(row["chrF, ours"] or row["chrF, from base"] for row in rows.values())


@pytest.mark.parametrize(("base", "mark"), [((15.0, 15.2), "*"), ((14.0, 16.2), "")])
def test_a_star_means_a_larger_difference_than_between_the_seeds_of_base(results, base, mark):
    runs = [results.run("ende", "base", 1 + i, sacrebleu={"score": score}) for i, score in enumerate(base)]
    runs += [results.run("ende", "A-h1", seed, p=0.01, sacrebleu={"score": 17.0}) for seed in (1, 2)]
    assert shown(results, runs)["A-h1"][STAR] == mark
