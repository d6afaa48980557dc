"""Pages of the released results, and the directive `result`, which puts rows of their tables into a page."""

from pathlib import Path
from typing import Any, ClassVar
from zlib import crc32

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs._ext.released import experiment_page, experiments, models_page, selected, short_title, table_page, toctree

GENERATED = "docs/released"


class Result(SphinxDirective):
    """Rows of a released table, of one experiment or of several (default: quick).

    ```{result} TABLE
    :of: EXPERIMENT EXPERIMENT
    :rows: COLUMN = PATTERN | PATTERN
    :columns: PATTERN; PATTERN
    ```
    """

    required_arguments = 1
    option_spec: ClassVar = {
        "of": directives.unchanged_required,
        "rows": directives.unchanged,
        "columns": directives.unchanged_required,
    }

    def run(self) -> list[nodes.Node]:
        """A heading line and a table for each experiment. Raises an error of docutils for one without such rows."""
        table, root = self.arguments[0], Path(self.env.srcdir)
        column, _, patterns = self.options.get("rows", "").partition("=")
        rows = {column.strip(): [each.strip() for each in patterns.split("|")]} if column else {}
        columns = [each.strip() for each in self.options["columns"].split(";")]
        found = []
        for name in self.options.get("of", "quick").split():
            path = root / f"docs/{name}/tables/{table}.csv"
            if not path.exists():
                raise self.error(f"{path}: no such file; name a released experiment with this table")
            self.env.note_dependency(str(path))
            try:
                text = selected(path, rows, columns)
            except ValueError as error:
                raise self.error(str(error)) from error
            if not text:
                raise self.error(f"{path}: has no row where {self.options.get('rows')}")
            title = short_title(path.with_suffix(".md"))
            found.append(f"[{title}](/docs/{name}/tables/{table}.md) of `{name}`:\n\n{text}")
        return [nodes.container("", *self.parse_text_to_nodes("\n\n".join(found)), classes=["excerpt"])]


def write_pages(app: Sphinx) -> None:
    """Write the pages of experiments and trained models, and remove those of experiments that are gone."""
    root = Path(app.srcdir)
    pages = {name: experiment_page(root, name) for name in experiments(root)}
    if models := models_page(root):
        pages["models"] = models
    folder = root / GENERATED
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.md"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def read_page(app: Sphinx, docname: str, content: list[str]) -> None:
    """Released tables become pages; the start page gets the contents of the site."""
    path = Path(app.srcdir, docname + ".md")
    if path.parent.name == "tables" and path.parents[2].name == "docs":
        app.env.note_dependency(str(path.with_suffix(".html")))
        content[0] = table_page(path)
    elif docname == app.config.root_doc:
        content[0] += _contents(Path(app.srcdir))


def _contents(root: Path) -> str:
    results = sorted(experiments(root), key=lambda name: (name != "quick", name))  # the default experiment comes first
    pages = [path.stem for path in sorted((root / "docs").glob("*.md")) if path.stem not in results]
    models = [f"{GENERATED}/models"] if (root / GENERATED / "models.md").exists() else []
    released = [f"{name} <{GENERATED}/{name}>" for name in results]
    own = ("results", "differences", "evidence", "protocol")
    parts = {
        "Evidence": ["docs/evidence", "docs/protocol"],
        "The paper": ["docs/paper/index", "docs/differences"],
        "Results": ["docs/results", *released, *models],
        "How to": ["config/README", *(f"docs/{name}" for name in pages if name not in own)],
        "Project": ["CONTRIBUTING", "CHANGELOG"],
    }
    return "".join("\n\n" + toctree(entries, "hidden:", f"caption: {caption}") for caption, entries in parts.items())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_directive("result", Result)
    app.connect("builder-inited", write_pages)
    app.connect("source-read", read_page)
    app.connect("env-get-outdated", lambda *_: [app.config.root_doc])  # its contents follow the folders
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {"parallel_read_safe": True, "version": "1", "env_version": crc32(code)}  # other code reads all pages again
