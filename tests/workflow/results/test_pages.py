import re

import pytest

from tests.pages import ROOT
from transformer.support.files import InputError
from workflow.results.pages import BEGIN, filled

PAGES = [page for page in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")) if BEGIN in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_tables_of_pages_are_those_of_the_released_csv(page):
    assert filled(page) == page.read_text(), "make them again: python -m workflow.results.pages"


@pytest.fixture
def page(tmp_path):
    """A page with a table that a comment asks for, and an older table in its place."""
    rows = 'Model,"BLEU, paper","BLEU, ours",Key\nbase,25.8,19.8,8\nA-h1,24.9,18.7,64\nbig,26.4,21,16'
    (tmp_path / "models.csv").write_text(rows)

    def write(comment):
        path = tmp_path / "page.md"
        path.write_text(f"Before.\n\n{comment}\n\n| Model |\n|---|\n| old |\n\n<!-- end -->\n\nAfter.\n")
        return path

    return write


@pytest.mark.parametrize(
    ("rows", "models"),
    [
        ("", ["base", "A-h1", "big"]),
        ("rows: Model = base | b?g\n", ["base", "big"]),
        ("rows: Model = b*; BLEU, ours = 21\n", ["big"]),
        ("rows: Model = A-*\nrows: Key = 8\n", ["base", "A-h1"]),
    ],
)
def test_rows_and_columns_are_those_that_the_comment_asks_for(page, rows, models):
    comment = f"<!-- table: models.csv\n{rows}columns: *ours; Model\n-->"
    text = filled(page(comment))
    assert text.startswith(f"Before.\n\n{comment}\n\n|   BLEU, ours | Model   |\n|-------------:|:--------|\n")
    assert re.findall(r"^\| +[\d.]+ \| (\S+) ", text, re.MULTILINE) == models
    assert text.endswith(" |\n\n<!-- end -->\n\nAfter.\n")


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("<!-- table: models.csv\ncolumns: Row\n-->", "models.csv: has no column Row; it has Model; BLEU, paper; "),
        ("<!-- table: models.csv\nrows: Row = 1\ncolumns: Key\n-->", "models.csv: has no column Row; it has Model; "),
        (
            "<!-- table: models.csv\nrows: Key = 8\nrows: Key = 7\ncolumns: Key\n-->",
            "models.csv: has no row for rows: Key = 7",
        ),
        ("<!-- table: models.csv\nrow: Key = 8\ncolumns: Key\n-->", "page.md: has a table whose comments are not as "),
        (
            "<!-- table: models.csv\nrows: Key = 8; 9\ncolumns: Key\n-->",
            "page.md: has a table whose comments are not as ",
        ),
        ("<!-- table: models.csv columns: Key -->", "page.md: has a table whose comments are not as at the head of "),
    ],
)
def test_a_comment_that_asks_for_what_is_not_there_is_refused(page, comment, said):
    with pytest.raises(InputError, match=re.escape(said)):
        filled(page(comment))
