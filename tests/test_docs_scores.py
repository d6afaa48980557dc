"""What pages say of single seeds and of the spread over seeds, beside the released scores."""

import csv
import json
import re
import tarfile
from itertools import combinations
from statistics import fmean

import numpy as np
import pytest

from tests.pages import ROOT
from tests.released_tables import cell, hours_of, rows_of, text_of
from transformer.experiment.config import read_experiment

SEEDS = range(1, 6)
ROWS = read_experiment([ROOT / "config/small.yaml"]).tasks["ende"].models


@pytest.fixture(scope="module")
def small():
    """Scores on dev of `small` and the perplexities of its trainings: (row, seed, file) -> what the file has."""
    found = {}
    with tarfile.open(ROOT / "docs/small/scores.tar.gz") as archive:
        for member in archive:
            _, _, _, _, row, seed, file = [*member.name.split("/", 6), *[""] * 7][:7]
            if file.endswith("dev.scores.json"):
                found[row, int(seed), file] = json.load(archive.extractfile(member))
            elif file == "average-1/package/history.csv":
                lines = csv.DictReader(archive.extractfile(member).read().decode().splitlines())
                perplexities = {int(line["step"]): line["dev_perplexity"] for line in lines}
                found[row, int(seed), file] = {step: float(one) for step, one in perplexities.items() if one}
    return found


def mean_square_root(values):
    return np.sqrt(np.mean(np.square(values)))


def test_the_page_of_small_says_how_much_seeds_differ(small):
    files = {row: [small[row, seed, "average-1/dev.scores.json"] for seed in SEEDS] for row in ROWS}
    bleu = {row: np.array([each["paper_bleu"]["score"] for each in of]) for row, of in files.items()}
    perplexity = {row: 100 * np.log([each["perplexity"] for each in of]) for row, of in files.items()}
    page = text_of("docs/small.md")
    one, other = (mean_square_root([of.std(ddof=1) for of in each.values()]) for each in (bleu, perplexity))
    assert f"BLEU on dev has a standard deviation of {one:.1f}, and perplexity one of {other:.0f} %" in page
    one, other = (
        mean_square_root([(first - second).std(ddof=1) for first, second in combinations(each.values(), 2)])
        for each in (bleu, perplexity)
    )
    assert f"a standard deviation over the seeds of {one:.2f} BLEU and of {other:.1f} % perplexity" in page
    assert f"all pairs of the {len(ROWS)} rows" in page


def test_perplexity_on_dev_fell_until_the_end_also_without_dropout(small):
    base, without = (
        [small[row, seed, "average-1/package/history.csv"] for seed in SEEDS] for row in ("base", "D-drop0.0")
    )
    fell = 100 * fmean(1 - each[5000] / each[4000] for each in base)
    assert f"over the last fifth of its steps, base's perplexity on dev fell by {fell:.0f} %" in text_of(
        "docs/small.md"
    )
    assert all(each[5000] == min(each.values()) for each in without)
    assert "without dropout, too, perplexity on dev falls until the end" in text_of("docs/small.md")


def seeds_of(claim):
    """The differences in BLEU of each seed that `small` has in favour of a claim."""
    [row] = [row for row in rows_of("small/claims") if row["Claim"] == claim and row["Measure"].startswith("BLEU")]
    return [float(one) for one in row["In favour, each seed"].split()]


def test_the_page_of_small_says_what_single_seeds_show():
    page = text_of("docs/small.md")
    for claim in ("One head is worse than eight", "Attention over parameters (8 heads) is a little worse"):
        assert sorted(one < 0 for one in seeds_of(claim)) == [False, *[True] * 4]
        assert re.search(rf"{re.escape(claim)} \|.*?four seeds are against it and one in favour", page)
    wider = seeds_of("Wider feed-forward layers are better")
    assert f"one seed gains {max(wider)} and one loses {-min(wider)}" in page
    nothing, least, *_, most = sorted(seeds_of("An average of checkpoints is better than the last"))
    assert nothing == 0
    assert f"four seeds gain {least} to {most} and one nothing" in page


def test_the_notes_of_small_say_what_other_searches_gain(small):
    def gains(one, other):
        """How much more BLEU the first search has, of seed 1 and on average."""
        of = [[small["base", seed, f"average-5/{each}dev.scores.json"] for seed in SEEDS] for each in (one, other)]
        scores = [[each["paper_bleu"]["score"] for each in both] for both in of]
        return scores[0][0] - scores[1][0], np.subtract(*scores).mean()

    notes = text_of("docs/notes/small.md")
    first, mean = gains("beam-8.alpha-1/", "")
    assert (
        f"a beam of 8 scored {first:.1f} more. ([With five seeds](../small/tables/decoding.md) it scores {mean:.1f}"
        in notes
    )
    (first, mean), (_, with_one) = gains("beam-4.alpha-0.6/", "beam-1/"), gains("", "beam-1/")
    assert f"a beam of 4 was {-first:.1f} BLEU worse than greedy search for seed 1. (With five seeds" in notes
    assert f"seeds it is {mean:.1f} better, which" in notes
    assert f"with alpha 1 it is {with_one:.1f} better." in notes
    (_, mean), (_, with_one) = gains("beam-4.alpha-0.6/", "beam-4.alpha-0/"), gains("", "beam-4.alpha-0/")
    assert f"0.6 is {mean:.1f} better than none; with alpha 1 it is {with_one:.1f}." in notes
    assert f"without a length penalty, base of `small` loses {with_one:.1f} BLEU on dev" in text_of("docs/evidence.md")


def test_the_pages_have_the_hours_of_the_released_trainings():
    of_seed = [sum(float(row["Hours"]) for row in rows_of("small/runs") if row["Seed"] == f"{seed}") for seed in SEEDS]
    assert f"a seed take {min(of_seed):.0f} to {max(of_seed):.1f} core-hours of training" in text_of("docs/small.md")
    page = text_of("docs/multi30k-tiny.md")
    [german], [french] = hours_of("multi30k-tiny"), hours_of("multi30k-tiny-enfr")
    further = hours_of("multi30k-tiny-replication")
    assert f"the training of English-German took {german:.1f} hours" in page
    assert f"beside other programs it took {french:.1f} hours" in page
    assert f"seeds 2 and 3 took {min(further):.1f} to {max(further):.0f} hours" in page
    minutes = 60 * max(hours_of("quick"))
    assert 4 < minutes < 5
    assert "train for at most five minutes" in text_of("docs/results.md")


def test_the_page_of_results_has_the_sizes_of_quick():
    millions = [int(row["Parameters"].replace(",", "")) / 1e6 for row in rows_of("quick/runs")]
    train = cell("quick/corpora", "Pairs, left", Task="ende", **{"Step or part": "train"})
    [left_out] = re.findall(rf"\(ende\) leaves out (\d+) of {train} pairs", text_of("docs/quick/tables/table3.md"))
    page = text_of("docs/results.md")
    assert f"models have {min(millions):.1f} to {max(millions):.1f} million parameters" in page
    assert (
        f"learn from {train} pairs of short sentences of another text, of which {left_out} are still too long" in page
    )
