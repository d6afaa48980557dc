"""Compare how fast and how well our model and models of other libraries train, at the same dimensions.

    pip install -e ".[peers]"
    python -m benchmarks.train --tokens results/EXPERIMENT/tokens/TASK/train --vocabulary N

The peers are Hugging Face's MarianMTModel, x-transformers and torch.nn.Transformer. They compute the same function as
our model: they start with our weights, and use our positions, places of dropout, loss, Adam and learning rate. This is
checked before the first step. Our model reads sentences packed into rows. The peers read padded sentences of similar
length, with at most as many places in a step, so about 3 % fewer subwords.

Each model trains in a process of its own, as in use: in one process, models leave gaps in each other's memory, and this
slowed ours down by a tenth or more. In each round every model trains a few steps in turn, so that noise of the machine
affects all alike. The first rounds do not count. On a CPU a peer runs in its fastest setting: float32 or, if the CPU
multiplies it, bfloat16 autocast, and fused (sdpa) or plain (eager) attention. On a GPU it runs in bfloat16 with sdpa,
and only our model is compiled. Marian also runs in its default setting, float32 with sdpa.

Prints a table with medians over the rounds of three numbers: target subwords/s without padding, their ratio to
Marian's, and the share of the peak of matrix products in the same precision (MFU). Further columns are the padding, the
most GPU memory, the loss per subword of the first 500 pairs after all steps (without dropout), and its difference from
Marian's.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.measuring import print_head, print_row
from benchmarks.padded import padded, padded_steps
from benchmarks.peers import PEERS, PRECISIONS
from transformer.evaluation.turns import in_turns, seconds
from transformer.model.config import ModelConfig
from transformer.model.flops import forward_flops
from transformer.model.ids import PADDING
from transformer.support.device import (
    auto_precision,
    choose_device,
    device_name,
    keep_freed_memory,
    sustained_flops,
    use_gpu,
)
from transformer.text.batches import Batch
from transformer.text.tokens import Pairs
from transformer.training.config import RunConfig
from transformer.training.loop import Trainer
from transformer.training.loss import batch_loss
from transformer.training.optimizer import learning_rate
from workflow.experiment.config import read_experiment

ROUND = 10  # so many steps one model trains before the next one's turn
WARM = 2  # rounds that do not count, because memory still grows: page faults can take most of the time
TRIAL = 30  # steps to find a peer's fastest setting; the first third does not count
COMPARED = 500  # pairs on which losses are compared
WARMUP = 1000  # steps; with the paper's 4,000 a model learns too little in 200 steps to compare losses


def sized(N: int, d_model: int, d_ff: int, h: int, **training: Any) -> RunConfig:
    """Base of the experiment `paper` with other sizes, and other keys of its training."""
    paper = read_experiment([Path("config/paper.yaml")]).run("", "base", 1)
    sizes = {"N": N, "d_model": d_model, "d_ff": d_ff, "h": h, "d_k": d_model // h, "d_v": d_model // h}
    architecture = replace(paper.architecture, **sizes)
    return replace(paper, architecture=architecture, training=replace(paper.training, average=1, **training))


class Ours:
    """Our model, trained with the steps of the training loop."""

    def __init__(self, run: RunConfig, vocabulary: int, pairs: Pairs, device: torch.device):
        with TemporaryDirectory() as folder:
            micro = {"micro_batch_tokens": run.training.batch_tokens}
            self.trainer = Trainer(run, vocabulary, pairs, pairs, Path(folder), device, **micro)
        self.network, self.setting = self.trainer.model.train(), (self.trainer.state.precision,)

    def loss(self, pairs: Batch) -> Tensor:
        """The summed loss of a batch."""
        return batch_loss(self.network, pairs, self.trainer.config.training.eps_ls)

    def step(self, batches: list[Batch]) -> None:
        """One update."""
        self.trainer.step(batches)


def matrices(network: nn.Module) -> list[Tensor]:
    """The weight matrices of the layers: projections Q, K, V, output, inner and outer in this order, some joined."""
    return [x for x in network.parameters() if x.dim() == 2 and x.requires_grad and x is not network.embedding]


class Peer:
    """A model of another library that starts with our weights and trains with our loss, Adam and learning rate."""

    def __init__(self, kind: type, ours: Ours, *setting: str):
        """`setting` is the precision and the kind of attention."""
        self.trainer, self.setting, self.steps = ours.trainer, setting, 0
        training, vocabulary = ours.trainer.config.training, ours.trainer.vocabulary
        self.smoothing = training.eps_ls * vocabulary / (vocabulary - 1)  # in PyTorch the true subword has a share, too
        self.network = kind(ours.trainer.config.architecture, vocabulary, setting[1]).to(ours.trainer.device).train()
        with torch.no_grad():
            for module in self.network.modules():
                if isinstance(module, nn.LayerNorm):
                    module.eps = 1e-6
                elif isinstance(module, nn.Linear) and module.bias is not None:
                    module.bias.zero_()
            self.network.embedding.copy_(ours.network.embedding)[PADDING] = 0  # the decoder's first input
            flat = nn.utils.parameters_to_vector(matrices(ours.network))
            for matrix in matrices(self.network):
                matrix.copy_(flat[: matrix.numel()].view_as(matrix))
                flat = flat[matrix.numel() :]
        betas = (training.beta1, training.beta2)
        self.optimizer = torch.optim.Adam(self.network.parameters(), 0.0, betas, training.epsilon, fused=True)

    def loss(self, pairs: Batch) -> Tensor:
        """The summed loss of a batch."""
        source, target = pairs.source.ids.to(self.trainer.device), pairs.target.ids.to(self.trainer.device)
        logits, kept = self.network(source, target).flatten(0, 1), {"ignore_index": PADDING, "reduction": "sum"}
        return F.cross_entropy(logits, target.flatten(), label_smoothing=self.smoothing, **kept)

    def step(self, batches: list[Batch]) -> None:
        """One update."""
        self.steps += 1
        config, device = self.trainer.config, self.trainer.device
        rate = learning_rate(self.steps, config.architecture.d_model, config.training.warmup)
        self.optimizer.param_groups[0]["lr"] = rate
        tokens = sum(pairs.target_tokens for pairs in batches)
        for pairs in batches:
            with torch.autocast(device.type, torch.bfloat16, enabled=self.setting[0] == "bfloat16"):
                loss = self.loss(pairs)
            (loss / tokens).backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def without_dropout(system: Ours | Peer, pairs: Batch) -> float:
    """The summed loss of a batch without dropout, in float32 and not compiled."""
    system.network.eval()
    with torch.compiler.set_stance("force_eager"):
        loss = system.loss(pairs).item()
    system.network.train()
    return loss


def fastest(
    kind: type, settings: Sequence[tuple[str, str]], ours: Ours, some: Batch, steps: Sequence[list[Batch]]
) -> Peer:
    """A peer in its fastest setting. Raises SystemExit when its loss before training differs from ours."""
    if len(settings) > 1 and torch.cuda.is_available():
        settings = [("bfloat16", "sdpa")]
    elif auto_precision(ours.trainer.device) == "float32":  # bfloat16 would take ten times as long
        settings = [setting for setting in settings if setting[0] == "float32"]
    trials = [Peer(kind, ours, *setting) for setting in settings]
    theirs, expected = (without_dropout(system, some) for system in (trials[0], ours))
    if abs(theirs / expected - 1) > 1e-3:
        raise SystemExit(f"{kind.needs}: the loss at the start is {theirs}, ours {expected}; adapt benchmarks/peers.py")
    if len(trials) == 1:
        return trials[0]
    # Each step is a new one, as in training: PyTorch prepares bfloat16 products anew for each new shape.
    times = in_turns([lambda number, trial=trial: trial.step(steps[number]) for trial in trials], len(steps))
    skipped = len(steps) // 3
    spent = times[skipped:].sum(0)
    speeds = sum(micro.target_tokens for step in steps[skipped:] for micro in step) / spent
    tried = "; ".join(f"{', '.join(each)} {speed:,.0f}" for each, speed in zip(settings, speeds, strict=True))
    print(f"{kind.needs}, subwords/s in each setting: {tried}", file=sys.stderr)
    return Peer(kind, ours, *settings[spent.argmin()])


class Meter:
    """Measures the seconds of each round of a model, and the most GPU memory without that of other models."""

    def __init__(self, make: Callable[[], Ours | Peer], steps: Callable[[Ours | Peer], Sequence[list[Batch]]]):
        self.seconds: list[float] = []
        before = torch.cuda.memory_allocated()
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self.system = make()
        self.most = torch.cuda.max_memory_allocated() - before  # a CUDA graph takes its memory when it is recorded
        self.held = torch.cuda.memory_allocated() - before
        some = steps(self.system)
        self.rounds = [some[i : i + ROUND] for i in range(0, len(some), ROUND)]

    def round(self, number: int) -> None:
        """Train the steps of one round."""
        before = torch.cuda.memory_allocated()
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        self.seconds.append(seconds(lambda: [self.system.step(step) for step in self.rounds[number]]))
        self.most = max(self.most, torch.cuda.max_memory_allocated() - before + self.held)
        self.held += torch.cuda.memory_allocated() - before

    def lengths(self) -> list[np.ndarray]:
        """The lengths [pairs, 2] of the pairs of each round."""
        return [np.concatenate([micro.lengths for step in some for micro in step]) for some in self.rounds]

    def speeds(self) -> np.ndarray:
        """The target subwords/s of each round."""
        return np.array([each[:, 1].sum() for each in self.lengths()]) / self.seconds

    def flops(self, config: ModelConfig, vocabulary: int) -> float:
        """The median over the rounds of FLOP/s."""
        flops = [3 * forward_flops(config, vocabulary, each) for each in self.lengths()]
        return float(np.median(np.array(flops) / self.seconds))

    def padding(self) -> float:
        """The share of padding among all places in rows."""
        batches = [micro for some in self.rounds for step in some for micro in step]
        places = sum(micro.source.ids.numel() + micro.target.ids.numel() for micro in batches)
        return 1 - sum(each.sum() for each in self.lengths()) / places


@dataclass(frozen=True)
class Measured:
    """What is printed of one model."""

    setting: tuple[str, ...]
    speeds: np.ndarray  # of each round
    flops: float
    padding: float
    most: int
    loss: float


@dataclass(frozen=True)
class Setup:
    """What all models of a comparison share. It is sent to their processes."""

    run: RunConfig
    vocabulary: int
    tokens: Path
    device: torch.device
    threads: int

    def begin(self) -> tuple[Ours, list[list[Batch]], Batch]:
        """Prepare this process; returns our model, the peers' steps, and the pairs on which losses are compared."""
        torch.set_num_threads(self.threads)
        keep_freed_memory()  # our training does this; here it serves all models alike
        if self.device.type == "cuda":
            use_gpu(self.device.index)
        training, pairs = self.run.training, Pairs.read(self.tokens)
        every = padded_steps(pairs, training.batch_tokens, training.longest_pair)
        some = padded(pairs, np.flatnonzero(pairs.lengths.max(1) <= training.longest_pair)[:COMPARED])
        ours = Ours(self.run, self.vocabulary, pairs, self.device)
        return ours, [[batch] for batch in islice(every, training.steps)], some


