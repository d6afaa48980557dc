"""The training loop (section 5): batches, loss, Adam, checkpoints; an interrupted run ends with the same weights."""

import contextlib
import hashlib
import json
import math
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from transformer.config import RunConfig
from transformer.data.batches import Batch, Batches, batch, chunks
from transformer.data.tokens import Pairs
from transformer.files import InputError, atomic
from transformer.model.flops import forward_flops
from transformer.model.transformer import Transformer
from transformer.progress import Progress
from transformer.strict import plain
from transformer.training.checkpoint import DamagedFileError, read_tensors, write_tensors
from transformer.training.device import faster_precision
from transformer.training.loss import batch_loss
from transformer.training.schedule import learning_rate

LOG_POINTS = 100  # rows of history.csv
DEV_POINTS = 10  # of which so many have a dev perplexity
DEV_PAIRS = 250  # over so many pairs; the whole dev set is scored after training
HISTORY = ("step", "loss", "learning_rate", "tokens_per_second", "dev_perplexity")


@dataclass
class State:
    """Where a run is, besides weights, optimiser and random numbers."""

    step: int = 0
    epoch: int = 0
    index: int = 0
    precision: str = ""
    seconds: float = 0.0
    target_tokens: int = 0
    flops: float = 0.0
    row_tokens: int = 0  # since the last row of the history
    row_seconds: float = 0.0
    history: list[list[float | None]] = field(default_factory=list)


class Interrupted(Exception):  # noqa: N818
    """SIGINT or SIGTERM came; the state is saved."""

    def __init__(self, number: int):
        super().__init__(f"interrupted by {signal.Signals(number).name}; the state is saved, start again to go on")
        self.number = number


