"""Links to source files lead to pages with numbered lines, and those whose text is a symbol to its line."""

import ast
import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.osutil import relative_uri

from docs._ext.released import RELEASED, TITLES, experiments, shipped, write_model
from docs._ext.symbols import line_of

LANGUAGES = {
    ".py": "python",
    ".smk": "python",
    "Snakefile": "python",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".cff": "yaml",
    ".toml": "toml",
    ".sh": "bash",
    "Makefile": "make",
    "Containerfile": "docker",
    "LICENSE": "none",
    "requirements.txt": "none",
}
SYMBOLS = (".py", ".yaml", ".smk")  # files whose symbols have lines
INDEX = "source/index"
logger = logging.getLogger(__name__)


def language(path: Path) -> str | None:
    """The language of a source file; None for files that have no page."""
    return LANGUAGES.get(path.name) or LANGUAGES.get(path.suffix)


class Links(SphinxTransform):
    """Links to source files, folders and figures lead to pages of the site; images of other hosts are left out."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Change them in one document."""
        for node in list(self.document.findall(nodes.image)):
            if "://" in node["uri"]:
                node.parent.remove(node)
        for link in list(self.document.findall(_is_file_link)):
            name, _, place = link["reftarget"].partition("#")
            target = (self.env.doc2path(self.env.docname).parent / name).resolve()
            if uri := _uri(self.env, target):
                link.replace_self(self.to_line(link, target, f"{uri}#{place}" if place else uri))

    def to_line(self, link: nodes.Element, path: Path, uri: str) -> list[nodes.Node]:
        """The link; if its text is code that names a symbol of the file, to the symbol's line, with file and line."""
        name, symbol = path.relative_to(self.env.srcdir), link.astext()
        place: list[nodes.Node] = []
        if any(link.findall(nodes.literal)) and path.suffix in SYMBOLS and not symbol.endswith(path.name):
            try:
                line = line_of(path, symbol)
            except ValueError as error:
                logger.warning(str(error), location=link)
            else:
                uri += f"#line-{line}"
                place = [nodes.inline(text=f" ({name}, line {line})", classes=["place"])]
        return [nodes.reference("", "", *link.children, internal=True, refuri=uri), *place]


def _uri(env: BuildEnvironment, path: Path) -> str | None:
    """Where the site shows a file or folder, seen from the page that is read; None where it does not."""
    root = Path(env.srcdir)
    if not path.is_relative_to(root) or not path.exists():
        return None
    name = path.relative_to(root).as_posix()
    if path.parent == root / RELEASED and path.name in experiments(root):
        return _relative(env.docname, f"docs/released/{path.name}")
    if path.suffix == ".svg" and path.is_relative_to(root / RELEASED):
        page = _relative(env.docname, f"docs/released/{path.parents[1].name}")
        return f"{page}#{nodes.make_id(TITLES[path.stem])}"
    if path.relative_to(root) in shipped(root):
        return _relative(env.docname, f"{name}/explore")
    sources = list(filter(language, [path] if path.is_file() else sorted(path.rglob("*"))))
    for each in sources:
        env.note_dependency(each)  # `pages` makes a page of it
    if not sources:
        return None
    return _relative(env.docname, INDEX) + f"#{name}" if path.is_dir() else _relative(env.docname, f"source/{name}")


def _is_file_link(node: nodes.Node) -> bool:
    if isinstance(node, addnodes.pending_xref):  # in Markdown; one to a page has a domain
        return node["reftype"] == "myst" and not node["refdomain"]
    return isinstance(node, addnodes.download_reference)


def _relative(page: str, other: str) -> str:
    return relative_uri(f"{page}.html", f"{other}.html")


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each source file that is linked, and one that lists them by folder."""
    root = Path(app.srcdir)
    linked = {root / each for some in app.env.dependencies.values() for each in some}
    folders: dict[str, list[str]] = {}
    for path in sorted(each for each in linked if language(each) and each.is_file()):
        name, text = path.relative_to(root).as_posix(), path.read_text("utf-8")
        builder: Any = app.builder  # of html, which has a highlighter
        code = builder.highlighter.highlight_block(text, language(path), linenos="inline", linespans="line")
        yield (
            f"source/{name}",
            {"title": name, "body": f'<h1>{name}</h1>\n<div class="whole">{code}</div>'},
            "page.html",
        )
        link = f'<a href="{_relative(INDEX, f"source/{name}")}">{path.name}</a>'
        folders.setdefault(name.rpartition("/")[0], []).append(f"<li>{link} {_first_line(path, text)}</li>")
    lists = (
        f'<section id="{name}"><h2>{name or "Top folder"}</h2><ul>{"".join(each)}</ul></section>'
        for name, each in sorted(folders.items())
    )
    yield INDEX, {"title": "Source", "body": f"<h1>Source</h1>{''.join(lists)}"}, "page.html"


def write_models(app: Sphinx, error: Exception | None) -> None:
    """Write the pages in which the packages of the clone run."""
    for package in [] if error else shipped(Path(app.srcdir)):
        write_model(Path(app.srcdir), package, Path(app.outdir))


def _first_line(path: Path, text: str) -> str:
    found = ast.get_docstring(ast.parse(text)) if path.suffix == ".py" else None
    return html.escape(found or "").partition("\n")[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_transform(Links)
    app.connect("html-collect-pages", pages)
    app.connect("build-finished", write_models)
    return {"parallel_read_safe": True, "version": "1"}
