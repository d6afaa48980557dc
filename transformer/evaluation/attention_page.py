"""Attention of translations over their sources, as one HTML page that needs nothing else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import torch

from transformer.decoding.translate import Translation
from transformer.package.package import Package
from transformer.support.files import atomic

HEAD = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Attention of {title}</title>
<style>
:root { color-scheme: light }
body { font: 15px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto; max-width: 75rem;
  padding: 0 1.5rem }
h1 { font-size: 1.4rem; font-weight: 600; margin: 0 }
header { color: #666; margin-bottom: 2.5rem }
header h1 { color: #222 }
section { overflow-x: auto; margin-bottom: 3rem; border-top: 1px solid #ddd; padding-top: .75rem }
h2 { font-size: 1rem; font-weight: 400; margin: 0 0 .75rem; padding-left: 2.5rem; position: sticky; left: 0 }
h2 small { position: absolute; left: 0; color: #999 }
table { border-collapse: separate; border-spacing: 1px; font-size: 13px; line-height: 1.2 }
th { font-weight: 400; white-space: pre; padding: 0 .4rem }
thead th { writing-mode: vertical-rl; transform: rotate(180deg); text-align: left; padding: .4rem 0 }
tbody th { text-align: right; position: sticky; left: 0; background: #fff }
td { width: 1.6rem; min-width: 1.6rem; height: 1.6rem; padding: 0; border-radius: 2px;
  background: linear-gradient(rgb(20 80 160 / var(--w)) 0 0) #f4f5f7 }
td:hover { outline: 2px solid #e07b00 }
</style>
</head>
<body>
<header><h1>Attention of {title}</h1>
{attention}. Source across, output down: the darker a
cell, the more the output's subword reads of the source's. \u2581 begins a word. Hover for the weight.</header>
"""
SHOWN = {
    "transformer": "Encoder-decoder attention of the last decoder layer, mean over {heads} heads",
    "recurrent": "The decoder's attention over the encoder's output",
}


@contextmanager
def attention_page(path: Path, package: Package) -> Iterator[Callable[[int, Translation], object]]:
    """Show each line's number and translation that is given, and write the page when all went well.

    Raises InputError as `transformer.support.files.atomic` does.
    """
    config, sizes = package.config, package.config.architecture
    head = HEAD.replace("{title}", escape(f"{config.task} {config.model}"))
    with atomic(path) as stream:
        stream.write(head.replace("{attention}", SHOWN[sizes.network].format(heads=sizes.h)).encode())
        yield lambda number, translation: stream.write(section(package, number, translation).encode())
        stream.write(b"</body>\n</html>\n")


@torch.inference_mode()
def section(package: Package, number: int, translation: Translation) -> str:
    """The attention [output, source] of the best hypothesis of line `number`, as a table."""
    source, target = translation.source, translation.hypotheses[0].ids
    (text,) = package.subwords.decode([target])
    title = f"<section>\n<h2><small>{number}</small>{escape(translation.line)}<br>{escape(text)}</h2>\n"
    if not target:
        return f"{title}</section>\n"
    device, name = package.model.embedding.device, package.subwords.processor.id_to_piece
    source_BS, target_BT = (torch.tensor([side], device=device) for side in (source, target))
    weights = package.model.last_attention_weights(source_BS, target_BT)[0].mean(0)
    across, down = ([escape(piece) for piece in name(side)] for side in (source, target))
    rows = [
        f"<tr><th>{output}"
        + "".join(
            f'<td style="--w:{weight:.3f}" title="{output} reads {read}: {weight:.3f}">'
            for read, weight in zip(across, row, strict=True)
        )
        for output, row in zip(down, weights.tolist(), strict=True)
    ]
    columns = "".join(f"<th>{piece}" for piece in across)
    return "\n".join([f"{title}<table>\n<thead><tr><th>{columns}</thead>\n<tbody>", *rows, "</table>\n</section>\n"])
