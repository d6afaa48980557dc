"""One HTML file in which trained models run: a reader types a sentence, and sees what each part of the paper does."""

import base64
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from transformer.package.config import PackageConfig
from transformer.support.files import InputError, read_bytes, write_text

FOLDER = Path(__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("*.js"))


def explored(folders: Sequence[tuple[Path, PackageConfig]], examples: Sequence[str]) -> str:
    """The page of some packages, given as folder and config, and of sentences to choose from.

    Raises InputError for a package that is not a Transformer, or that has an idea.
    """
    packages = [_package(folder, config) for folder, config in folders]
    name = packages[0]["name"] if len(packages) == 1 else f"{len(packages)} models"
    parts = {
        "title": escape(f"The Transformer: {name}"),
        "style": "".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.css"))),
        "data": _script("packages", packages) + _script("examples", list(examples)),
        "modules": _modules(),
    }
    html = (FOLDER / "page.html").read_text("utf-8")
    return re.sub(r"\{(title|style|data|modules)\}", lambda match: parts[match[1]], html)


def write_page(path: Path, folders: Sequence[tuple[Path, PackageConfig]], examples: Sequence[str]) -> None:
    """Write the page of `explored`. Raises its errors and those of `write_text`."""
    write_text(path, explored(folders, examples))


def _modules() -> str:
    """An import map of the page's modules. A page that is opened from disk may import data, but no files."""
    urls = {}
    for name in MODULES:
        code = re.sub(r'(?<=from ")\./(\w+)\.js(?=";)', r"\1", (FOLDER / f"{name}.js").read_text("utf-8"))
        urls[name] = f"data:text/javascript;base64,{base64.b64encode(code.encode()).decode()}"
    return json.dumps({"imports": urls})


def _script(name: str, content: Any) -> str:
    """JSON that the page's script reads. Nothing in it can close the script element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" class="{name}">{text}</script>\n'


def _package(folder: Path, config: PackageConfig) -> dict[str, Any]:
    """A package as the page holds it: its config, its weights and its vocabulary, as they are on disk."""
    if config.architecture.network != "transformer":
        raise InputError(f"{folder}: {config.model} has a {config.architecture.network} network; name a Transformer")
    if config.architecture.idea is not None:
        raise InputError(f"{folder}: {config.model} has an idea, which the page cannot express; name another")
    languages = f"{config.source} to {config.target}" if config.kind == "translation" else "parser"
    corpus = config.corpus
    text = f"{config.model} ({languages}), {config.training['parameters']:,} parameters, trained on "
    text += f"{corpus['corpus']} ({corpus['description']}; licence of the text: {corpus['licence']})"
    about = {"kind": config.kind, "decoding": asdict(config.decoding), "architecture": asdict(config.architecture)}
    card = folder / "README.md"
    bleu = re.search(r"^\| scores \| test,.*?\bBLEU ([\d.]+)", card.read_text("utf-8"), re.M) if card.exists() else None
    files = {"weights": "model.safetensors", "subwords": "subwords.model"}
    return {
        "name": f"{config.task} {config.model}, seed {config.seed}",
        "config": about,
        "facts": {"text": text, "parameters": config.training["parameters"], "bleu": bleu[1] if bleu else None},
        **{name: base64.b64encode(read_bytes(folder / file)).decode() for name, file in files.items()},
    }
