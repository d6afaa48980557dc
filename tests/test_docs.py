"""Where the links of pages lead."""

import re

import pytest

from tests.pages import ROOT

FOLDERS = (".", "config", "docs", "docs/notes", "docs/paper", "results")
PAGES = [page for folder in FOLDERS for page in ROOT.glob(f"{folder}/*.md")]


def anchors(page):
    """The anchors that GitHub gives to the headings of a page."""
    if page.is_dir():  # a package; the site shows the page in which it runs
        return {*re.findall(r' id="([\w-]+)"', (ROOT / "transformer/explore/page.html").read_text())}
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^    .*$", "", page.read_text(), flags=re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings_that_exist(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if re.match(r"https?://", link):
            continue
        path, _, heading = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            broken.append(link)
    assert broken == []
