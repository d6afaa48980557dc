"""Load a package: a trained model as a folder that stands alone."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from transformer.model.network import Network
from transformer.model.networks import network
from transformer.model.parameters import parameters
from transformer.package.config import IDEA, PackageConfig, read_package_config
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


def load_package(folder: Path, device: torch.device, trust_code: bool = False) -> Package:
    """Read a package; one with an idea only with `trust_code`, because this runs its code.

    Raises InputError when weights and config do not fit, and that of each file that is at fault.
    """
    folder = Path(folder)
    config = read_package_config(folder)
    architecture, vocabulary = config.architecture, config.vocabulary
    if architecture.idea is not None and not trust_code:
        raise InputError(
            f"{folder}: {config.model} has an idea, {IDEA}, which is Python code that would run with all your rights; "
            "read it, and add --trust-code if you trust it"
        )
    weights, _ = read_tensors(folder / "model.safetensors")
    other = f"{folder}: model.safetensors does not fit the architecture in config.json; copy or make it again"
    # So many layers or weights could fill the memory, so this comes before they are built.
    found = sum(map(Tensor.numel, weights.values()))
    if architecture.idea is None and (len(weights) < architecture.N or found != parameters(architecture, vocabulary)):
        raise InputError(other)
    model = network(architecture, vocabulary)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise InputError(other) from error
    return Package(config, model.to(device).eval(), Subwords(folder / "subwords.model"))
