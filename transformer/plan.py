"""What an experiment takes, before any of it is fetched or trained: tables of its runs, of its data, of the whole."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch

from transformer.config import Corpus, Experiment, Files, Grammar, ModelConfig, RunConfig, SelfTraining, Treebank
from transformer.data.corpora import corpus_files, tasks_read
from transformer.model.flops import forward_flops
from transformer.model.transformer import Transformer
from transformer.training.device import faster_precision, sustained_flops
from transformer.training.loss import ROWS

LENGTH = 28  # subwords of a sentence, on average
TEXT_BYTES = 280  # of a pair
STATE_BYTES = 24  # of a parameter, while its run trains: its state twice
ID_BYTES = 2 * (2 * (LENGTH + 1) + 8)  # of a pair: two bytes a subword, its end counted, and eight a sentence


@dataclass(frozen=True)
class Device:
    """So many processors, the peak FLOP/s of one, and which share of it training reaches."""

    count: int
    peak: float
    precision: str
    efficiency: Mapping[int, float]  # by d_model, ascending
    source: str  # of the efficiency

    def flops(self, d_model: int) -> float:
        """FLOP/s reached at a width: the efficiency interpolated over log d_model, beyond the ends as at the ends."""
        share = np.interp(math.log(d_model), np.log(list(self.efficiency)), list(self.efficiency.values()))
        return float(share) * self.count * self.peak

    def __str__(self) -> str:
        return f"{self.count} x {si(self.peak, 'FLOP/s')}, {self.precision}"

    def reached(self) -> str:
        """The efficiency in words, and how it is known."""
        shares = ", ".join(f"{100 * share:.0f} % at d_model {width}" for width, share in self.efficiency.items())
        return f"reaches {shares} ({self.source})."


STEP_TIMES = "the paper's step times, 0.4 s for base and 1.0 s for big (section 5.2)"
PUBLISHED = (
    "from the tokens/s published for big, fairseq's in LightSeq's documentation (22 %) and NVIDIA's in "
    "DeepLearningExamples (33 %); the lower is assumed for base"
)
ASSUMED = "assumed, not measured: a little below the A100's, because memory has sped up less than matrix products"
SHARED = (
    "assumed, not measured: half of one H100's, because eight share a step's batch; NVIDIA's DeepLearningExamples "
    "reach 84 % of one A100's on eight, but with 10,240 tokens on each, where the paper's 25,000 leave 3,125"
)
MEASURED = "measured with this code on one thread of an AMD EPYC, in bfloat16"
PAPER = {512: 9.54e12 / (0.4 * 8 * 10.6e12), 1024: 32.3e12 / (1.0 * 8 * 10.6e12)}  # FLOPs a step of 37,000 subwords
DEVICES = {
    "8xP100": Device(8, 10.6e12, "float32", PAPER, STEP_TIMES),
    "A100": Device(1, 312e12, "bfloat16", {512: 0.22, 1024: 0.33}, PUBLISHED),
    "H100": Device(1, 989e12, "bfloat16", {512: 0.20, 1024: 0.30}, ASSUMED),
    "H200": Device(1, 989e12, "bfloat16", {512: 0.20, 1024: 0.30}, ASSUMED),
    "8xH100": Device(8, 989e12, "bfloat16", {512: 0.10, 1024: 0.15}, SHARED),
    "cpu": Device(1, math.nan, "auto", {128: 0.31, 512: 0.56, 1024: 0.59}, MEASURED),  # `plan` measures the peak
}


@dataclass(frozen=True)
class Cost:
    """What one run takes."""

    parameters: int
    step_flops: float
    tokens: int  # source and target, of all steps
    disk: int  # bytes of the checkpoints that are averaged and of a package for each number of them
    memory: int  # bytes of weights, gradients, Adam's means and what a micro-batch keeps
    hours: tuple[float, ...]  # on each device


@dataclass(frozen=True)
class Request:
    """What the job of a training asks a cluster for."""

    minutes: int
    megabytes: int


@cache
def parameters(architecture: ModelConfig, vocabulary: int) -> int:
    """How many parameters a model has."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(architecture, vocabulary).parameters())


def step_flops(run: RunConfig, vocabulary: int) -> float:
    """FLOPs of the matrix products of a step, in sentences of LENGTH subwords, or longest_pair where that is less."""
    length = min(LENGTH, run.training.longest_pair)
    pairs = run.training.batch_tokens / length
    return 3 * pairs * forward_flops(run.architecture, vocabulary, np.full((1, 2), length))


def activations(run: RunConfig, vocabulary: int) -> int:
    """Bytes of what a micro-batch of the longest pairs keeps from forward to backward pass, in float32.

    Counted a subword and side, those of one layer once more for what its backward pass computes on the way.
    """
    sizes, training = run.architecture, run.training
    tokens, length = min(training.micro_batch_tokens, training.batch_tokens), training.longest_pair
    parameters = sizes.attention_over_parameters
    inner = sizes.d_ff
    if parameters is not None:
        inner = parameters.h_p * (parameters.d_pk + parameters.d_pv + 2 * parameters.n_p)
    # Three attentions keep queries, keys, values, their output, and weights before and after normalisation; five
    # sub-layers of both sides a dropout mask and a LayerNorm's input and output.
    attention = 3 * sizes.h * (2 * (sizes.d_k + sizes.d_v) + 2 * length)
    layer = attention + 2 * inner + 5 * 3 * sizes.d_model
    logits = (2 * tokens + min(tokens, max(ROWS.values()))) * vocabulary
    return 4 * (tokens * (sizes.N + 1) * layer + logits)


