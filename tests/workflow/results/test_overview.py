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
    """The start page of a report with these tables; its rows of cells, and its text."""

    def make(files=(), **tables):
        selection = select(results=str(tmp_path))
        for name, rows in tables.items():
            path = tmp_path / f"quick/tables/{name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", newline="") as stream:
                csv.writer(stream).writerows([PRINTED[name], *rows])
        html = overview(selection, files)
        rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", " ".join(html.split()))]
        return html, [row for row in rows if row]

    return make


def file(path, mime="text/html", category="Tables", **labels):
    return SimpleNamespace(path=Path(path), mime=mime, category=SimpleNamespace(name=category), labels=labels)


def test_it_opens_with_the_experiment_the_verdicts_and_the_scores_beside_the_paper_s(page):
    html, rows = page(claims=CLAIMS, table2=TABLE2)
    shown = " ".join(re.sub("<style>.*?</style>|<[^>]+>", "", " ".join(html.split())).split())
    assert re.match(
        r"Attention Is All You Need: quick ?\d+ models, 1 seed\. ?English-German, English-French: Help", shown
    )
    assert "2 claims: 1 reproduced, 1 undecided; 1 about the time of a step, on this machine: 1 cont" in shown
    assert rows == [
        ["reproduced", "More layers are better (BLEU)", "reproduced", "+1.8", "+2.8"],
        ["undecided", "One head is worse than eight (BLEU)", "undecided", "+0.9", "\u22120.4"],
        ["contrary", "Eight heads take as long as one (time of a step)", "", "", "base 34 % more"],
        ["en-de", "Transformer (base model)", "27.3", "20.1"],
        ["", "Transformer (big)", "28.4", "21.6"],
    ]


def test_claims_with_too_few_seeds_are_counted_apart(page):
    html, _ = page(claims=[["undecided: one seed", *CLAIMS[0][1:]], CLAIMS[1]])
    assert "2 claims: <b class=undecided>1 undecided</b>, " in " ".join(html.split())
    assert "1 with too few seeds for a verdict" in html


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
    links = re.findall('<a href="#"\\s+onclick="([^"]*)">([^<]*)</a>', " ".join(html.split()))
    assert [title for _, title in links] == [
        "The paper&#x27;s claims",
        "Table 2: BLEU and training cost",
        "Heads from &quot;its&quot; &lt;b&gt;",
    ]
    assert [re.search("content: &#x27;(.*?)&#x27;", click)[1] for click, _ in links] == ["html", "html", "img"]


def test_no_line_is_longer_than_docutils_reads(page):
    html, _ = page(claims=CLAIMS * 40)
    lines = html.splitlines()
    assert max(map(len, lines)) < 10_000
    assert all(lines)


def test_a_table_of_an_earlier_version_or_one_that_is_cut_short_does_not_keep_the_report_from_being_made(
    page, tmp_path
):
    whole, _ = page(table2=TABLE2)
    assert "ByteNet" not in whole
    assert "20.1" in whole
    table = tmp_path / "quick/tables/table2.csv"
    head, *rows = table.read_text().splitlines()
    for text in (
        "",
        f"{head}\n",
        head.replace("ours", "here") + "\n" + "\n".join(rows),
        f"{head}\nen-de,Transf",
        "x\n1\n",
    ):
        table.write_text(text)
        assert "20.1" not in page()[0]
