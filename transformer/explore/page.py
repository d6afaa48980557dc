"""One HTML file in which trained models run: a reader types a sentence, and sees what each part of the paper does."""

import base64
import csv
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

from transformer.package.config import PackageConfig
from transformer.support.files import InputError, read_bytes, read_lines, write_text

FOLDER = Path(__file__).parent
CLAIMED = ("Claim", "Measure", "Rows", "Verdict", "Seeds")  # what is read of a table of claims
MODULES = sorted(path.stem for path in FOLDER.glob("*.js"))


def explored(folders: Sequence[tuple[Path, PackageConfig]], examples: Sequence[str], claims: Path | None = None) -> str:
    """The page of some packages, given as folder and config, and of sentences to choose from.

    With a table of claims (csv), the verdicts about each package stand beside it. The first package is what the others
    are compared with, so it has none. Raises InputError for a package that is not a Transformer or that has an idea,
    and for another table.
    """
    packages = [_package(folder, config) for folder, config in folders]
    verdicts = _verdicts(claims) if claims else {}
    for package, (_, config) in list(zip(packages, folders, strict=True))[1:]:
        package["facts"]["claims"] = verdicts.get(f"{config.task}/{config.model}".removeprefix("ende/"), [])
    subwords = list(dict.fromkeys(package["subwords"] for package in packages))  # rows of a task share theirs
    for package in packages:
        package["subwords"] = subwords.index(package["subwords"])
    name = packages[0]["name"] if len(packages) == 1 else f"{len(packages)} models"
    parts = {
        "title": escape(f"The Transformer: {name}"),
        "style": "".join(path.read_text("utf-8") for path in sorted(FOLDER.glob("*.css"))),
        "data": _script("packages", packages) + _script("subwords", subwords) + _script("examples", list(examples)),
        "modules": _modules(),
    }
    html = (FOLDER / "page.html").read_text("utf-8")
    return re.sub(r"\{(title|style|data|modules)\}", lambda match: parts[match[1]], html)


def write_page(
    path: Path, folders: Sequence[tuple[Path, PackageConfig]], examples: Sequence[str], claims: Path | None = None
) -> None:
    """Write the page of `explored`. Raises its errors and those of `write_text`."""
    write_text(path, explored(folders, examples, claims))


def _verdicts(path: Path) -> dict[str, list[dict[str, str]]]:
    """What a table of claims says about each row, by the row's name there: task/model, without the task ende."""
    found: dict[str, list[dict[str, str]]] = {}
    reader = csv.DictReader(read_lines(path))
    for row in reader:
        if missing := [column for column in CLAIMED if row.get(column) is None]:
            place = f"{path}:{reader.line_num}"
            raise InputError(f"{place}: has no {missing[0]}; name a claims.csv, as results/EXPERIMENT/tables has it")
        seeds = f"seeds: {row['Seeds']}" if row["Seeds"].isdigit() else row["Seeds"]  # or rounds; none if not run
        verdict = ", ".join(filter(None, (row["Verdict"], seeds)))
        for name in re.split(" [<≈] ", row["Rows"].partition(" (")[0]):
            found.setdefault(name, []).append({"claim": f"{row['Claim']} ({row['Measure']})", "verdict": verdict})
    return found


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
