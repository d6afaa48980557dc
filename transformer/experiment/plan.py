"""What an experiment takes, before any of it is fetched or trained: tables of its runs, of its data, of the whole."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import torch

from transformer.experiment.config import Experiment, Task
from transformer.experiment.cost import (
    CPUS,
    DEVICES,
    LENGTH,
    SENTENCES,
    STATE_BYTES,
    TREE,
    Cost,
    Device,
    cost,
    decoding_flops,
    decoding_hours,
    request,
    si,
)
from transformer.experiment.downloads import tasks_read
from transformer.support.device import auto_precision, sustained_flops
from transformer.support.markdown import markdown
from transformer.training.config import RunConfig

TEXT_BYTES = 280  # of a pair
ID_BYTES = 2 * (2 * (LENGTH + 1) + 8)  # of a pair: two bytes a subword, its end counted, and eight a sentence


@dataclass(frozen=True)
class Decoded:
    """Text that some runs of a task translate or parse, and what that takes."""

    task: str
    text: str
    sentences: int
    flops: float
    hours: tuple[float, ...]  # on each device


def downloads(experiment: Experiment, task: str) -> dict[str, int]:
    """The bytes of each URL that a task's corpus is made from."""
    files = experiment.files_of(task)
    return {file: experiment.downloads[file].bytes for file in files if file in experiment.downloads}


def _all_downloads(experiment: Experiment) -> dict[str, int]:
    """The bytes of all downloads, also of text that is only parsed."""
    return {url: size for task in tasks_read(experiment) for url, size in downloads(experiment, task).items()}


def plan(experiment: Experiment) -> str:
    """The tables in Markdown, with the hours on each of DEVICES; the peak of `cpu` is measured, on the threads in use.

    Raises InputError as `Experiment.files_of` does.
    """
    cpu = torch.device("cpu")
    precision: str = experiment.run("", "base", experiment.seeds[0]).training.precision
    if precision == "auto":
        precision = auto_precision(cpu)
    peak = sustained_flops(cpu, getattr(torch, precision))
    devices = DEVICES | {"cpu": replace(CPUS[precision], peak=peak)}
    runs = costs(experiment, devices.values())
    texts = decoded(experiment, devices.values())
    tables = [_runs(experiment, devices, runs), _decoding(devices, texts), _data(experiment)]
    return "\n".join([*tables, _whole(experiment, devices, runs.values(), texts)])


def costs(experiment: Experiment, devices: Iterable[Device]) -> dict[tuple[str, str], Cost]:
    """What each task's models take, a seed of each; equal ones are one run."""
    return {
        (task, model): cost(
            experiment.run(task, model, experiment.seeds[0]), settings.vocabulary, experiment.table3_average, devices
        )
        for task, settings in experiment.tasks.items()
        for model in experiment.equal_models(task)
    }


def decoded(experiment: Experiment, devices: Collection[Device]) -> list[Decoded]:
    """What the runs of each task decode and score, dev and test; plain sentences, by one run each; what is searched."""
    seeds, found = len(experiment.seeds), []

    def add(task: str, text: str, sentences: int, runs: Iterable[tuple[RunConfig, Task]], scored: bool = True) -> None:
        work = [(run, sentences * decoding_flops(run, settings, scored)) for run, settings in runs]
        hours = tuple(sum(decoding_hours(run, flops, device) for run, flops in work) for device in devices)
        found.append(Decoded(task, text, sentences * len(work), sum(flops for _, flops in work), hours))

    def run(task: str, model: str) -> tuple[RunConfig, Task]:
        return experiment.run(task, model, experiment.seeds[0]), experiment.tasks[task]

    trained = {name: list(experiment.equal_models(name)) for name, task in experiment.tasks.items() if task.models}
    parsers = dict.fromkeys(run for name in trained for run in experiment.corpus_of(name).runs().values())
    for task, models in trained.items():
        add(task, "dev, test", 2 * SENTENCES * seeds, [run(task, model) for model in models])
    for task, model in parsers:
        add(task, "plain sentences", experiment.count(task)[1], [run(task, model)], scored=False)
    if searches := experiment.searched():
        shown, settings = run(experiment.figures.task, experiment.figures.model)
        tried = [(shown, replace(settings, decoding=each)) for each in searches]
        add(experiment.figures.task, "dev, searched", SENTENCES * seeds, tried)
    return found


