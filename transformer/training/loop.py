"""The training loop (section 5): batches, loss, Adam, checkpoints. An interrupted run ends with the same weights."""

import contextlib
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from transformer.model.built import check_idea
from transformer.model.flops import forward_flops, optimizer_flops
from transformer.model.idea import blaming
from transformer.model.ids import END, PADDING
from transformer.model.masks import Rows
from transformer.model.networks import network
from transformer.support.device import auto_precision, within_memory
from transformer.support.digest import digest
from transformer.support.files import InputError
from transformer.support.progress import Progress
from transformer.support.strict import plain
from transformer.support.tensors import read_tensors, write_tensors
from transformer.text.batches import UNIT, Batch, Batches, once
from transformer.text.tokens import Pairs
from transformer.training.config import RunConfig, checkpoint_name
from transformer.training.distributed import ALONE, World
from transformer.training.history import HISTORY_FILE, show, write_history
from transformer.training.loss import per_subword
from transformer.training.optimizer import learning_rate
from transformer.training.passes import MICRO_BATCH_TOKENS, smaller_passes
from transformer.training.signals import Interrupted, postponed_signals
from transformer.training.state import StateWriter, TrainingState, changes, identity, newest_state, set_aside
from transformer.training.update import Updater

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

LOG_POINTS = 100  # rows of history.csv
DEV_POINTS = 10  # rows that have a dev perplexity
DEV_PAIRS = 250  # pairs of dev on which it is measured; the whole dev set is scored after training
_END, _PADDING = (Rows.of(torch.full((1, 1), each)) for each in (END, PADDING))
NOTHING = Batch(_END, _PADDING, np.array([[1, 0]]))  # no target, so no gradient
FIRST_SAVE = 10.0  # seconds; an early first save lets a run that is often killed make progress


