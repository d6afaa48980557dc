"""All networks, by their names in ModelConfig, and what an idea changes of one."""

import torch

from transformer.model.config import ModelConfig
from transformer.model.convolutional import Convolutional
from transformer.model.idea import blaming, module_of, name_of
from transformer.model.network import Network
from transformer.model.recurrent import Recurrent
from transformer.model.transformer import Transformer
from transformer.support.files import InputError

NETWORKS: dict[str, type[Network]] = {
    "transformer": Transformer,
    "recurrent": Recurrent,
    "convolutional": Convolutional,
}


def network(config: ModelConfig, vocabulary: int) -> Network:
    """The network that a config describes, with random weights. Raises InputError for an idea that does not work."""
    model = NETWORKS[config.network](config, vocabulary)
    if config.idea is not None:
        _change(model, config.idea)
    return model


def _change(model: Network, code: str) -> None:
    """Let an idea change a model that is just built. All random numbers that are drawn later stay the same."""
    shape = model.embedding.shape
    with torch.random.fork_rng(devices=[]), blaming(code, everything=True):
        returned = change(model) if (change := getattr(module_of(code), "change", None)) else None
    if returned is not None:
        text = "change(model) returns a value, which has no effect; replace parts of `model` itself"
        raise InputError(f"{name_of(code)}: {text}")
    if model.projection is not None or "logits" in vars(model) | model._modules or model.embedding.shape != shape:
        text = "changes the softmax, which an idea cannot: training and decoding make logits from `embedding` (tied)"
        raise InputError(f"{name_of(code)}: {text}")
    for place, module in model.named_modules():
        if hidden := [part for part in module._modules if hasattr(type(module), part)]:
            text = f"{hidden[0]} is a method of {type(module).__name__}, so a module of this name is never called"
            raise InputError(f"{name_of(code)}: {place}.{hidden[0]}: {text}; replace the whole by a subclass")
