"""Pages of the released results, and contents."""

import re
from pathlib import Path
from typing import Any
from zlib import crc32

from sphinx.application import Sphinx

from docs._ext.released import RELEASED, experiment_page, experiments, models_page, table_page, toctree

GENERATED = "docs/released"


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
    """Released tables become pages, and indexes get the contents that they list."""
    root, path = Path(app.srcdir), Path(app.srcdir, docname + ".md")
    if path.parent.name == "tables" and path.is_relative_to(root / RELEASED):
        app.env.note_dependency(str(path.with_suffix(".html")))
        content[0] = table_page(path)
    elif docname == app.config.root_doc:
        content[0] += _contents(root)
    elif path.name == "index.md":
        content[0] += "\n\n" + toctree(re.findall(r"\]\(([\w-]+)\.md\)", content[0]), "hidden:")


def _contents(root: Path) -> str:
    results = sorted(experiments(root), key=lambda name: (name != "quick", name))  # the default experiment comes first
    pages = [path.stem for path in sorted((root / "docs").glob("*.md")) if path.stem not in results]
    models = [f"{GENERATED}/models"] if (root / GENERATED / "models.md").exists() else []
    released = [f"{name} <{GENERATED}/{name}>" for name in results]
    first, evidence = ("install", "experiments", "use", "faq"), ("evidence", "protocol", "protocol-2")
    elsewhere = {*first, *evidence, "results", "differences", "notebook", "course"}
    parts = {
        "The paper": ["docs/paper/index", "docs/notebook", "docs/course", "docs/differences"],
        "Run": [f"docs/{name}" for name in first],
        "Results": ["docs/results", "results/README", *released, *models],
        "Evidence": [f"docs/{name}" for name in evidence],
        "How to": ["config/README", *(f"docs/{name}" for name in pages if name not in elsewhere)],
        "Notes": ["docs/notes/index"],
        "Project": ["CONTRIBUTING", "CHANGELOG"],
    }
    return "".join("\n\n" + toctree(entries, "hidden:", f"caption: {caption}") for caption, entries in parts.items())


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", read_page)
    app.connect("env-get-outdated", lambda *_: [app.config.root_doc])  # its contents follow the folders
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {"parallel_read_safe": True, "version": "1", "env_version": crc32(code)}  # other code reads all pages again
