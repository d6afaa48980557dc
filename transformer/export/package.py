"""What the exports share: which packages can be expressed, and the files beside the weights.

Neither export can choose padding, whose logit has a bias of PADDING_BIAS.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from transformer.model.config import ModelConfig
from transformer.model.ids import PADDING
from transformer.model.positions import last_position
from transformer.package.package import Package, load_package
from transformer.support.files import InputError, atomic, read_bytes, write_json, write_lines
from transformer.support.strict import plain
from transformer.text.subwords import Subwords

POSITIONS = 1024  # longest sentence, in subwords, where positions are sinusoids
TYPICAL_LENGTH = 20  # of an output, in subwords
PADDING_BIAS = -1e4  # within float16
README = """\
# {config.model}, {config.source} to {config.target}

A Transformer of "Attention Is All You Need" (arXiv 1706.03762), trained on {corpus} ({description}; {licence});
exported from a package whose config.json is package.json here.

    {usage}

Beam search differs. Ours ranks by log P / ((5 + length) / 6)^{config.decoding.alpha}, this one by
log P / length^length_penalty: near n subwords, a length_penalty of {config.decoding.alpha} n / (n + 5) ranks as ours
does, {penalty:.2f} at n = {typical}. Ours ends a hypothesis whose end is among the best 2 x beam candidates of a step,
this one among the best beam. Sentences have at most {positions} subwords.
"""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder beside `path`, renamed to it on success, removed on failure.

    Raises InputError when `path` is there and not an empty folder, or cannot be written.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists and is not an empty folder; choose another")
    temporary = path.absolute().with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.mkdir(parents=True)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); free space or choose another folder"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_expressible(folder: Path, other: str, positions: tuple[str, ...]) -> Package:
    """A package that `other` can carry; `positions` are the encodings it knows. Raises InputError for others."""
    package = load_package(folder, torch.device("cpu"))
    model, config = package.config.model, package.config.architecture
    reason = None
    if config.network != "transformer":
        reason = f"a {config.network} network"
    elif config.attention_over_parameters is not None:
        reason = "attention over parameters in place of feed-forward layers"
    elif not config.d_k * config.h == config.d_v * config.h == config.d_model:
        reason = f"d_k {config.d_k}, d_v {config.d_v}, h {config.h}, and not d_k = d_v = d_model / h"
    elif config.attention != "scaled":
        reason = f"{config.attention} attention"
    elif config.attention_radius is not None:
        reason = f"self-attention restricted to {config.attention_radius} positions on either side"
    elif config.positions not in positions:
        reason = f"positions: {config.positions}"
    if reason:
        raise InputError(f"{folder}: {model} has {reason}, which {other} cannot express; use it with this program")
    if package.config.kind == "parsing":
        print(
            f"{folder}: a parser; in {other} it writes the best hypothesis, which may be no tree: "
            "only `parse` chooses and repairs",
            file=sys.stderr,
        )
    return package


def write_common(folder: Path, package: Package, origin: Path, names: tuple[str, ...], usage: str, **more: Any) -> None:
    """README.md, package.json, and of the package in `origin` history.csv and, by `names`, the SentencePiece model.

    `more` goes into package.json beside the package's config.
    """
    config = package.config
    values = {**config.corpus, "config": config, "positions": longest(config.architecture), "typical": TYPICAL_LENGTH}
    values["penalty"] = length_exponent(config.decoding.alpha)
    text = README.format(**values, usage=usage.format(**values))
    write_lines(folder / "README.md", text.splitlines())
    write_json(folder / "package.json", plain(config) | more)
    for name, source in {**dict.fromkeys(names, "subwords.model"), "history.csv": "history.csv"}.items():
        with atomic(folder / name) as stream:
            stream.write(read_bytes(origin / source))


def longest(config: ModelConfig) -> int:
    """The longest sentence, in subwords, that an export can carry."""
    return last_position(config) or POSITIONS


def length_exponent(alpha: float) -> float:
    """The exponent of length that ranks as ((5 + length) / 6)^alpha does near TYPICAL_LENGTH."""
    return alpha * TYPICAL_LENGTH / (TYPICAL_LENGTH + 5)


def pieces_of(subwords: Subwords) -> list[str]:
    """The subwords as text, by their ids."""
    return [subwords.processor.id_to_piece(i) for i in range(len(subwords))]


def logit_bias(vocabulary: int) -> Tensor:
    """[N]: what is added to the logits."""
    bias = torch.zeros(vocabulary)
    bias[PADDING] = PADDING_BIAS
    return bias
