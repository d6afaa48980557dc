"""The site as `make site` builds it, with warnings as errors: every page, every link, and no need of a host."""

import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote_plus, unquote, urlsplit

import pytest

for generator in ("sphinx", "furo", "myst_parser"):
    pytest.importorskip(generator, reason="the packages of the site are not installed: make .venv/site")

ROOT = Path(__file__).parents[2]
CARD = "results/quick/runs/ende/base/1/average-5/package/README.md"


class Page(HTMLParser):
    """The ids of a page, its links, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag in ("script", "img", "link"):
            self.loads += [given[key] for key in ("src", "href") if key in given]


def build(project):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", "results/site"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of this project, with one experiment more, a trained model, and an image of another host."""
    project = tmp_path_factory.mktemp("site") / "project"
    hidden = shutil.ignore_patterns(".*", "__pycache__")
    left_out = {str(ROOT): {"results"}, str(ROOT / "docs"): {"released"}}
    shutil.copytree(ROOT, project, ignore=lambda at, names: hidden(at, names) | left_out.get(at, set()))
    shutil.copytree(ROOT / "results/released", project / "results/released")
    shutil.copy(ROOT / "results/README.md", project / "results")
    shutil.copytree(project / "results/released/wsj-cpu", project / "results/released/other")
    (project / CARD).parent.mkdir(parents=True)
    (project / CARD).write_text("# base, en to de\n\nA model.\n")
    with (project / "CONTRIBUTING.md").open("a") as page:
        page.write("\n[![A badge](https://example.org/badge.svg)](https://example.org)\n")
    built = build(project)
    assert (built.returncode, built.stderr) == (0, "")
    return project


@pytest.fixture(scope="module")
def pages(project):
    folder = project / "results/site"
    return {path: Page(path) for path in folder.rglob("*.html") if "_static" not in path.parts}


def test_every_page_of_the_project_is_in_the_site(project, pages):
    names = ("*.md", "*/README.md", "docs/**/*.md", "results/released/**/*.md", CARD)
    documents = [path for name in names for path in project.glob(name)]
    assert len(documents) > 100
    for path in documents:
        assert project / "results/site" / path.relative_to(project).with_suffix(".html") in pages


def test_the_start_page_leads_everywhere(project, pages):
    start = pages[project / "results/site/README.html"]
    for page in ("docs/released/quick", "docs/released/other", "docs/released/models", "docs/paper/index", "docs/gpu"):
        assert f"{page}.html" in start.links
    assert "README.html" in pages[project / "results/site/index.html"].links
    assert "models/ende/big/6/average-5/package/explore.html" in start.links


def test_links_lead_to_pages_and_places_that_are_there(pages):
    broken = []
    for path, page in pages.items():
        for link in page.links + page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https"):
                if "." not in parts.netloc:
                    broken.append((path, link))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchored = target not in pages or not parts.fragment or unquote(parts.fragment) in pages[target].ids
            if not target.exists() or not anchored:
                broken.append((path, link))
    assert not broken


def test_no_host_is_needed_to_read_it(project, pages):
    assert not [load for page in pages.values() for load in page.loads if urlsplit(load).netloc]
    for style in (project / "results/site/_static").rglob("*.css"):
        assert "url(http" not in style.read_text()
        assert "@import" not in style.read_text()


def test_links_to_code_lead_to_the_line_of_the_symbol(project, pages):
    page = project / "results/site/docs/paper/feed-forward.html"
    lines = [int(link.rpartition("-")[2]) for link in pages[page].links if "model/layers.py.html#line-" in link]
    text = (project / "transformer/model/layers.py").read_text().splitlines()
    assert [text[line - 1].partition("(")[0] for line in lines] == ["class FeedForward", "def position_wise"]