class Trainer:
    """One run: its model, optimiser, data and state.

    All processes of a run hold the same weights and state; only their random numbers differ. Process 0 alone writes,
    prints and evaluates.
    """

    def __init__(
        self,
        config: RunConfig,
        vocabulary: int,
        train: Pairs,
        dev: Pairs,
        folder: Path,
        device: torch.device,
        world: World = ALONE,
        micro_batch_tokens: int = 0,
    ):
        """Prepare a run, or resume it from the state in `folder`.

        `vocabulary` is the number of subwords; `train` and `dev` are pairs as ids; `folder` holds state and
        checkpoints until the run ends; `device` is where this process computes; `world` describes all processes of the
        run. One forward pass takes about `micro_batch_tokens` subwords of a side (0: MICRO_BATCH_TOKENS of the device).
        A step sums the gradients of its passes. Raises InputError when the state belongs to another config, vocabulary
        or data, and when no pair is short enough.
        """
        training = config.training
        self.config, self.vocabulary = config, vocabulary
        self.folder, self.device, self.world = folder, device, world
        self.label = f"{config.task} {config.model}"
        self.made_of = identity(config, train, dev)
        self.micro_tokens = micro_batch_tokens or MICRO_BATCH_TOKENS[device.type]
        self.batches = Batches(
            train, training.batch_tokens, self.micro_tokens, training.longest_pair, config.seed, world.share
        )
        self.apart = device.type == "cuda"  # a CPU core packs batches as slowly as a GPU trains a small model
        most = max(config.architecture.max_length, training.longest_pair)
        which = np.flatnonzero(dev.lengths[:DEV_PAIRS].max(1) <= most)
        self.dev = list(once(dev, which, self.micro_tokens)) if len(which) else []
        torch.manual_seed(config.seed)
        self.model = network(config.architecture, vocabulary)
        if config.architecture.idea is not None:
            check_idea(self.model)
        self.model.to(device)
        rows = [side.ids.size(1) for pairs in self.dev for side in (pairs.source, pairs.target)]
        longest = max(*rows, *(length for shape in self.batches.shapes for length in shape[1:]))
        self.model.prepare(longest + UNIT)  # a GPU pads rows
        if world.size > 1:
            torch.manual_seed(int(np.random.SeedSequence([config.seed, world.rank]).generate_state(1)[0]))  # of dropout
        self.updater = Updater(self.model, training, device, world)
        if (left_out := len(train) - len(self.batches.kept)) and world.first:
            much = "warning: " if left_out > len(train) / 10 else ""
            print(
                f"{much}{self.label}: {left_out} of {len(train)} pairs have more than "
                f"{training.longest_pair} subwords on a side and are left out (longest_pair)",
                file=sys.stderr,
            )
        self.not_finite = torch.zeros((), dtype=torch.long, device=device)
        self.state, self.writer = TrainingState(digest("train")), StateWriter(folder)
        if not self.restore():
            precision = auto_precision(device) if training.precision == "auto" else training.precision
            self.state.precision = world.of_first(precision)
        self.updater.precision = self.state.precision

    @contextlib.contextmanager
    def within_memory(self) -> Iterator[None]:
        """The context that names the remedy when memory runs out in training, and an idea's line that fails."""
        held = min(self.micro_tokens, -(-self.config.training.batch_tokens // self.world.size))
        remedy = smaller_passes(held, max(max(shape[1:]) for shape in self.batches.shapes))
        with blaming(self.config.architecture.idea), within_memory(self.label, remedy):
            yield

    def try_compiler(self) -> None:
        """Compile the passes for a batch, if training is to be compiled; see `Updater.try_compiler`.

        It is the first of the epoch: late in a long one, packing up to the next takes minutes, and `train` does that
        anyway. Raises InputError when memory runs out.
        """
        if self.updater.compiled:
            _, _, batches = next(self.batches.from_position(self.state.epoch, 0))
            with self.within_memory():
                self.updater.try_compiler((batches or [NOTHING])[0], self.label)

    def train(
        self,
        save_seconds: float = 60.0,
        writer: "SummaryWriter | None" = None,
        reached: Callable[[int], None] | None = None,
    ) -> None:
        """Train up to the last step.

        The state is saved every `save_seconds`, for the first time after FIRST_SAVE seconds at the latest, and when any
        process receives a signal. It is written while the next steps train. `writer` gets each row of the history,
        and `reached` gets the number of each step. Raises Interrupted after a signal, and InputError when memory runs
        out, when a file cannot be written and, with the step, when the loss or the dev perplexity is not finite.
        """
        steps, checkpoints = self.config.training.steps, set(self.config.training.checkpoint_steps())
        rows = self.points(LOG_POINTS)
        progress = Progress(self.label, steps, "step", self.state.step) if self.world.first else None
        saved = mark = time.monotonic()
        wait = min(save_seconds, FIRST_SAVE)
        self.model.train()
        position = self.state.epoch, self.state.index
        with (
            postponed_signals() as caught,
            self.within_memory(),
            self.writer,
            contextlib.closing(self.batches.from_position(*position, apart=self.apart)) as packed,
        ):
            for epoch, index, batches in packed:
                if self.state.step >= steps:
                    break
                self.step(batches)
                self.state.epoch, self.state.index = epoch, index
                step = self.state.step
                if reached:
                    reached(step)
                signals, due = self.agree(caught, time.monotonic() - saved > max(wait, self.writer.pause))
                save = due or step == steps or bool(signals)
                if save or step in rows or step in checkpoints:
                    self.check_finite()  # this also waits until a GPU has done all steps so far, so their time counts
                now = time.monotonic()
                self.state.seconds += now - mark
                self.state.row_seconds += now - mark
                if step in rows:
                    self.log()
                    if writer:
                        show(writer, self.state.history[-1])
                if progress:
                    progress.update(1, self.note())
                if step in checkpoints and self.world.first:
                    write_tensors(self.folder / checkpoint_name(step), self.model.state_dict(), self.identity())
                if save:
                    self.save()
                    saved, wait = time.monotonic(), save_seconds
                if signals or step == steps:
                    self.writer.wait()
                    self.world.wait()  # torchrun ends all processes when one ends: the state has to be written by then
                if signals and step < steps:
                    raise Interrupted(signals[0])
                mark = time.monotonic()
        if progress:
            progress.close()

    def agree(self, caught: list[int], due: bool) -> tuple[list[int], bool]:
        """The signals that any process received, and whether process 0 wants to save."""
        mine = torch.tensor([next(iter(caught), 0), due])
        signals, dues = self.world.gather(mine).T.tolist()
        return [number for number in signals if number], bool(dues[0])

    def step(self, batches: list[Batch]) -> None:
        """One update from the summed gradients of a step's micro-batches (equation 3, section 5.3)."""
        flops = [3 * forward_flops(self.config.architecture, self.vocabulary, micro.lengths) for micro in batches]
        work = [sum(micro.target_tokens for micro in batches), sum(flops)]
        tokens, all_flops = self.world.gather(torch.tensor(work, dtype=torch.float64)).sum(0).tolist()
        batches, share = batches or [NOTHING], self.world.size / tokens  # `size` makes the mean over processes a sum
        self.state.step += 1
        self.updater(batches, share, self.rate())
        self.state.flops += all_flops + optimizer_flops(self.config.architecture, self.vocabulary)
        self.state.target_tokens += int(tokens)
        self.state.row_tokens += int(tokens)
        first = (self.not_finite == 0) & ~torch.isfinite(self.updater.loss_sum)
        self.not_finite = torch.where(first, self.state.step, self.not_finite)

    def rate(self) -> float:
        """The learning rate of this step."""
        training = self.config.training
        rate = learning_rate(self.state.step, self.config.architecture.d_model, training.warmup)
        return training.learning_rate * rate

    def points(self, count: int) -> set[int]:
        """`count` evenly spaced steps; the last is the run's last."""
        return {math.ceil(self.config.training.steps * i / count) for i in range(1, count + 1)}

    def check_finite(self) -> None:
        """Raises InputError in all processes when the loss of any process has not been finite."""
        if steps := [step for step in self.world.gather(self.not_finite).tolist() if step]:
            raise self.diverged("loss", min(steps))

    def diverged(self, what: str, step: int) -> InputError:
        """The error for a loss or perplexity that is not finite."""
        return InputError(
            f"{self.label}: the {what} is not finite at step {step}; lower learning_rate, "
            "raise warmup, or set precision to float32"
        )

    def log(self) -> None:
        """Add a row to the history: mean loss per subword since the last row and, in DEV_POINTS rows, dev perplexity.

        The gradient norm is the norm of this step's gradient of the mean loss per subword.
        """
        state = self.state
        loss = self.world.gather(self.updater.loss_sum).sum().item() / state.row_tokens
        speed = state.row_tokens / max(state.row_seconds, 1e-9)
        measured = self.world.first and state.step in self.points(DEV_POINTS)
        perplexity = self.dev_perplexity() if measured else None
        norm = nn.utils.get_total_norm(self.updater.gradients()).item()
        state.history.append([state.step, loss, self.rate(), norm, speed, perplexity])
        self.updater.loss_sum.zero_()
        state.row_tokens, state.row_seconds = 0, 0.0
        if self.world.first:
            write_history(self.folder / HISTORY_FILE, state.history)

    def note(self) -> str:
        """What the progress line shows beside the steps."""
        if not self.state.history:
            return ""
        _, loss, *_, speed, _ = self.state.history[-1]
        return f"loss {loss:.3f}, {speed:.0f} subwords/s"

    def dev_perplexity(self) -> float | None:
        """Perplexity per subword of the first DEV_PAIRS pairs of dev, without label smoothing.

        The end of sentence counts as a subword. Pairs longer than max_length and longest_pair are left out. Raises
        InputError when the perplexity is not finite.
        """
        if not self.dev:
            return None
        self.model.eval()
        total, tokens = 0.0, 0
        for batch in self.dev:
            total += self.updater.perplexity_loss(batch)
            tokens += batch.target_tokens
        self.model.train()
        if (perplexity := per_subword(total, tokens)) == math.inf:
            raise self.diverged("dev perplexity", self.state.step)
        return perplexity

    def identity(self) -> dict[str, str]:
        """The metadata of a checkpoint: the run that it belongs to, and its step."""
        return {key: json.dumps(value) for key, value in {**self.made_of, "step": self.state.step}.items()}

    def save(self) -> None:
        """Begin to save everything the next step depends on. The previous state stays as `previous`."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= self.updater.optimizer.saved(self.model)
        tensors["loss_sum"] = self.world.gather(self.updater.loss_sum)
        tensors["random.cpu"] = self.world.gather(torch.get_rng_state())
        if self.device.type == "cuda":
            tensors["random.cuda"] = self.world.gather(torch.cuda.get_rng_state(self.device))
        if self.world.first:
            self.writer.write(tensors, self.identity() | {"state": json.dumps(plain(self.state))})

    def restore(self) -> bool:
        """Load the newest undamaged state. Returns whether there is one. Raises InputError for that of another run.

        That of other code is set aside: weights would be of both.
        """
        newest = newest_state(self.folder) if self.world.first else None
        if newest and (before := json.loads(newest[2]["state"])).get("code") != self.state.code:
            newest, aside = None, set_aside(self.folder)
            steps = f"other code trained it to step {before['step']}; that state is now in {aside}"
            print(f"warning: {self.label}: {steps}, and the training begins anew", file=sys.stderr)
        path = self.world.of_first(newest and newest[0])
        if path is None:
            return False
        tensors, metadata = newest[1:] if newest else read_tensors(path)
        before = {key: json.loads(metadata[key]) for key in self.made_of if key in metadata}
        if others := changes(before, json.loads(json.dumps(self.made_of))):
            raise InputError(
                f"{path}: this state belongs to another run: {others}; change that back to go on, or remove "
                f"{self.folder} to start over"
            )
        self.load(tensors, TrainingState(**json.loads(metadata["state"])))
        if self.world.first:
            processes = len(tensors["loss_sum"])
            other = f" with {self.world.size} process(es) instead of {processes}; dropout will differ"
            print(f"resuming at step {self.state.step}{other * (processes != self.world.size)}", file=sys.stderr)
        return True

    def load(self, tensors: dict[str, Tensor], state: TrainingState) -> None:
        """Load what `save` wrote. A process that the saved run did not have keeps its own random state."""
        self.model.load_state_dict({n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")})
        self.updater.optimizer.load(tensors, self.model)
        rank = self.world.rank
        self.updater.loss_sum.copy_(tensors["loss_sum"][self.world.share].sum())
        if rank < len(tensors["random.cpu"]):
            torch.set_rng_state(tensors["random.cpu"][rank].clone())
        if self.device.type == "cuda" and rank < len(tensors.get("random.cuda", ())):
            torch.cuda.set_rng_state(tensors["random.cuda"][rank].clone(), self.device)
        self.state = state
