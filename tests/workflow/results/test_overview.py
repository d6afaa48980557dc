"""The start page of the report: what came out, in one look, and links to what there is."""

import csv
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from workflow.results import load
from workflow.results.overview import overview

PRINTED = {result.name: result.printed for _, result in load() if result.category == "Tables"}
CLAIMS = [
    ["reproduced: trend", "6.2 C", "More layers are better", "BLEU, dev", "reproduced", "+1.8", "+2.8"],
    ["undecided", "6.2 A", "One head is worse than eight", "BLEU, dev", "undecided", "+0.9", "-0.4"],
    ["undecided: one seed", "6.2 B", "Small keys are worse", "BLEU, dev", "", "+0.3", "+0.1"],
    ["contrary", "3.2.2", "Eight heads take as long as one", "time of a step", "", "", "base 34 % more"],
    ["not run", "6.3", "Trees", "F1, test", "", "+1.4", "not run"],
]
TABLE2 = [
    ["en-de", "ByteNet", "23.75", ""],
    ["en-de", "Transformer (base model)", "27.3", "20.1 ± 0.3"],
    ["en-de", "Transformer (big)", "28.4", "21.6 ± 0.2"],
]


@pytest.fixture
def page(select, tmp_path):
    """The start page of a report with these tables, on one line; and its rows of cells."""

    def make(files=(), **tables):
        selection = select(results=str(tmp_path))
        for name, rows in tables.items():
            path = tmp_path / f"quick/tables/{name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", newline="") as stream:
                csv.writer(stream).writerows([PRINTED[name], *rows])
        html = overview(selection, files)
        lines = html.splitlines()
        assert all(lines)
        assert max(map(len, lines)) < 10_000  # docutils reads no longer ones
        joined = " ".join(html.split())
        rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", joined)]
        return joined, [row for row in rows if row]

    return make


def file(path, mime="text/html", category="Tables", **labels):
    return SimpleNamespace(path=Path(path), mime=mime, category=SimpleNamespace(name=category), labels=labels)


def test_it_opens_with_the_experiment_the_verdicts_and_the_scores_beside_the_paper_s(page):
    html, rows = page(claims=CLAIMS, table2=TABLE2)
    shown = " ".join(re.sub("<style>.*?</style>|<[^>]+>", "", html).split())
    assert re.match(r"Attention Is All You Need: quick ?\d+ models, 1 seed\. ?English-German, English-French: H", shown)
    assert (
        "3 claims: 1 reproduced, 1 undecided, 1 with too few seeds for a verdict; "
        "1 about the time of a step, on this machine: 1 contrary"
    ) in shown
    assert rows == [
        ["reproduced", "More layers are better (BLEU)", "reproduced", "+1.8", "+2.8"],
        ["undecided", "One head is worse than eight (BLEU)", "undecided", "+0.9", "\u22120.4"],
        ["undecided", "Small keys are worse (BLEU)", "", "+0.3", "+0.1"],
        ["contrary", "Eight heads take as long as one (time of a step)", "", "", "base 34 % more"],
        ["en-de", "Transformer (base model)", "27.3", "20.1"],
        ["", "Transformer (big)", "28.4", "21.6"],
    ]


def test_it_links_to_each_result_of_the_report_and_to_no_other(page):
    files = [
        file("t/table2.html", section="6.1", table="Table 2: BLEU and training cost", format="HTML"),
        file("t/table2.csv", "text/csv", section="6.1", table="Table 2: BLEU and training cost", format="csv"),
        file("f/a.svg", "image/svg+xml", "Figures", section="4", figure='Heads from "its" <b>'),
        file("t/claims.html", section="", table="The paper's claims", format="HTML"),
        file("other.html"),
    ]
    html, rows = page(files)
    assert rows == []
    links = re.findall('<a href="#" onclick="([^"]*)">([^<]*)</a>', html)
    assert [title for _, title in links] == [
        "The paper&#x27;s claims",
        "Table 2: BLEU and training cost",
        "Heads from &quot;its&quot; &lt;b&gt;",
    ]
    assert [re.search("content: &#x27;(.*?)&#x27;", click)[1] for click, _ in links] == ["html", "html", "img"]
