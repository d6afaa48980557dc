"""docs/replication.md and what other pages say of the replication, beside its released tables."""

import re
from collections import Counter

import pytest

from tests.pages import ROOT
from tests.released_tables import bounded, cell, replicated, rows_of, size, text_of

PAGE = "docs/replication.md"
HEAD = ("kind", "section", "claim", "paper", "`small`", "fresh seeds", "interval", "outcome", "size")
FAMILIES = {
    "decided": "The sixteen that `small` had reproduced",
    "undecided": "The ten that `small` had left undecided",
    "new": "Four new ones",
}


def line(row):
    """The row of a claim on the page."""
    cells = [
        row["Group"],
        row["Section"],
        f"{bounded(row)} ({row['Measure']})",
        row["In favour, paper"],
        row["First, difference"],
    ]
    cells += [row["Fresh, difference"], row["Fresh, interval"], row["Outcome"], row["Size"]]
    return "| " + "".join(f"{each} | " if each else "| " for each in cells).rstrip()


@pytest.mark.parametrize(("family", "heading"), FAMILIES.items())
def test_the_tables_of_the_page_are_the_released_ones(family, heading):
    section = (ROOT / PAGE).read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line(row) for row in replicated() if row["Family"] == family]
    shown = [each for each in section.splitlines() if each.startswith("|")]
    assert shown == [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|", *rows]


def counts(rows, name):
    return Counter(row[name].partition(":")[0] for row in rows)


def test_the_counts_of_verdicts_are_those_of_the_released_tables():
    rows = replicated()
    decided, undecided, new = ([row for row in rows if row["Family"] == name] for name in FAMILIES)
    assert counts(decided, "Outcome") == {"replicated": 16}
    assert counts(undecided, "Fresh, verdict") == {"reproduced": 4, "contrary": 1, "undecided": 5}
    assert counts(new, "Fresh, verdict") == {"reproduced": 1, "undecided": 3}
    assert counts(rows, "Fresh, verdict") == {"reproduced": 21, "undecided": 8, "contrary": 1}
    groups = Counter(row["Group"] for row in rows if row["Fresh, verdict"].startswith("reproduced"))
    assert groups == {"printed": 14, "implied": 6, "own": 1}
    total = "30 claims, 21 are reproduced, 8 are undecided, and 1 is contrary"
    for page in (PAGE, "README.md", "docs/results.md", "docs/evidence.md"):
        assert total in text_of(page).replace("undecided and", "undecided, and")
    again = [row for row in rows if row["First, verdict"].startswith("reproduced")]
    assert {row["Outcome"] for row in again} == {"replicated"}
    left = Counter(row["Outcome"] for row in rows if row["First, verdict"].startswith("undecided"))
    left = {name: count for name, count in left.items() if not name.startswith("new")}
    assert left == {"reproduced now": 2, "contrary now": 1, "still undecided": 4}
    told = (
        f"has reproduced all {'seventeen' if len(again) == 17 else len(again)} again. Of the nine undecided claims it"
    )
    assert f"{told} finds two reproduced, one contrary and four undecided again" in text_of("docs/small.md")


def test_the_page_says_what_single_claims_show():
    page, rows = text_of(PAGE), {row["Claim"]: row for row in replicated()}
    [additive] = [row for row in replicated() if row["Fresh, verdict"] == "contrary"]
    more = [float(one) for one in re.findall(r"additive-dk16 ([\d.]+) % more", additive["In favour, each seed"])]
    assert (len(more), sum(one > 5 for one in more)) == (10, 9)
    assert "worse in each of ten seeds, and in nine of them by more than the margin of 5 %" in page
    below = [row["Claim"] for row in replicated() if row["Family"] == "undecided" and row["Size"] == "smaller"]
    assert below == [
        "One head is worse than eight",
        "Dropout is very helpful",
        "Attention over parameters (8 heads) is a little worse",
    ]
    with_chosen, with_papers = (
        rows[name]["Fresh, difference"]
        for name in (
            "A beam is better than greedy search",
            "A beam with the paper's alpha is better than greedy search",
        )
    )
    assert (float(with_papers), float(with_chosen) > 0.4) == (0.4, True)
    layers = [row for row in replicated() if "not in order" in row["Fresh, verdict"]]
    assert [(row["Claim"], row["Measure"]) for row in layers] == [("More layers are better", "BLEU")]
    assert f"have {size('replication/table3', 'BLEU from base, ours', 1, Model='C-N8')} BLEU less than 6" in page
    beam = rows["A beam with the paper's alpha is better than greedy search"]
    assert beam["Fresh, interval"] == "+0.0 to +0.9"
    lengths = [
        cell(
            "replication/decoding", "sacreBLEU, length", **{"Checkpoints averaged": "5", "Beam": width, "Alpha": alpha}
        )
        for width, alpha in (("4", "0.6"), ("1", "any"))
    ]
    told = "In chrF it loses {}: its translations are shorter, {} of the references on dev, where greedy search has {}."
    assert told.format(beam["In favour, chrF"].removeprefix("-"), *lengths) in page
    beyond = "sacreBLEU by subwords of the longer side, 31 to 45"
    both = [cell("replication/positions", beyond, Positions=name) for name in ("sinusoids", "learned")]
    assert "31 to 45 subwords have {} with sinusoids and {} with learned positions".format(*both) in page


def test_the_second_opinion_would_decide_one_claim_more():
    differ = [
        (row["Claim"], row["Measure"], row["p, corrected"], row["p, pooled"])
        for row in replicated()
        if row["p, pooled"]
        and len({"<" in row[name] or float(row[name]) < 0.05 for name in ("p, corrected", "p, pooled")}) > 1
    ]
    assert differ == [("Wider feed-forward layers are better", "BLEU", "0.0941", "0.0031")]
    assert "wider feed-forward layers in BLEU (p 0.003, where the paired test has 0.094" in text_of(PAGE)


def test_the_page_says_how_its_rows_agree_with_the_papers():
    page, notes = text_of(PAGE), (ROOT / "docs/replication/tables/claims.md").read_text()
    of = {}
    for metric in ("perplexity", "BLEU"):
        told = re.search(
            rf"Table 3, {metric}: .*? of ([\d.]+), and of ([\d.]+) without .*; (\d+) of (\d+) .*paper (\d+)", notes
        )
        of[metric] = told.groups()
    (ours, without, side, rows, worse), (bleu, bleu_without, *also, worse_too) = of["perplexity"], of["BLEU"]
    assert also == [side, rows]
    assert f"Of the paper's {rows} rows whose perplexity differs from base, {side} lie on the same side here" in page
    assert f'Guessing "worse" for each would be right for {worse} and {worse_too}' in page
    assert f"with the paper's is {ours} ({without} without" in page
    assert f"by BLEU {bleu} ({bleu_without})" in page


def test_the_page_has_the_times_of_the_released_table():
    page = text_of(PAGE)
    of = {
        model: cell("replication/step_time", "Time, x base, ours", Model=model)
        for model in ("additive-dk64", "recurrent", "aop1", "aop2", "convolutional")
    }
    heads = cell("replication/claims", "In favour, ours", Claim="Eight heads*").removeprefix("base ")
    for sentence in (
        f"additive attention takes {of['additive-dk64']} times as long as base's, of the recurrent model "
        f"{of['recurrent']} times, and of attention over parameters {of['aop1']} and {of['aop2']} times",
        f"Eight heads take {heads} % longer than one",
        f"with as many FLOPs as base, takes {of['convolutional']} times as long",
    ):
        assert sentence in page
    timed = [row["Verdict"] for row in rows_of("replication/claims") if row["Measure"] == "time of a step"]
    assert Counter(timed) == {"reproduced": 4, "contrary": 2}
    assert "Six claims are about time" in page