def started(work: Callable[..., None], *given: object) -> Connection:
    """The pipe to a new process, which does `work(its end of the pipe, *given)`."""
    processes = get_context("spawn")
    pipe, its = processes.Pipe()
    processes.Process(target=work, args=(its, *given), daemon=True).start()
    its.close()  # or reading from `pipe` would never end if the process failed
    return pipe


def choose(pipe: Connection, setup: Setup, name: str) -> None:
    """Send a peer's fastest setting."""
    ours, theirs, some = setup.begin()
    pipe.send(fastest(*PEERS[name], ours, some, theirs[:TRIAL]).setting)


def train(pipe: Connection, setup: Setup, name: str, setting: tuple[str, ...]) -> None:
    """Train a model, a round whenever `pipe` asks, until it sends None. Then send what was measured."""
    ours, theirs, some = setup.begin()
    if name == "ours":
        packed = ours.trainer.batches.from_position(0, 0)
        meter = Meter(lambda: ours, lambda _: [step for *_, step in islice(packed, setup.run.training.steps)])
    else:
        meter = Meter(lambda: Peer(PEERS[name][0], ours, *setting), lambda _: theirs)
    pipe.send(len(meter.rounds))
    while (number := pipe.recv()) is not None:
        pipe.send(meter.round(number))
    del meter.rounds[:WARM], meter.seconds[:WARM]
    flops = meter.flops(setup.run.architecture, setup.vocabulary)
    loss = without_dropout(meter.system, some) / some.target_tokens
    pipe.send(Measured(meter.system.setting, meter.speeds(), flops, meter.padding(), meter.most, loss))


