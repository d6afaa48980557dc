"""The folder of a run. It has the state during training, then the checkpoints, history.csv and training.json."""

import contextlib
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from transformer.support.arrays import DamagedFileError, read_arrays
from transformer.support.device import device_name, within_memory
from transformer.support.digest import digest
from transformer.support.files import InputError, link, locked, read_bytes, read_json, sha256, write_json
from transformer.support.provenance import software
from transformer.support.strict import plain
from transformer.text.tokens import Pairs
from transformer.training.attempts import attempt, read_attempts, unlike
from transformer.training.config import RunConfig, checkpoint_name
from transformer.training.distributed import ALONE, World
from transformer.training.history import HISTORY_FILE, write_history
from transformer.training.loop import Trainer
from transformer.training.state import changes, identity, remove_states

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


# Files in the folder of the state. A run writes FINISHED at its end: what it was made of, and its record.
FINISHED = "finished.json"
ATTEMPTS = "attempts"
RECORD = "training.json"


def train_run(
    config: RunConfig,
    vocabulary: int,
    train: Pairs,
    dev: Pairs,
    folder: Path,
    device: torch.device,
    world: World = ALONE,
    tensorboard: Path | None = None,
    micro_batch_tokens: int = 0,
    trainings_per_gpu: int = 1,
) -> None:
    """Train one run and publish its checkpoints, history.csv and training.json in `folder`.

    While it trains, everything is in `folder`/state. Checkpoints, history and record also stay there (as hard links),
    so a run whose published files are lost is published again instead of trained again. With a folder `tensorboard`,
    TensorBoard gets the history too. `Trainer` explains `micro_batch_tokens`. The record notes `trainings_per_gpu`,
    because trainings that share a GPU take longer. Raises the errors of `Trainer`, and InputError when another process
    trains the run, when `folder` has a run of another config or data, when a checkpoint of the resumed state is lost,
    and when the package tensorboard is missing.
    """
    state = folder / "state"
    made_with = software() if world.first else {}  # read at the start: someone may change it during training
    with alone_in(folder) if world.first else contextlib.nullcontext():
        made_of = identity(config, train, dev) | {"code": digest("train")}
        if world.of_first(world.first and has_finished(folder, made_of, config)):
            return
        with within_memory(f"{config.task} {config.model}", "choose a smaller model or vocabulary"):
            trainer = Trainer(config, vocabulary, train, dev, state, device, world, micro_batch_tokens)
        if world.first and (lost := lost_checkpoints(state, config, trainer.state.step)):
            raise InputError(
                f"{state}: {lost[0]} is missing or damaged, and the state of step {trainer.state.step} cannot make it "
                f"again; remove {state} to start over"
            )
        trainer.try_compiler()
        of = (made_with, made_of["code"], trainings_per_gpu)
        noted = attempted(trainer, *of) if world.first else contextlib.nullcontext()
        with (
            summary_writer(tensorboard, trainer) if tensorboard and world.first else contextlib.nullcontext() as writer,
            within_memory(trainer.label, "end other programs that use the device, or choose a smaller model"),
            noted as reached,
        ):
            trainer.train(writer=writer, reached=reached)
        if world.first:
            write_history(state / HISTORY_FILE, trainer.state.history)
            write_json(state / FINISHED, {"made_of": made_of, "record": record_of(trainer)})
            publish(folder, config)


def has_finished(folder: Path, made_of: Mapping[str, Any], config: RunConfig) -> bool:
    """Whether this run has ended in `folder`. If what is published is not whole, it is published again from the state.

    Any code may have trained it, unless training.json is gone: Snakemake removes that to have a run trained again.
    Raises InputError when training.json is of another config or data, and when a published file is lost for good.
    """
    state, path = folder / "state", folder / RECORD
    record, kept = _whole(path), _whole(state / FINISHED, "made_of", "record")
    before, now = kept.get("made_of", {}), json.loads(json.dumps(made_of))
    if (there := path.exists()) and before:
        before = before | {"code": now["code"]}
    others = f" ({changes(before, now)})" if before and before != now else ""
    run, again = f"{config.task} {config.model}", f"remove {folder} to train it again"
    if there:
        here = {"config_sha256": config.sha256(), "data_sha256": made_of["data"]}
        if record and not here.items() <= record.items():
            which = f"another config or data; remove it or name another folder{others}"
            raise InputError(f"{folder}: has a finished run of {which}")
        lost = lost_files(folder / "checkpoints", folder / HISTORY_FILE, record, config) if record else [path.name]
        if not lost:
            by = "" if now["code"][:12] in str(record.get("attempts")) else " (by other code)"
            print(f"{run}: already finished{by}; {again}", file=sys.stderr)
            if kept:  # a kill may have come between publishing and this
                remove_states(state)
            return True
    if before == now and not lost_files(state, state / HISTORY_FILE, kept["record"], config):
        publish(folder, config)
        print(f"{run}: already finished; published again from {state}", file=sys.stderr)
        return True
    if there:
        raise InputError(f"{folder}: has a finished run, but {lost[0]} is missing or damaged; restore it, or {again}")
    if (state / FINISHED).exists():
        why = f"was trained otherwise{others}" if others else f"some of its files in {state} are missing or damaged"
        print(f"{run}: {why}, so it is trained again", file=sys.stderr)
        shutil.rmtree(state)
    return False


