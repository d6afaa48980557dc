"""The site, made by `make site`. Its pages are those of this project, where they lie."""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

project = "Attention Is All You Need, reproduced"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_nb", "docs._ext.source_links", "docs._ext.results"]

root_doc = "README"
include_patterns = [
    "*.md",
    "config/README.md",
    "docs/**.md",
    "models/**.md",
    "results/README.md",
    "results/released/**.md",
    "results/*/runs/**/package/README.md",
]
exclude_patterns = [".*", "results/site", "tests", "benchmarks", "transformer", "workflow"]

myst_heading_anchors = 4
nb_execution_mode = "force"  # docs/notebook.md runs each time
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
highlight_language = "none"
nitpicky = True

html_baseurl = ""  # the site's address, if you publish it: search engines learn it from each page
html_theme = "furo"
html_title = project
html_additional_pages = {"index": "index.html"}  # leads to README.html
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_search_summary = False  # a browser fetches no page for it from a disk
html_show_copyright = False
html_use_index = False