def test_results_are_those_of_the_released_tables(project):
    page = (project / "results/site/docs/paper/parsing.html").read_text().partition("<article")[2]
    assert all(f"/{name}/tables/table4.html" in page for name in ("quick", "wsj-cpu"))
    assert "/other/tables/" not in page


def test_a_symbol_that_is_missing_fails_the_build_in_one_line(project):
    page = project / "docs/paper/background.md"
    text = page.read_text()
    page.write_text("# 2\n\n[`models/none`](../../config/models.yaml)\n")
    built = build(project)
    page.write_text(text)
    assert built.returncode
    assert "background.md:3: WARNING" in built.stderr
    assert "config/models.yaml: defines no models/none; name what the file defines now" in built.stderr


# What ends to the right of the window and cannot be scrolled to.
CUT = """[...document.querySelectorAll('main *')].filter(each => {
    const box = each.getBoundingClientRect()
    if (!box.width || box.right < innerWidth + 1 || each.closest('svg')) return false
    for (let above = each.parentElement; above; above = above.parentElement)
        if (['auto', 'scroll'].includes(getComputedStyle(above).overflowX)) return false
    return true
}).map(each => each.tagName)"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_opens_from_disk_without_complaints_and_nothing_is_cut_off(project, pages, tab, width):
    faults = {}
    site = project / "results/site"
    for path in pages:
        if path != site / "index.html" and path.relative_to(site).parts[0] != "source":  # the index leads elsewhere
            tab.open(path, width)
            beyond = tab.value("document.documentElement.scrollWidth - innerWidth")
            asked = [e["params"]["request"]["url"] for e in tab.events if e["method"] == "Network.requestWillBeSent"]
            elsewhere = [url for url in asked if not url.startswith(("file:", "data:"))]
            faults[str(path)] = [max(beyond, 0), tab.value(CUT), tab.complaints, elsewhere]
    assert len(faults) > 80
    assert not {path: found for path, found in faults.items() if any(found)}


@pytest.mark.browser
def test_the_page_of_every_table_shows_the_whole_table_on_a_screen_of_1280_pixels(project, tab):
    pages = sorted((project / "results/site").glob("results/released/*/tables/*.html"))
    wide = {}
    for path in pages:
        tab.open(path, 1280)
        wide[str(path.relative_to(project))] = tab.value(
            "(e => e.scrollWidth - e.clientWidth)(document.querySelector('.results'))"
        )
    assert len(pages) > 30
    assert not {path: pixels for path, pixels in wide.items() if pixels}


@pytest.mark.browser
@pytest.mark.parametrize("words", ["label smoothing", "Label smoothing hurts perplexity", "one head", "dropout"])
def test_the_search_finds_a_claim_without_a_server(project, tab, words):
    tab.open(project / "results/site/search.html", query=f"?q={quote_plus(words)}")
    end = time.monotonic() + 20
    while not (found := tab.value("[...document.querySelectorAll('#search-results li a')].map(e => e.textContent)")):
        assert time.monotonic() < end, "nothing is found"
        time.sleep(0.1)
    time.sleep(0.5)  # results come one by one
    found = tab.value("[...document.querySelectorAll('#search-results li a')].map(e => e.textContent)")
    assert [each for each in found if each.startswith("The paper\u2019s claims") and each.endswith(", small")]
    assert len(set(found)) == len(found), "pages have titles of their own"
    assert not tab.complaints


@pytest.mark.browser
def test_a_phone_shows_figures_at_a_width_at_which_they_can_be_read_and_the_whole_of_a_card(project, tab):
    tab.open(project / "results/site/docs/released/small.html", 390)
    assert tab.value("document.querySelector('article figure img').offsetWidth") >= 600
    assert tab.value("document.querySelector('article figure figcaption').getBoundingClientRect().right") <= 390
    tab.open(project / "results/site/results/released/quick/models/ende-base.html", 390)
    assert tab.value("(e => e.scrollWidth - e.clientWidth)(document.querySelector('article .table-wrapper'))") <= 0