def _whole(path: Path, *keys: str) -> dict[str, Any]:
    """The JSON object that a run wrote. Empty if its file is missing or damaged, or a key has no object."""
    try:
        value = json.loads(read_bytes(path)) if path.exists() else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) and all(isinstance(value.get(key), dict) for key in keys) else {}


def lost_files(checkpoints: Path, history: Path, record: Mapping[str, Any], config: RunConfig) -> list[str]:
    """The checkpoints and the history of a finished run that are missing or damaged.

    Raises the InputErrors of `read_arrays` and `sha256` for one that cannot be read.
    """
    lost = lost_checkpoints(checkpoints, config)
    if not history.is_file() or record.get("history_sha256") not in (None, sha256(history)):
        lost.append(history.name)  # a record of an earlier version has no SHA-256
    return lost


def lost_checkpoints(folder: Path, config: RunConfig, step: int | None = None) -> list[str]:
    """The checkpoints up to a step (default: the last) that are missing in a folder, damaged, or of another config.

    Raises the InputErrors of `read_arrays` for one that cannot be read.
    """
    lost, wanted = [], json.loads(json.dumps(plain(config)))
    for each in config.training.checkpoint_steps():
        path = folder / checkpoint_name(each)
        if step is None or each <= step:
            try:
                texts = read_arrays(path)[1] if path.is_file() else {}
            except DamagedFileError:
                texts = {}
            found = {key: json.loads(texts.get(key, "null")) for key in ("config", "step")}
            lost += [path.name] * (found != {"config": wanted, "step": each})
    return lost


def attempted(
    trainer: Trainer, made_with: Mapping[str, str], trained_by: str, trainings_per_gpu: int
) -> contextlib.AbstractContextManager[Callable[[int], None]]:
    """The `attempt` of a trainer. Print what has changed since the last attempt and may change bits of the result."""
    path, step = trainer.folder / ATTEMPTS, trainer.state.step
    means = {
        "software": made_with,
        "device": device_name(trainer.device),
        "devices": trainer.world.size,
        "trainings_per_gpu": trainings_per_gpu,
        "threads": torch.get_num_threads(),
        "micro_batch_tokens": trainer.micro_tokens,
        "compiled": trainer.updater.model_compiled,
        "code": trained_by[:12],
    }
    if others := unlike(path, step, means):
        run = f"{trainer.config.task} {trainer.config.model}"
        print(f"{run}: resumes with {others} so the result may not be the same to the bit", file=sys.stderr)
    return attempt(path, step, means)


def summary_writer(folder: Path, trainer: Trainer) -> "SummaryWriter":
    """A writer of the run's TensorBoard scalars. It discards those after the step from which the trainer resumes.

    Raises InputError when the package tensorboard is missing.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError(
            "TensorBoard is not installed; install it with `pip install tensorboard`, or train without --tensorboard"
        ) from error
    run = trainer.config
    return SummaryWriter(folder / run.task / run.model / str(run.seed), purge_step=trainer.state.step + 1)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Lock a run's folder. The lock file is outside the state's folder: NFS cannot remove a folder with open files.

    Raises InputError when another process holds the lock, and when the folder cannot be written to.
    """
    path = folder / "state.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = path.open("w")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another folder") from error
    with lock:
        if not locked(lock):
            raise InputError(f"{folder}: another process trains this run; wait until it ends, or end it")
        yield


def publish(folder: Path, config: RunConfig) -> None:
    """Publish the results of a finished run, from its state, in `folder`, training.json last. Remove its saved states.

    Raises the InputErrors of `read_json` and `write_json`.
    """
    state = folder / "state"
    for name in map(checkpoint_name, config.training.checkpoint_steps()):
        link(state / name, folder / "checkpoints" / name)
    link(state / HISTORY_FILE, folder / HISTORY_FILE)
    write_json(folder / RECORD, read_json(state / FINISHED)["record"])
    remove_states(state)


def record_of(trainer: Trainer) -> dict[str, Any]:
    """The content of training.json of a run that has ended. Device and software are those of its last attempt."""
    config, state = trainer.config, trainer.state
    attempts = read_attempts(trainer.folder / ATTEMPTS)
    return {
        "task": config.task,
        "model": config.model,
        "seed": config.seed,
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "steps": state.step,
        "pairs": len(trainer.batches.kept),
        "left_out": len(trainer.batches.pairs) - len(trainer.batches.kept),
        "longest_pair": config.training.longest_pair,
        "seconds": state.seconds,
        "resumed": len(attempts) - 1,
        "steps_redone": sum(each["steps_redone"] for each in attempts),
        **{key: attempts[-1][key] for key in ("devices", "device", "threads", "software", "sustained_flops")},
        "flops": state.flops,
        "target_tokens": state.target_tokens,
        "precision": state.precision,
        "config_sha256": config.sha256(),
        "data_sha256": trainer.made_of["data"],
        "history_sha256": sha256(trainer.folder / HISTORY_FILE),
        "attempts": attempts,
    }
