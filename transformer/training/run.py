"""One run as a folder: its state while it trains; checkpoints, history.csv and training.json when it has ended."""

import contextlib
import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from transformer.support.device import device_name, sustained_flops
from transformer.support.files import InputError, write_json
from transformer.support.provenance import software
from transformer.text.tokens import Pairs
from transformer.training.attempts import interruptions
from transformer.training.config import RunConfig
from transformer.training.distributed import ALONE, World
from transformer.training.history import write_history
from transformer.training.loop import ATTEMPTS, Trainer
from transformer.training.state import remove_states

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


def train_run(
    config: RunConfig,
    vocabulary: int,
    train: Pairs,
    dev: Pairs,
    folder: Path,
    device: torch.device,
    world: World = ALONE,
    tensorboard: Path | None = None,
) -> None:
    """Train one run and publish, into `folder`, its checkpoints, history.csv and training.json.

    Until then all is in `folder`/state, which is removed at the end. The history goes to TensorBoard, too, if there is
    a folder for it. Raises Interrupted and InputError as `Trainer` does, and InputError while others train the same run
    and when the package tensorboard is missing.
    """
    state_folder = folder / "state"
    made_with = software() if world.first else {}  # before someone changes it
    with locked(state_folder) if world.first else contextlib.nullcontext():
        trainer = Trainer(config, vocabulary, train, dev, state_folder, device, world)
        with (
            summary_writer(tensorboard, trainer) if tensorboard and world.first else contextlib.nullcontext() as writer
        ):
            trainer.train(writer=writer)
        if world.first:
            publish(trainer, folder, made_with)
            remove_states(state_folder)
            shutil.rmtree(state_folder)


def summary_writer(folder: Path, trainer: Trainer) -> "SummaryWriter":
    """What writes a run's scalars for TensorBoard, those after the trainer's step."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError("TensorBoard is not installed; pip install tensorboard, or train without it") from error
    run = trainer.config
    return SummaryWriter(folder / run.task / run.model / str(run.seed), purge_step=trainer.state.step + 1)


@contextlib.contextmanager
def locked(state_folder: Path) -> Iterator[None]:
    """Keep a run's state to oneself."""
    try:
        state_folder.mkdir(parents=True, exist_ok=True)
        lock = (state_folder / "lock").open("w")
    except OSError as error:
        raise InputError(f"{state_folder}: cannot be written ({error.strerror}); choose another folder") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"{state_folder.parent}: another process trains this run; wait for it, or end it"
            ) from error
        yield


def publish(trainer: Trainer, folder: Path, made_with: Mapping[str, str]) -> None:
    """Write what a run that has ended leaves; training.json comes last."""
    config, state, device = trainer.config, trainer.state, trainer.device
    resumed, redone = interruptions(trainer.folder / ATTEMPTS)
    for step in config.training.checkpoint_steps():
        target = folder / "checkpoints" / f"step-{step}.safetensors"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        try:
            target.hardlink_to(trainer.checkpoint(step))
        except OSError:  # a file system without hard links
            shutil.copyfile(trainer.checkpoint(step), target)
    write_history(folder / "history.csv", state.history)
    write_json(
        folder / "training.json",
        {
            "task": config.task,
            "model": config.model,
            "seed": config.seed,
            "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
            "steps": state.step,
            "pairs": len(trainer.batches.kept),
            "left_out": len(trainer.batches.pairs) - len(trainer.batches.kept),
            "longest_pair": config.training.longest_pair,
            "seconds": state.seconds,
            "resumed": resumed,
            "steps_redone": redone,
            "devices": trainer.world.size,
            "device": device_name(device),
            "threads": torch.get_num_threads(),
            "sustained_flops": sustained_flops(device, torch.float32),
            "flops": state.flops,
            "target_tokens": state.target_tokens,
            "precision": state.precision,
            "config_sha256": hashlib.sha256(json.dumps(config.identity(), sort_keys=True).encode()).hexdigest(),
            "software": made_with,
        },
    )
