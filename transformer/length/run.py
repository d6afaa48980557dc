"""One run of the study of length: train on short problems, then count right answers at every length."""

import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from transformer.length.config import LengthRun
from transformer.length.model import DecoderOnly
from transformer.length.problems import rows, vocabulary
from transformer.model.ids import PADDING
from transformer.support.device import within_memory
from transformer.support.files import InputError, as_json, atomic
from transformer.support.progress import Progress
from transformer.support.provenance import software
from transformer.training.loss import smoothed_cross_entropy
from transformer.training.optimizer import Adam, learning_rate


def run(config: LengthRun, output: Path) -> None:
    """Train a model and write, as JSON, the share of problems of each length that it solves.

    Raises InputError when memory runs out, and when the loss is not finite.
    """
    start = time.monotonic()
    made_with = software()
    label = f"{config.task} {config.positions} {config.seed}"
    with within_memory(label, "lower d_model, N, batch or problems"), atomic(output) as stream:
        model = train(config, label)
        right = {str(length): exact_match(model, config, length) for length in _tested(config)}
        record = {
            "task": config.task,
            "positions": config.positions,
            "seed": config.seed,
            "trained": config.recipe.trained,
            "steps": config.steps,
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "seconds": time.monotonic() - start,
            "software": made_with,
            "exact_match": right,
        }
        stream.write(as_json(record))


def _tested(config: LengthRun) -> range:
    return range(config.recipe.trained[0], config.recipe.tested + 1)


def train(config: LengthRun, label: str) -> DecoderOnly:
    """Train a model on new problems of random lengths in each step.

    Training follows section 5, but with the recipe's dropout and without label smoothing. Raises InputError when the
    loss is not finite.
    """
    recipe = config.recipe
    least, most = recipe.trained
    torch.manual_seed(config.seed)
    generator = np.random.default_rng(config.seed)
    model = DecoderOnly(config.architecture(), vocabulary(recipe.symbols))
    optimizer = Adam(model.parameters(), beta1=0.9, beta2=0.98, epsilon=1e-9)
    progress = Progress(label, config.steps, "step")
    for step in range(1, config.steps + 1):
        lengths = generator.integers(least, most + 1, recipe.batch)
        read, said = _drawn(config, generator, lengths.tolist())
        model.zero_grad()
        loss = smoothed_cross_entropy(model(read), said, 0.0, share=1 / int((said != PADDING).sum()))
        loss.backward()
        optimizer.step(recipe.learning_rate * learning_rate(step, recipe.d_model, recipe.warmup))
        progress.update(1)
    progress.close()
    if not torch.isfinite(loss):
        raise InputError(f"{label}: the loss is not finite; lower learning_rate or raise warmup")
    return model


@torch.no_grad()
def exact_match(model: DecoderOnly, config: LengthRun, length: int) -> float:
    """The share of problems of a length for which greedy search finds exactly the right answer.

    It does so if and only if each id of the answer has the highest logit, given the ids before it. One pass over
    questions with their answers is therefore enough. All runs of a task have the same test problems.
    """
    read, said = _drawn(config, np.random.default_rng([length]), [length] * config.recipe.problems)
    model.eval()
    right = (model(read).argmax(-1) == said) | (said == PADDING)
    return right.all(1).float().mean().item()


def _drawn(config: LengthRun, generator: np.random.Generator, lengths: list[int]) -> tuple[Tensor, Tensor]:
    read, said = rows(config.task, generator, lengths, config.recipe.symbols)
    return torch.from_numpy(read), torch.from_numpy(said)