def cost(run: RunConfig, vocabulary: int, table3_average: int, devices: Iterable[Device]) -> Cost:
    """What a run takes on each of some devices."""
    training, count = run.training, parameters(run.architecture, vocabulary)
    flops = step_flops(run, vocabulary)
    return Cost(
        parameters=count,
        step_flops=flops,
        tokens=2 * training.steps * training.batch_tokens,
        disk=(training.average + len({training.average, table3_average})) * 4 * count,
        memory=16 * count + activations(run, vocabulary),
        hours=tuple(training.steps * flops / device.flops(run.architecture.d_model) / 3600 for device in devices),
    )


def request(run: RunConfig, vocabulary: int) -> Request:
    """Half as many hours again as an A100 takes, and half an hour; a third more memory than `cost` says, and 2 GB."""
    planned = cost(run, vocabulary, 1, [DEVICES["A100"]])
    return Request(30 + math.ceil(90 * planned.hours[0]), 2000 + math.ceil(planned.memory * 4 / 3 / 1e6))


def sentences(experiment: Experiment, corpus: Corpus) -> tuple[int | None, int]:
    """Pairs of train before cleaning, None where the config does not tell; and sentences without trees."""
    match corpus:
        case Files():
            return corpus.pairs, 0
        case Treebank():
            return None if corpus.constituents else corpus.sentences.get("train"), corpus.plain.sentences
        case Grammar():
            return corpus.sentences.train, corpus.sentences.plain
        case SelfTraining():
            trees, plain = sentences(experiment, experiment.corpora[experiment.tasks[corpus.gold].corpus])
            return trees and corpus.copies * trees + round(corpus.keep * plain), 0
    return None, 0


def downloads(experiment: Experiment, task: str) -> dict[str, int]:
    """The bytes of each URL that a task's corpus is made from."""
    settings = experiment.tasks[task]
    files = corpus_files(experiment.corpora[settings.corpus], settings.corpus, settings)
    return {file: experiment.downloads[file].bytes for file in files if file in experiment.downloads}


def _all_downloads(experiment: Experiment) -> dict[str, int]:
    """Also of text that no model learns from, but the first parser parses."""
    return {url: size for task in tasks_read(experiment) for url, size in downloads(experiment, task).items()}


def plan(experiment: Experiment) -> str:
    """The tables in Markdown, with the hours on each of DEVICES; the peak of `cpu` is measured, on the threads in use.

    Raises InputError as `transformer.data.corpora.corpus_files` does.
    """
    cpu = torch.device("cpu")
    precision = faster_precision(cpu)
    peak = sustained_flops(cpu, getattr(torch, precision))
    devices = DEVICES | {"cpu": replace(DEVICES["cpu"], peak=peak, precision=precision)}
    runs = costs(experiment, devices.values())
    return (
        f"{_runs(experiment, devices, runs)}\n\n{_data(experiment)}\n\n{_whole(experiment, devices, runs.values())}\n"
    )


def costs(experiment: Experiment, devices: Iterable[Device]) -> dict[tuple[str, str], Cost]:
    """What each task's models take, a seed of each."""
    return {
        (task, model): cost(
            experiment.run(task, model, experiment.seeds[0]), settings.vocabulary, experiment.table3_average, devices
        )
        for task, settings in experiment.tasks.items()
        for model in settings.models
    }


def _runs(experiment: Experiment, devices: Mapping[str, Device], runs: Mapping[tuple[str, str], Cost]) -> str:
    heading = ("Task", "Model", "Parameters", "FLOPs a step", "Steps", "Tokens", "Disk", "Memory")
    rows: list[tuple[str, ...]] = [(*heading, *(f"Hours, {name}" for name in devices), "Job, minutes", "Job, MB")]
    for (task, model), one in runs.items():
        run = experiment.run(task, model, experiment.seeds[0])
        work = (si(one.parameters), si(one.step_flops), f"{run.training.steps:,}", si(one.tokens))
        asked = request(run, experiment.tasks[task].vocabulary)
        job = (f"{asked.minutes:,}", f"{asked.megabytes:,}")
        rows.append((task, model, *work, si(one.disk, "B"), si(one.memory, "B"), *map(_hours, one.hours), *job))
    seeds = len(experiment.seeds)
    tokens, disk = (seeds * sum(getattr(one, key) for one in runs.values()) for key in ("tokens", "disk"))
    hours = [_hours(seeds * sum(column)) for column in zip(*(one.hours for one in runs.values()), strict=True)]
    most = si(max((one.memory for one in runs.values()), default=0), "B")
    rows.append(("all", f"{seeds * len(runs)} runs", "", "", "", si(tokens), si(disk, "B"), most, *hours, "", ""))
    notes = [
        f"FLOPs a step: of the matrix products, forward and backward, in sentences of {LENGTH} subwords (assumed; "
        "longest_pair where that is less). Tokens: source and target, of all steps.",
        f"Disk: checkpoints and packages. While a run trains, {STATE_BYTES} bytes a parameter more.",
        "Memory: 16 bytes a parameter (weight, gradient, Adam's two means) and what a micro-batch of the longest pairs "
        "keeps in float32, within a third of what a CPU took; PyTorch itself takes some 0.4 GB more, bfloat16 and a "
        "GPU's fused attention less. micro_batch_tokens lowers it; the last row is the most, not the sum.",
        "Hours: steps x FLOPs a step / (FLOP/s x efficiency), one run after another; decoding is not counted. Models "
        "narrower than the first width given reach less: their hours are a lower bound.",
        "Job: what a training asks a cluster for: half as many hours again as an A100 takes and half an hour; a third "
        "more memory than planned and 2 GB, up to three times that where a job has ended without its result. The GPUs, "
        "and the most that any job asks for, are in profiles/slurm; a longer training goes on in its next job.",
    ]
    return markdown(f"Runs of the experiment {experiment.experiment}", rows, notes)


