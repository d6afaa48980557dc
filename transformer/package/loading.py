"""Load a package: a trained model as a folder that stands alone."""

from dataclasses import dataclass
from pathlib import Path

import torch

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
    """Read a package. Raises InputError when weights and config do not fit, and errors of `read_package_config`."""
    folder = Path(folder)
    config = read_package_config(folder)
    weights, _ = read_tensors(folder / "model.safetensors")
    model = network(config.architecture, config.vocabulary)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    if shapes != {name: tensor.shape for name, tensor in weights.items()}:
        raise InputError(
            f"{folder}: model.safetensors does not fit the architecture in config.json; copy or make it again"
        )
    model.load_state_dict(weights)
    return Package(config, model.to(device).eval(), Subwords(folder / "subwords.model"))
