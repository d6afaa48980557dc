"""Attention of all layers and heads over some sentences, as one HTML page that needs no other file."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import torch

from transformer.decoding.parse import tree_of
from transformer.decoding.translate import Translation
from transformer.evaluation.attention import Kind, attention_modules, layers_and_heads, weights_of_all
from transformer.model.ids import END
from transformer.package.loading import Package
from transformer.support.files import atomic
from transformer.trees.drawing import draw

MOST = 256  # subwords of a side; the number of weights grows with the square of this number
STEPS = 255  # a weight is stored in a byte, as a multiple of 1 / 255


def around_data(title: str) -> tuple[str, str]:
    """What stands before and after the data of a page: its HTML with style and script. `title` is HTML, too."""
    html, style, script = (Path(__file__).with_suffix(f".{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    head, tail = html.split("<!-- data -->\n")
    return head.replace("{style}", style).replace("{title}", title), tail.replace("{script}", script)


@contextmanager
def attention_page(
    path: Path, package: Package, kind: Kind = "encoder-decoder", layer: int | None = None
) -> Iterator[Callable[[int, Translation], object]]:
    """A function that adds a line's number and translation to the page. The page is at `path` when all went well.

    The page first shows `layer`, counted from 1 (default: the last), of `kind` if the model has this kind. Raises the
    InputErrors of `transformer.support.files.atomic`.
    """
    layers, heads = layers_and_heads(package.model)
    kinds = list(attention_modules(package.model))
    model = {"kinds": kinds, "layers": layers, "heads": heads, "steps": STEPS}
    model |= {"kind": kind if kind in kinds else kinds[0], "layer": layer or layers}
    head, tail = around_data(escape(f"Attention of {package.config.task} {package.config.model}"))
    with atomic(path) as stream:
        stream.write(f"{head}{_script('model', model)}".encode())
        yield lambda number, translation: stream.write(_sentence(package, number, translation).encode())
        stream.write(tail.encode())


def _script(kind: str, content: dict[str, Any], label: str = "") -> str:
    """JSON that the page's script reads. Nothing in it can close the script element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" class="{kind}" data-label="{escape(label)}">{text}</script>\n'


def _sentence(package: Package, number: int, translation: Translation) -> str:
    """The best hypothesis of line `number` and all its weights, or a note that says why there are none."""
    source, target = translation.source, [*translation.hypotheses[0].ids, END]
    content: dict[str, Any] = {"source": translation.line, "target": translation.texts[0]}
    longest = max(len(source), len(target))
    if len(source) == 1:
        content["note"] = "This line is empty."
    elif longest > MOST:
        content["note"] = f"This sentence has {longest} subwords, and the page shows at most {MOST}. Split the line."
    else:
        names = package.subwords.processor.id_to_piece(translation.hypotheses[0].ids)
        content["pieces"] = {"source": package.subwords.pieces(translation.line), "target": names}
        content["weights"] = {
            kind: base64.b64encode((weights * STEPS).round().to(torch.uint8).cpu().numpy().tobytes()).decode()
            for kind, weights in weights_of_all(package.model, source, target).items()
        }
        if package.config.kind == "parsing":
            content["tree"] = _tree(package, number, translation)
    return _script("sentence", content, f"{number}. {translation.line}")


def _tree(package: Package, number: int, translation: Translation) -> dict[str, Any] | None:
    """The drawing of a parser's tree, the tree in brackets, and whether it was repaired."""
    made = tree_of(translation, package.config.corpus.get("leaves") == "tags")
    if made is None:
        return None
    tree, repaired = made
    return {"svg": draw({number: [tree]}), "brackets": str(tree), "repaired": repaired}