def compare(setup: Setup, peaks: dict[str, float]) -> None:
    """Print the table's rows for one size. Raises EOFError when the process of a model fails."""
    installed = [name for name, (kind, _) in PEERS.items() if find_spec(kind.needs)]
    settings = {"ours": ()} | {name: started(choose, setup, name).recv() for name in installed}
    pipes = {name: started(train, setup, name, setting) for name, setting in settings.items()}
    [rounds] = {pipe.recv() for pipe in pipes.values()}
    in_turns([lambda number, pipe=pipe: (pipe.send(number), pipe.recv()) for pipe in pipes.values()], rounds)
    measured: dict[str, Measured] = {}
    for name, pipe in pipes.items():
        pipe.send(None)
        measured[name] = pipe.recv()
    marian = measured.get("MarianMTModel")
    size = "{N}/{d_model}/{d_ff}/{h}".format(**vars(setup.run.architecture))
    for name in ("ours", *PEERS):
        if name not in measured:
            print_row(size, name, "not installed", *[""] * 7)
            continue
        its = measured[name]
        speeds = (f"{np.median(its.speeds):,.0f}", f"{np.median(its.speeds / marian.speeds):.2f}" if marian else "")
        shares = (f"{100 * its.flops / peaks[its.setting[0]]:.1f} %", f"{100 * its.padding:.1f} %")
        loss = (f"{its.loss:.4f}", f"{100 * (its.loss / marian.loss - 1):+.2f} %" if marian else "")
        memory = f"{its.most / 1e9:.2f}" if its.most else ""
        print_row(size, name, ", ".join(its.setting), *speeds, *shares, memory, *loss)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=Path, required=True, help="the pairs, without .ids.npy and .offsets.npy")
    parser.add_argument("--vocabulary", type=int, required=True, help="the number of subwords")
    sizes = ["3/256/1024/4", "6/512/2048/8"]
    parser.add_argument("--sizes", nargs="+", default=sizes, help="N/d_model/d_ff/h (default: %(default)s)")
    parser.add_argument(
        "--batch-tokens", type=int, help="subwords of a step on each side (default: 512, on a GPU 25,000)"
    )
    parser.add_argument("--loss-steps", type=int, default=200, help="steps of each model (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads (default: all)")
    arguments = parser.parse_args()
    if arguments.loss_steps <= WARM * ROUND:
        parser.error(f"--loss-steps {arguments.loss_steps}: the first {WARM * ROUND} steps do not count; train more")
    torch.set_num_threads(arguments.threads)
    device = choose_device()
    gpu = device.type == "cuda"
    tokens = arguments.batch_tokens or (25_000 if gpu else 512)
    peaks = {name: max(sustained_flops(device, dtype) for _ in range(5)) for name, dtype in PRECISIONS.items()}
    print(f"{device_name(device)}, {arguments.threads} threads, PyTorch {torch.__version__}, {tokens} subwords a step;")
    print(", ".join(f"{peak / 1e12:.2f} TFLOP/s in {name}" for name, peak in peaks.items()), end="\n\n")
    columns = ("setting", "subwords/s", "ratio", "MFU", "padding", "GB", "loss", "difference")
    print_head("N/d_model/d_ff/h", "model", *columns)
    training = {"steps": arguments.loss_steps, "warmup": WARMUP, "batch_tokens": tokens}
    for size in arguments.sizes:
        run = sized(*map(int, size.split("/")), **training)
        try:
            compare(Setup(run, arguments.vocabulary, arguments.tokens, device, arguments.threads), peaks)
        except EOFError:
            sys.exit("error: the process of a model has failed, for the reason above")


if __name__ == "__main__":
    main()