@contextlib.contextmanager
def postponed_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM, so that the step under way ends first."""
    caught: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        caught.append(number)

    previous = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


class Trainer:
    """One run: its model, optimiser, data and state."""

    def __init__(
        self, config: RunConfig, vocabulary: int, train: Pairs, dev: Pairs, folder: Path, device: torch.device
    ):
        """`folder` holds the state. Raises InputError when it is the state of another config, vocabulary or data."""
        training = config.training
        self.config, self.vocabulary, self.dev = config, vocabulary, dev
        self.folder, self.device = folder, device
        self.made_of = {"config": plain(config), "vocabulary": vocabulary, "data": digest(train, dev)}
        torch.manual_seed(config.seed)
        self.model = Transformer(config.architecture, vocabulary).to(device)
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=0.0,
            betas=(training.beta1, training.beta2),
            eps=training.epsilon,
            fused=True,
        )
        self.batches = Batches(
            train, training.batch_tokens, training.micro_batch_tokens, training.longest_pair, config.seed
        )
        if left_out := len(train) - len(self.batches.kept):
            print(
                f"{config.task} {config.model}: {left_out} of {len(train)} pairs have more than "
                f"{training.longest_pair} subwords on a side and are left out (longest_pair)",
                file=sys.stderr,
            )
        self.not_finite = torch.zeros((), dtype=torch.long, device=device)
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=device)  # since the last row of the history
        self.state = State()
        if not self.restore():
            self.state.precision = faster_precision(device) if training.precision == "auto" else training.precision

    def autocast(self) -> torch.autocast:
        """The precision of matrix products; weights stay float32."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.state.precision == "bfloat16")

    def train(self, save_seconds: float = 60.0) -> None:
        """Train up to the last step. The state is saved every `save_seconds` and when a signal comes.

        Raises Interrupted then, and InputError naming the step when the loss is no number.
        """
        steps, checkpoints = self.config.training.steps, set(self.config.training.checkpoint_steps())
        rows = self.points(LOG_POINTS)
        progress = Progress(f"{self.config.task} {self.config.model}", steps, "step", self.state.step)
        saved = mark = time.monotonic()
        self.model.train()
        with postponed_signals() as caught:
            for epoch, index, batches in self.batches.from_position(self.state.epoch, self.state.index):
                if self.state.step >= steps:
                    break
                self.step(batches)
                self.state.epoch, self.state.index = epoch, index
                step, now = self.state.step, time.monotonic()
                self.state.seconds += now - mark
                self.state.row_seconds += now - mark
                if step in rows:
                    self.log()
                progress.update(1, self.note())
                if step in checkpoints:
                    self.check_finite()
                    write_tensors(self.checkpoint(step), self.model.state_dict(), self.identity())
                if caught or step == steps or time.monotonic() - saved > save_seconds:
                    start = time.monotonic()
                    self.save()
                    saved = time.monotonic()
                    save_seconds = max(save_seconds, 20 * (saved - start))
                if caught and step < steps:
                    raise Interrupted(caught[0])
                mark = time.monotonic()
        progress.close()

    def step(self, batches: list[Batch]) -> None:
        """One update from the summed gradients of a step's micro-batches (equation 3, section 5.3)."""
        training = self.config.training
        rate = training.learning_rate * learning_rate(
            self.state.step + 1, self.config.architecture.d_model, training.warmup
        )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        tokens = sum(micro.target_tokens for micro in batches)
        for micro in batches:
            with self.autocast():
                loss = self.loss(micro, training.eps_ls)
            (loss / tokens).backward()
            self.loss_sum += loss.detach()
            self.state.flops += 3 * forward_flops(self.config.architecture, self.vocabulary, micro.lengths)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.state.step += 1
        self.state.target_tokens += tokens
        self.state.row_tokens += tokens
        first = (self.not_finite == 0) & ~torch.isfinite(self.loss_sum)
        self.not_finite = torch.where(first, self.state.step, self.not_finite)

    def loss(self, pairs: Batch, eps_ls: float) -> Tensor:
        """Summed loss of a batch (`batch_loss`)."""
        return batch_loss(self.model, pairs, eps_ls)

    def points(self, count: int) -> set[int]:
        """`count` steps evenly spread up to the last."""
        return {math.ceil(self.config.training.steps * i / count) for i in range(1, count + 1)}

    def check_finite(self) -> None:
        """Raises InputError when a loss so far was no number."""
        if step := int(self.not_finite):
            raise self.diverged("loss", step)

    def diverged(self, what: str, step: int) -> InputError:
        """The error of a loss or perplexity that is no number."""
        return InputError(
            f"{self.config.task} {self.config.model}: the {what} is not finite at step {step}; lower learning_rate, "
            "raise warmup, or set precision to float32"
        )

    def log(self) -> None:
        """Add a row to the history: mean loss a subword since the last row, and now and then the dev perplexity."""
        self.check_finite()
        state = self.state
        loss, speed = self.loss_sum.item() / state.row_tokens, state.row_tokens / max(state.row_seconds, 1e-9)
        perplexity = self.dev_perplexity() if state.step in self.points(DEV_POINTS) else None
        state.history.append([state.step, loss, self.optimizer.param_groups[0]["lr"], speed, perplexity])
        self.loss_sum.zero_()
        state.row_tokens, state.row_seconds = 0, 0.0
        write_history(self.folder / "history.csv", state.history)

    def note(self) -> str:
        """What progress shows beside the steps."""
        if not self.state.history:
            return ""
        _, loss, _, speed, _ = self.state.history[-1]
        return f"loss {loss:.3f}, {speed:.0f} subwords/s"

    @torch.no_grad()
    def dev_perplexity(self) -> float | None:
        """Perplexity a subword of the first DEV_PAIRS pairs of dev, end of sentence counted, without label smoothing.

        Pairs beyond max_length are left out. Raises InputError when it is no number.
        """
        self.model.eval()
        total, tokens = 0.0, 0
        longest = self.dev.lengths[:DEV_PAIRS].max(1)
        order = np.argsort(longest, kind="stable")[: int((longest <= self.config.architecture.max_length).sum())]
        if not len(order):
            return None
        for part in chunks(self.dev.lengths, order, self.config.training.micro_batch_tokens):
            pairs = batch(self.dev, part)
            with self.autocast():
                total += self.loss(pairs, 0.0).item()
            tokens += pairs.target_tokens
        self.model.train()
        if not total / tokens < 700:  # no number, or its exponential none
            raise self.diverged("dev perplexity", self.state.step)
        return math.exp(total / tokens)

    def checkpoint(self, step: int) -> Path:
        """Where the checkpoint of a step is kept until the run ends."""
        return self.folder / f"step-{step}.safetensors"

    def identity(self) -> dict[str, str]:
        """What a checkpoint says of itself."""
        return {key: json.dumps(value) for key, value in {**self.made_of, "step": self.state.step}.items()}

    def save(self) -> None:
        """Save all that the next step depends on; the state before it stays as `previous`."""
        self.check_finite()
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        for name, parameter in self.model.named_parameters():
            for key, tensor in self.optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = tensor
        tensors["loss_sum"] = self.loss_sum
        tensors["random.cpu"] = torch.get_rng_state()
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        current = self.folder / "state.safetensors"
        if current.exists():
            current.replace(self.folder / "previous.safetensors")
        write_tensors(current, tensors, self.identity() | {"state": json.dumps(plain(self.state))})

    def restore(self) -> bool:
        """Go back to the newest undamaged state; a damaged one is removed. False when there is none."""
        for name in ("state", "previous"):
            path = self.folder / f"{name}.safetensors"
            if not path.exists():
                continue
            try:
                tensors, metadata = read_tensors(path)
            except DamagedFileError:
                before = "the state before it" if name == "state" else "the start"
                print(f"warning: {path}: damaged, removed; going on from {before}", file=sys.stderr)
                path.unlink()
                continue
            others = [key for key, value in self.made_of.items() if json.loads(metadata.get(key, "null")) != value]
            if others:
                raise InputError(
                    f"{path}: the state of another {' and '.join(others)}; remove {self.folder} to train from the start"
                )
            self.load(tensors, State(**json.loads(metadata["state"])))
            print(f"resuming at step {self.state.step}", file=sys.stderr)
            return True
        return False

    def load(self, tensors: dict[str, Tensor], state: State) -> None:
        """Take over what `save` saved."""
        self.model.load_state_dict({n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")})
        for name, parameter in self.model.named_parameters():
            self.optimizer.state[parameter] = {
                key: tensors[f"adam.{key}.{name}"].to(self.device) for key in ("step", "exp_avg", "exp_avg_sq")
            }
        self.loss_sum.copy_(tensors["loss_sum"])
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type == "cuda" and "random.cuda" in tensors:
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)
        self.state = state


def digest(*parts: Pairs) -> str:
    """The SHA-256 of encoded pairs."""
    content = hashlib.sha256()
    for pairs in parts:
        content.update(pairs.offsets)
        content.update(pairs.ids)
    return content.hexdigest()


def write_history(path: Path, rows: list[list[Any]]) -> None:
    """Write history.csv; an empty field where nothing was measured."""
    lines = [",".join(HISTORY)] + [",".join("" if x is None else f"{x:.8g}" for x in row) for row in rows]
    with atomic(path) as stream:
        stream.write(("\n".join(lines) + "\n").encode())