def _runs(experiment: Experiment, devices: Mapping[str, Device], runs: Mapping[tuple[str, str], Cost]) -> str:
    heading = ("Task", "Model", "Parameters", "FLOPs a step", "Steps", "Tokens", "Disk", "Memory")
    rows: list[tuple[str, ...]] = [(*heading, *(f"Hours, {name}" for name in devices), "Job, minutes", "Job, MB")]
    for (task, model), one in runs.items():
        run = experiment.run(task, model, experiment.seeds[0])
        work = (si(one.parameters), si(one.step_flops), f"{run.training.steps:,}", si(one.tokens))
        asked = request(run, experiment.tasks[task].vocabulary)
        job = (f"{asked.minutes:,}", f"{asked.megabytes:,}")
        names = ", ".join(experiment.equal_models(task)[model])
        rows.append((task, names, *work, si(one.disk, "B"), si(one.memory, "B"), *map(_hours, one.hours), *job))
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
        "GPU's fused attention less. A micro-batch is a GPU's; a CPU's is smaller, and so is one with "
        "--micro-batch-tokens. The last row is the most, not the sum.",
        "Hours: steps x FLOPs a step / (FLOP/s x efficiency), one run after another. Models "
        "narrower than the first width given, and recurrent ones, reach less: their hours are a lower bound.",
        "Job: what a training asks a cluster for: half as many hours again as an A100 takes and half an hour; a third "
        "more memory than planned and 2 GB, up to three times that where a job has ended without its result. The GPUs, "
        "and the most that any job asks for, are in profiles/slurm; a longer training goes on in its next job.",
    ]
    return markdown(f"Runs of the experiment {experiment.experiment}", rows[0], rows[1:], notes, names=2)


def _hours(hours: float) -> str:
    return f"{hours:,.{2 if hours >= 1 else 3}f}"


def _decoding(devices: Mapping[str, Device], texts: Collection[Decoded]) -> str:
    heading = ("Task", "Text", "Sentences", "FLOPs", *(f"Hours, {name}" for name in devices))
    rows = [(one.task, one.text, f"{one.sentences:,}", si(one.flops), *map(_hours, one.hours)) for one in texts]
    notes = [
        f"Dev and test: {SENTENCES:,} sentences each (assumed), by every run, although most are scored on one of them. "
        f"FLOPs: of the matrix products, in sentences of {LENGTH} subwords and trees of {TREE} times as many: of the "
        "encoder once, of the decoder for each hypothesis of the beam; for perplexity a forward pass more. "
        "Searched: for the table `decoding`.",
        "Hours: decoding reaches the share of training's efficiency that stands below with each device. On GPUs it is "
        "assumed, not measured; on a CPU it was measured with this code, which decodes in float32.",
    ]
    return markdown("Decoding and scoring", heading, rows, notes, names=2)


def _data(experiment: Experiment) -> str:
    rows = [("Task", "Corpus", "Downloads", "Pairs", "Text", "Ids")]
    total = 0
    for task in (name for name, settings in experiment.tasks.items() if settings.models):
        corpus, files = experiment.tasks[task].corpus, downloads(experiment, task)
        pairs, _ = experiment.count(task)
        rows.append((task, corpus, _bytes(files), *_sizes(pairs)))
        total += pairs or 0
    rows.append(("all", "", _bytes(_all_downloads(experiment)), *_sizes(total)))
    notes = [
        "Downloads: those with a size in the config; one that several tasks share counts once in the total, which has "
        "text that is only parsed, too.",
        f"Pairs: of train, before cleaning. Text and ids: {TEXT_BYTES} and {ID_BYTES} bytes a pair, assumed. "
        "The total is of what is known.",
    ]
    return markdown("Data", rows[0], rows[1:], notes, names=2)


def _whole(
    experiment: Experiment, devices: Mapping[str, Device], runs: Collection[Cost], texts: Collection[Decoded]
) -> str:
    seeds = len(experiment.seeds)
    rows = [("Device", "Processors", "Hours", "Of them decoding", "Processor hours", "Longest run, hours")]
    for index, (name, device) in enumerate(devices.items()):
        trainings = [one.hours[index] for one in runs]
        decoding = sum(one.hours[index] for one in texts)
        whole = seeds * sum(trainings) + decoding
        most = (_hours(device.count * whole), _hours(max(trainings)))
        rows.append((name, str(device), _hours(whole), _hours(decoding), *most))
    pairs = sum(experiment.count(task)[0] or 0 for task, settings in experiment.tasks.items() if settings.models)
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
        "than the longest run's training. Decoding: with scoring.",
        f"Disk: {si(sum(disk.values()), 'B')}: {parts}.",
        *(f"{name} {device.reached()}" for name, device in devices.items()),
    ]
    return markdown(f"The whole experiment {experiment.experiment}", rows[0], rows[1:], notes, names=2)


def _bytes(files: Mapping[str, int]) -> str:
    return si(sum(files.values()), "B") if files else ""


def _sizes(pairs: int | None) -> tuple[str, str, str]:
    if pairs is None:
        return "unknown until fetched", "", ""
    return f"{pairs:,}", si(pairs * TEXT_BYTES, "B"), si(pairs * ID_BYTES, "B")
