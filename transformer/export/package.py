"""What exports share: the check whether a package can be expressed, a new folder, and the files beside the weights."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from transformer.model.config import ModelConfig, last_position
from transformer.model.ids import PADDING
from transformer.package.config import PackageConfig, read_package_config
from transformer.package.loading import Package, load_package
from transformer.package.readme import hub_head
from transformer.support.files import InputError, atomic, part_folder, read_bytes, write_json, write_text
from transformer.support.strict import plain
from transformer.text.subwords import Subwords

POSITIONS = 1024  # longest sentence, in subwords, of an export with sinusoidal positions
TYPICAL_LENGTH = 20  # length of an output, in subwords
PADDING_BIAS = -1e4  # of the logit of padding, so that no export chooses it; within the range of float16
README = """\
# {config.model}, {config.source} to {config.target}

A Transformer of "Attention Is All You Need" (arXiv 1706.03762), trained on {corpus} ({description}; {licence}).
It was exported from a package, whose config.json is package.json here.

    {usage}

The beam search differs from ours in four ways. Ours ranks by log P / ((5 + length) / 6)^{config.decoding.alpha}; this
one ranks by log P / length^length_penalty. For outputs of about n subwords, both rank alike if length_penalty is
{config.decoding.alpha} n / (n + 5), which is {penalty:.2f} at n = {typical}. Ours ends a hypothesis if its end is among
the best 2 x beam candidates of a step; this one ends it only if its end is among the best beam. Ours searches on while
any hypothesis could still win at the greatest length; this one stops sooner. Ours ends an output that has
{config.decoding.extra} subwords more than its source (section 6.1); this one lets it grow to {positions}. Sentences
may have at most {positions} subwords.
"""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`. It is renamed to `path` on success and removed on failure.

    If `path` is a link, the folder that it names is written.

    Raises InputError when `path` exists and is not an empty folder, or cannot be written.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError(f"{path}: exists and is not an empty folder; choose another folder")
    try:
        folder = path.resolve()
        with part_folder(folder, path) as temporary:
            yield temporary
            temporary.replace(folder)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}); free space or choose another folder"
        ) from error


def check_expressible(folder: Path, package: PackageConfig, other: str, positions: tuple[str, ...]) -> None:
    """Raises InputError for a package that the program `other` cannot express. `positions` are those that it has."""
    model, config, reason = package.model, package.architecture, None
    if config.network != "transformer":
        reason = f"a {config.network} network"
    elif config.idea is not None:
        reason = "an idea"
    elif config.attention_over_parameters is not None:
        reason = "attention over parameters instead of feed-forward layers"
    elif not config.d_k * config.h == config.d_v * config.h == config.d_model:
        reason = f"d_k {config.d_k}, d_v {config.d_v}, h {config.h}, and not d_k = d_v = d_model / h"
    elif config.attention != "scaled":
        reason = f"{config.attention} attention"
    elif config.positions not in positions:
        reason = f"positions: {config.positions}"
    if reason:
        raise InputError(f"{folder}: {model} has {reason}, which {other} cannot express; decode it without {other}")


def load_expressible(folder: Path, other: str, positions: tuple[str, ...]) -> Package:
    """Load a package that `other` can express. Raises the errors of `load_package` and `check_expressible`."""
    check_expressible(folder, read_package_config(folder), other, positions)
    package = load_package(folder, torch.device("cpu"))
    if package.config.kind == "parsing":
        print(
            f"warning: {folder}: is a parser; {other} returns its best hypothesis, which may not be a tree, and only "
            "`parse` chooses and repairs trees",
            file=sys.stderr,
        )
    return package


def write_common(
    folder: Path,
    package: Package,
    origin: Path,
    names: tuple[str, ...],
    usage: str,
    reading: str = "",
) -> None:
    """Write README.md, package.json, history.csv and the SentencePiece model, this one under each of `names`.

    `origin` is the package's folder. `reading` says what the other software reads differently. Raises the InputErrors
    of `read_bytes` and `atomic`.
    """
    config = package.config
    values = {**config.corpus, "config": config, "positions": longest(config.architecture), "typical": TYPICAL_LENGTH}
    values["penalty"] = length_exponent(config.decoding.alpha)
    text = README.format(**values, usage=usage.format(**values))
    write_text(folder / "README.md", hub_head(vars(config)) + text + reading)
    write_json(folder / "package.json", plain(config))
    for name, source in {**dict.fromkeys(names, "subwords.model"), "history.csv": "history.csv"}.items():
        with atomic(folder / name) as stream:
            stream.write(read_bytes(origin / source))


def longest(config: ModelConfig) -> int:
    """The longest sentence, in subwords, that an export can carry."""
    return last_position(config) or POSITIONS


def length_exponent(alpha: float) -> float:
    """The exponent p such that length^p ranks like ((5 + length) / 6)^alpha near TYPICAL_LENGTH."""
    return alpha * TYPICAL_LENGTH / (TYPICAL_LENGTH + 5)


def pieces_of(subwords: Subwords) -> list[str]:
    """The text of each subword, in the order of ids."""
    return [subwords.processor.id_to_piece(i) for i in range(len(subwords))]


def logit_bias(vocabulary: int) -> Tensor:
    """[vocabulary]: the bias of the logits, 0 except for padding."""
    bias = torch.zeros(vocabulary)
    bias[PADDING] = PADDING_BIAS
    return bias