def _hours(hours: float) -> str:
    return f"{hours:,.{2 if hours >= 1 else 3}f}"


def _data(experiment: Experiment) -> str:
    rows = [("Task", "Corpus", "Downloads", "Pairs", "Text", "Ids")]
    total = 0
    for task in (name for name, settings in experiment.tasks.items() if settings.models):
        corpus, files = experiment.tasks[task].corpus, downloads(experiment, task)
        pairs, _ = sentences(experiment, experiment.corpora[corpus])
        rows.append((task, corpus, _bytes(files), *_sizes(pairs)))
        total += pairs or 0
    rows.append(("all", "", _bytes(_all_downloads(experiment)), *_sizes(total)))
    notes = [
        "Downloads: those with a size in the config; one that several tasks share counts once in the total, which has "
        "text that is only parsed, too.",
        f"Pairs: of train, before cleaning. Text and ids: {TEXT_BYTES} and {ID_BYTES} bytes a pair, assumed. "
        "The total is of what is known.",
    ]
    return markdown("Data", rows, notes)


def _whole(experiment: Experiment, devices: Mapping[str, Device], runs: Collection[Cost]) -> str:
    seeds = len(experiment.seeds)
    rows = [("Device", "Processors", "Hours", "Processor hours", "Longest run, hours")]
    for (name, device), hours in zip(devices.items(), zip(*(one.hours for one in runs), strict=True), strict=True):
        whole = seeds * sum(hours)
        rows.append((name, str(device), _hours(whole), _hours(device.count * whole), _hours(max(hours))))
    corpora = [settings.corpus for settings in experiment.tasks.values() if settings.models]
    pairs = sum(sentences(experiment, experiment.corpora[corpus])[0] or 0 for corpus in corpora)
    disk = {
        "checkpoints and packages": seeds * sum(one.disk for one in runs),
        "downloads": sum(_all_downloads(experiment).values()),
        "text": pairs * TEXT_BYTES,
        "ids": pairs * ID_BYTES,
        "the largest run's state while it trains": max(STATE_BYTES * one.parameters for one in runs),
    }
    parts = ", ".join(f"{si(size, 'B')} of {part}" for part, size in disk.items() if size)
    notes = [
        "Hours: one run after another. Runs side by side, a device each, take as many processor hours, and no less "
        "than the longest run.",
        f"Disk: {si(sum(disk.values()), 'B')}: {parts}.",
        *(f"{name} {device.reached()}" for name, device in devices.items()),
    ]
    return markdown(f"The whole experiment {experiment.experiment}", rows, notes)


def _bytes(files: Mapping[str, int]) -> str:
    return si(sum(files.values()), "B") if files else ""


def _sizes(pairs: int | None) -> tuple[str, str, str]:
    if pairs is None:
        return "unknown until fetched", "", ""
    return f"{pairs:,}", si(pairs * TEXT_BYTES, "B"), si(pairs * ID_BYTES, "B")


def si(value: float, unit: str = "") -> str:
    """Three figures and a prefix of the SI, such as 1.30 GB."""
    power = 0
    while value >= 999.5:
        value, power = value / 1000, power + 1
    return f"{value:#.3g}".rstrip(".") + f" {' kMGTPEZY'[power].strip()}{unit}".rstrip()


def markdown(title: str, rows: Sequence[Sequence[str]], notes: Iterable[str]) -> str:
    """A table, aligned: the first row is its heading, the first two columns hold text, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<", "<", *">" * (len(widths) - 2)]
    rule = ["-" * (width - 1) + ("-" if side == "<" else ":") for side, width in zip(sides, widths, strict=True)]
    lines = (
        " | ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True))
        for row in (rows[0], rule, *rows[1:])
    )
    return "\n".join([f"**{title}**", "", *(f"| {line} |" for line in lines), "", *(f"- {note}" for note in notes)])
