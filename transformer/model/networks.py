"""All networks, by their names in ModelConfig."""

from transformer.model.config import ModelConfig
from transformer.model.convolutional import Convolutional
from transformer.model.network import Network
from transformer.model.recurrent import Recurrent
from transformer.model.transformer import Transformer

NETWORKS: dict[str, type[Network]] = {
    "transformer": Transformer,
    "recurrent": Recurrent,
    "convolutional": Convolutional,
}


def network(config: ModelConfig, vocabulary: int) -> Network:
    """The network that a config describes, with random weights."""
    return NETWORKS[config.network](config, vocabulary)
