"""Random text and ids with lengths like WMT's. They are enough to measure speed."""

from pathlib import Path

import numpy as np
import torch

from transformer.model.config import ModelConfig
from transformer.model.ids import END, UNKNOWN
from transformer.model.transformer import Transformer
from transformer.package.config import SECTION_6_1
from transformer.package.making import save_package
from transformer.support.strict import plain
from transformer.text.subwords import Subwords, learn
from transformer.text.tokens import Packed, Pairs, write_pairs

ROOT = Path(__file__).parents[2]
RANDOM_TEXT = {"corpus": "random", "description": "random words", "licence": "none", "pairs": {"train": 0}}
NOT_TRAINED = {
    **dict.fromkeys(("steps", "left_out", "longest_pair", "target_tokens"), 0),
    **dict.fromkeys(("seconds", "flops"), 0.0),
    **dict.fromkeys(("device", "precision", "config_sha256"), "none"),
    "devices": 1,
    "software": {"commit": "none"},
}


def drawn_lengths(count: int, longest: int, ratio: float = 1.0) -> np.ndarray:
    """Lengths [count, 2] like those of WMT's pairs: most are about 25 subwords, a few are ten times as long.

    The target is `ratio` times as long as a translation would be.
    """
    random = np.random.default_rng(1)
    source = random.lognormal(3.15, 0.62, count)
    target = source * np.exp(random.normal(0.05, 0.18, count)) + random.normal(0, 1, count)
    return np.clip(np.stack([source, ratio * target], 1).round().astype(np.int64) + 1, 2, longest)


def drawn_pairs(prefix: Path, lengths: np.ndarray, vocabulary: int) -> Pairs:
    """Pairs of random ids. The vocabulary has at most 65,536 subwords."""
    sizes = lengths.flatten()
    ids = np.random.default_rng(2).integers(UNKNOWN + 1, vocabulary, sizes.sum(), dtype=np.uint16)
    ids[np.cumsum(sizes) - 1] = END
    write_pairs(prefix, [Packed(ids, sizes)], vocabulary)
    return Pairs.read(prefix)


def drawn_text(lengths: np.ndarray, vocabulary: int) -> list[str]:
    """Lines of `lengths` random words. There are about 1.6 different words for each subword of a vocabulary."""
    random = np.random.default_rng(3)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(random.choice(letters, size)) for size in random.integers(2, 9, int(1.6 * vocabulary))]
    order = iter(np.resize(random.permutation(len(words)), lengths.sum()).tolist())
    return [" ".join(words[next(order)] for _ in range(length)) for length in lengths.tolist()]


def random_package(folder: Path, architecture: ModelConfig, vocabulary: int) -> None:
    """Write a package with random weights to `folder`."""
    subwords, history = folder.with_suffix(".model"), folder.with_suffix(".csv")
    learn(drawn_text(np.full(vocabulary, 3), vocabulary), vocabulary, subwords)
    history.write_text("step,dev_perplexity\n")
    torch.manual_seed(1)
    model = Transformer(architecture, vocabulary)
    training = {"parameters": sum(each.numel() for each in model.parameters()), **NOT_TRAINED}
    names = {"task": "ende", "kind": "translation", "model": "base", "seed": 1, "source": "en", "target": "de"}
    sizes = {"architecture": plain(architecture), "vocabulary": len(Subwords(subwords)), "averaged": []}
    config = {**names, **sizes, "decoding": plain(SECTION_6_1), "corpus": RANDOM_TEXT, "training": training}
    save_package(folder, config, model.state_dict(), subwords, history)
