"""What the pages of the site are made of; none of it needs Sphinx."""

import re
from pathlib import Path

import pytest

from docs._ext.released import FIGURES, caption, experiment_page, experiments, models_page, table_page
from docs._ext.symbols import LINK, line_of

ROOT = Path(__file__).parents[1]
PAPER = sorted((ROOT / "docs/paper").glob("*.md"))


@pytest.mark.parametrize("page", PAPER, ids=lambda page: page.stem)
def test_pages_of_the_paper_name_symbols_that_are_there(page):
    links = LINK.findall(page.read_text())
    assert [line_of(page.parent / name, symbol) for symbol, name in links]


WRITTEN = [page for page in ROOT.glob("docs/**/*.md") if page.parent.name != "released"]
PAGES = [*ROOT.glob("*.md"), *WRITTEN, *ROOT.glob("config/*.md"), ROOT / "results/README.md"]


def test_no_page_has_what_github_shows_as_it_is_written_or_a_comment_of_the_site():
    """Directives but a notebook's cells, roles, and lines that begin with a percent sign."""
    written = r"^[`:]{3,}\{(?!code-cell).*|\{[\w-]+\}`.*|^ *%.*"
    assert not [(page, found) for page in PAGES if (found := re.findall(written, page.read_text(), re.MULTILINE))]


@pytest.fixture
def project(tmp_path):
    """A project with the released results of one experiment."""
    for name, text in {
        "results/released/tiny/tables/table9.md": "**Table 9: models, ours**\n\n| Model |\n|---|\n| base |\n",
        "results/released/tiny/tables/table9.html": "<style>x</style><table><td>base</table><ul><li>Note.</ul></html>",
        "results/released/tiny/tables/claims.md": "**Claims of the paper: all**\n",
        "results/released/tiny/tables/positions.md": "**Positions (English-German, development set)**\n",
        "results/released/tiny/figures/figure3.svg": "<svg/>",
        "docs/paper/index.md": "# No experiment\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_the_page_of_an_experiment_has_claims_first_and_each_figure_under_its_caption(project):
    assert experiments(project) == ["tiny"]
    page = experiment_page(project, "tiny")
    assert page.index("Claims of the paper </results/released/tiny/tables/claims>") < page.index(
        "Table 9 </results/released/tiny/tables/table9>"
    )
    assert "Positions </results/released/tiny/tables/positions>" in page
    assert "## Figure 3: heads from “making”\n\n```{figure} /results/released/tiny/figures/figure3.svg" in page
    assert "Each word above attends to the words" in page
    assert "The model is" not in page  # sentences of a caption that hold values of a run
    assert "</docs/tiny>" not in page
    (project / "docs/tiny.md").write_text("# Tiny\n")
    assert "\n/docs/tiny\n" in experiment_page(project, "tiny")


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("results/released/*/figures/*.svg")), ids=lambda path: f"{path.parts[-3]}-{path.stem}"
)
def test_released_figures_load_quickly_and_can_be_read_at_the_width_of_a_page(path):
    text = path.read_text()
    width, unit = re.search(r'<svg [^>]*?width="([\d.]+)(pt)?"', text).groups()
    pixels = float(width) * (96 / 72 if unit else 1)
    assert pixels <= (740 if unit else 930)  # letters of matplotlib have 7 points, those of trees 14 pixels
    if path.stem == "training_curves":
        assert len(text) < 300_000


@pytest.mark.parametrize("figure", sorted({path.stem for path in ROOT.glob("results/released/*/figures/*.svg")}))
def test_the_first_sentence_of_a_caption_holds_no_values_so_that_the_site_shows_it(figure):
    [text] = [each.caption for each in FIGURES if figure in each.titles]
    assert caption(figure).startswith(re.split(r"\.\s", text)[0])


def test_the_page_of_a_table_is_its_html_under_its_title(project):
    path = project / "results/released/tiny/tables/table9.md"
    section = "<section class=results><style>y</style><table><tr><td>5.4</td><td>A</td></tr></table></section>"
    path.with_suffix(".html").write_text(f"<!DOCTYPE html><style>x</style>{section}</html>")
    page = table_page(path)
    assert page.startswith("# Table 9: models, ours, `tiny`\n")
    assert "<td>5.4</td> <td>A</td> </tr></table></section></div>" in page  # two words for the search
    assert "<style>x" not in page
    assert "[csv](table9.csv)" in page
    path.with_suffix(".html").write_text("")
    with pytest.raises(ValueError, match=r"table9\.html: has no table"):
        table_page(path)


def test_trained_models_are_listed_where_there_are_any(project):
    assert models_page(project) is None
    card = project / "results/tiny/runs/ende/base/1/average-5/package/README.md"
    card.parent.mkdir(parents=True)
    card.write_text("# base\n")
    assert f"\ntiny here, ende/base/1 </{card.relative_to(project).with_suffix('')}>\n" in models_page(project)
    (project / "results/released/tiny/models").mkdir()
    (project / "results/released/tiny/models/ende-base.md").write_text("# base\n")
    assert "\ntiny, ende-base </results/released/tiny/models/ende-base>\n" in models_page(project)
