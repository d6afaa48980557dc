"""Load a package: a trained model as a folder that stands alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from transformer.model.network import Network
from transformer.model.networks import network
from transformer.package.config import PackageConfig, read_package_config
from transformer.support.files import InputError
from transformer.support.tensors import read_tensors
from transformer.text.subwords import Subwords
from transformer.trees.tree import escaped


@dataclass(frozen=True)
class Package:
    """A model that is ready to use."""

    config: PackageConfig
    model: Network
    subwords: Subwords

    def as_read(self, line: str) -> str:
        """A line of source as the model learnt to read it: a parser's with brackets as in treebanks."""
        return escaped(line) if self.config.kind == "parsing" else line


def load_package(folder: Path, device: torch.device) -> Package:
    """Read a package. Raises InputError when weights and config do not fit, and that of each file that is at fault."""
    folder = Path(folder)
    config = read_package_config(folder)
    weights, _ = read_tensors(folder / "model.safetensors")
    if not _fit(weights, config):
        raise InputError(
            f"{folder}: model.safetensors does not fit the architecture in config.json; copy or make it again"
        )
    model = network(config.architecture, config.vocabulary)
    model.load_state_dict(weights)
    return Package(config, model.to(device).eval(), Subwords(folder / "subwords.model"))


def _fit(weights: Mapping[str, Tensor], config: PackageConfig) -> bool:
    """Whether weights have the shapes that the config asks for. Takes no memory for these, which may be too large."""
    if len(weights) < config.architecture.N:  # building so many layers could take for ever
        return False
    with torch.device("meta"):
        wanted = network(config.architecture, config.vocabulary).state_dict()
    return {name: weight.shape for name, weight in weights.items()} == {name: w.shape for name, w in wanted.items()}
