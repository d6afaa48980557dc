"""The plan of an experiment: tables of what its runs, its data and the whole will cost."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from transformer.support.cpu import core_flops, cores, cpu_precision
from transformer.support.markdown import markdown
from transformer.training.config import RunConfig
from workflow.experiment.config import Experiment
from workflow.experiment.cost import (
    CPU_SHARE,
    DEVICES,
    LENGTH,
    SENTENCES,
    SHORTEST_STEP,
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
from workflow.experiment.downloads import tasks_read
from workflow.experiment.tasks import Task

TEXT_BYTES = 280  # bytes of a pair as text
ID_BYTES = 2 * (2 * (LENGTH + 1) + 8)  # bytes of a pair as ids: two per subword (end included), eight per sentence


@dataclass(frozen=True)
class Decoded:
    """A text that some runs of a task translate or parse, and the cost of that."""

    task: str
    text: str
    sentences: int
    flops: float
    hours: tuple[float, ...]  # on each device


def downloads(experiment: Experiment, task: str) -> dict[str, int]:
    """The size in bytes of each URL that a task's corpus is made from."""
    files = experiment.files_of(task)
    return {file: experiment.downloads[file].bytes for file in files if file in experiment.downloads}


def _all_downloads(experiment: Experiment) -> dict[str, int]:
    """The size in bytes of every download, including those of text that is only parsed."""
    return {url: size for task in tasks_read(experiment) for url, size in downloads(experiment, task).items()}


def plan(experiment: Experiment) -> str:
    """The tables in Markdown, the whole first, with hours on each of DEVICES.

    The peak of `cpu` is measured now. Raises the errors of `Experiment.files_of`.
    """
    devices = DEVICES | {"cpu": this_cpu(experiment)}
    runs = costs(experiment, devices.values())
    texts = decoded(experiment, devices.values())
    whole = _whole(experiment, devices, _with_seeds(experiment, runs), texts)
    return "\n".join([whole, _runs(experiment, devices, runs), _decoding(devices, texts), _data(experiment)])


def this_cpu(experiment: Experiment) -> Device:
    """All cores of the CPU at hand, each with a training in the precision of `base`. Their peak is measured."""
    precision: str = experiment.run("", "base", experiment.seeds[0]).training.precision
    if precision == "auto":
        precision = cpu_precision()
    efficiency, source = CPU_SHARE[precision]
    return replace(DEVICES["cpu"], count=cores(), peak=core_flops(), efficiency=efficiency, source=source)


def costs(experiment: Experiment, devices: Iterable[Device]) -> dict[tuple[str, str], Cost]:
    """The cost of one seed of each task's models. Rows that are equal at this scale are one run."""
    return {
        (task, model): cost(
            experiment.run(task, model, experiment.seeds[0]), settings.vocabulary, experiment.table3_average, devices
        )
        for task, settings in experiment.tasks.items()
        for model in experiment.equal_models(task)
    }


def decoded(experiment: Experiment, devices: Collection[Device]) -> list[Decoded]:
    """The texts that are decoded: dev and test by all runs, plain sentences by one parser, dev by all searches."""
    texts = []

    def add(task: str, text: str, sentences: int, runs: Iterable[tuple[RunConfig, Task]], scored: bool = True) -> None:
        work = [(run, sentences * decoding_flops(run, settings, scored)) for run, settings in runs]
        hours = tuple(sum(decoding_hours(run, flops, device) for run, flops in work) for device in devices)
        texts.append(Decoded(task, text, sentences * len(work), sum(flops for _, flops in work), hours))

    def run(task: str, model: str) -> tuple[RunConfig, Task]:
        return experiment.run(task, model, experiment.seeds[0]), experiment.tasks[task]

    trained = {name: list(experiment.equal_models(name)) for name, task in experiment.tasks.items() if task.models}
    parsers = dict.fromkeys(run for name in trained for run in experiment.corpus_of(name).runs().values())
    for task, models in trained.items():
        each = [run(task, model) for model in models for _ in experiment.seeds_of(task, model)]
        add(task, "dev, test", 2 * SENTENCES, each)
    for task, model in parsers:
        add(task, "plain sentences", experiment.count(task)[1], [run(task, model)], scored=False)
    if searches := experiment.searched():
        shown, settings = run(*experiment.drawn)
        tried = [(shown, replace(settings, decoding=each)) for each in searches]
        seeds = len(experiment.seeds_of(shown.task, shown.model))
        add(shown.task, "dev, searched", SENTENCES * seeds, tried)
    return texts


def _runs(experiment: Experiment, devices: Mapping[str, Device], runs: Mapping[tuple[str, str], Cost]) -> str:
    memories = ("Memory, float32", "Memory, bfloat16")
    heading = ("Task", "Model", "Parameters", "FLOPs a step", "Steps", "Tokens", "Disk", *memories)
    rows: list[tuple[str, ...]] = [(*heading, *(f"Hours, {name}" for name in devices), "Job, minutes", "Job, MB")]
    for (task, model), one in runs.items():
        run = experiment.run(task, model, experiment.seeds[0])
        work = (si(one.parameters), si(one.step_flops), f"{run.training.steps:,}", si(one.tokens))
        asked = request(run, experiment.tasks[task].vocabulary, DEVICES["A100"])
        job = (f"{asked.minutes:,}", f"{asked.megabytes:,}")
        names = ", ".join(experiment.equal_models(task)[model])
        held = (si(size, "B") for size in (one.disk, one.memory, one.memory_bfloat16))
        rows.append((task, names, *work, *held, *map(_hours, one.hours), *job))
    every = _with_seeds(experiment, runs)
    tokens, disk = (sum(getattr(one, key) for one in every) for key in ("tokens", "disk"))
    hours = [_hours(sum(column)) for column in zip(*(one.hours for one in every), strict=True)]
    most = [si(max((getattr(one, key) for one in every), default=0), "B") for key in ("memory", "memory_bfloat16")]
    count = len(every)
    total = f"{count} run{'s' * (count != 1)}"
    rows.append(("all", total, "", "", "", si(tokens), si(disk, "B"), *most, *hours, "", ""))
    notes = [
        "FLOPs a step count the matrix products of the forward and backward pass, for sentences of "
        f"{LENGTH} subwords (assumed; longest_pair if that is less). Tokens count source and target over all steps.",
        f"Disk is for checkpoints and packages. A run needs {STATE_BYTES} bytes per parameter more while it trains.",
        "Memory is 16 bytes per parameter (weight, gradient, Adam's two moments) plus what a GPU's micro-batch of the "
        "longest pairs keeps. It is within a third of what we measured: float32 on a CPU, bfloat16 on an H100. "
        "Additive attention and other networks than the Transformer count alike in both. Smaller micro-batches need "
        "less: those of a CPU, and those that `micro_batch_tokens` sets. The last row has the maximum, not the sum.",
        "Hours are steps x FLOPs a step / (FLOP/s x efficiency), for one run after another. A GPU's step takes at "
        f"least {1000 * SHORTEST_STEP:.1f} ms, as base of `multi30k` does on an H100. Recurrent models, and models "
        "narrower than a device's first width, are less efficient, so their hours are a lower bound.",
        "Job is what a training job requests from a cluster: 1.5 times the hours of an A100 plus half an hour, and "
        "4/3 of the memory in float32 plus 2 GB. With `gpu: 0` the hours are those of its CPU cores. A job that ended "
        "without its result gets up to three times as much. A training that is longer than a job's limit continues in "
        "its next job.",
    ]
    return markdown(f"Runs of the experiment {experiment.experiment}", rows[0], rows[1:], notes, names=2)


def _with_seeds(experiment: Experiment, runs: Mapping[tuple[str, str], Cost]) -> list[Cost]:
    """The cost of each training, from that of one seed."""
    return [one for run, one in runs.items() for _ in experiment.seeds_of(*run)]


def _hours(hours: float) -> str:
    return f"{hours:,.{2 if hours >= 1 else 3}f}"


def _decoding(devices: Mapping[str, Device], texts: Collection[Decoded]) -> str:
    heading = ("Task", "Text", "Sentences", "FLOPs", *(f"Hours, {name}" for name in devices))
    rows = [(one.task, one.text, f"{one.sentences:,}", si(one.flops), *map(_hours, one.hours)) for one in texts]
    notes = [
        f"Every run decodes dev and test, {SENTENCES:,} sentences each (assumed), although most runs are scored on one "
        f"of them only. FLOPs count matrix products, for sentences of {LENGTH} subwords and trees of {TREE} times as "
        "many: the encoder once, the decoder for each hypothesis of the beam, and one forward pass for perplexity. "
        "The table `decoding` needs the searches of dev.",
        "Hours: the first table's notes say for each device which share of training's efficiency decoding reaches. We "
        "measured it with this code in float32, on an H100 for base with a beam of 4, and on a CPU. Elsewhere, and for "
        "other models on an H100, it is assumed.",
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
        "Downloads are those with a size in the config. The total counts a download once if several tasks share it, "
        "and includes text that is only parsed.",
        f"Pairs are those of train before cleaning. Text and ids take {TEXT_BYTES} and {ID_BYTES} bytes a pair "
        "(assumed). The total leaves out what is unknown.",
    ]
    return markdown("Data", rows[0], rows[1:], notes, names=2)


def _whole(
    experiment: Experiment, devices: Mapping[str, Device], runs: Collection[Cost], texts: Collection[Decoded]
) -> str:
    rows = [("Device", "Processors", "Hours", "Of them decoding", "Processor hours", "Longest run, hours")]
    for index, (name, device) in enumerate(devices.items()):
        trainings = [one.hours[index] for one in runs]
        decoding = sum(one.hours[index] for one in texts)
        whole = sum(trainings) + decoding
        most = (_hours(device.count * whole), _hours(max(trainings)))
        rows.append((name, str(device), _hours(whole), _hours(decoding), *most))
    pairs = sum(experiment.count(task)[0] or 0 for task, settings in experiment.tasks.items() if settings.models)
    disk = {
        "checkpoints and packages": sum(one.disk for one in runs),
        "downloads": sum(_all_downloads(experiment).values()),
        "text": pairs * TEXT_BYTES,
        "ids": pairs * ID_BYTES,
        "the largest run's state while it trains": max(STATE_BYTES * one.parameters for one in runs),
    }
    parts = ", ".join(f"{si(size, 'B')} of {part}" for part, size in disk.items() if size)
    notes = [
        "Hours are for one run after another. Parallel runs, each on its own device, take as many processor hours in "
        "total, and at least as long as the longest run trains. Decoding includes scoring.",
        f"Disk: {si(sum(disk.values()), 'B')} ({parts}).",
        *(f"{name} {device.reached()}" for name, device in devices.items()),
    ]
    if experiment.trial:
        told = f"The trial of {experiment.trial.row} is not in these tables, and trains its runs alone."
        notes.insert(0, f"{told} `snakemake --dry-run trial` with the same config says what it trains and its hours.")
    return markdown(f"The whole experiment {experiment.experiment}", rows[0], rows[1:], notes, names=2)


def _bytes(files: Mapping[str, int]) -> str:
    return si(sum(files.values()), "B") if files else ""


def _sizes(pairs: int | None) -> tuple[str, str, str]:
    if pairs is None:
        return "unknown", "", ""
    return f"{pairs:,}", si(pairs * TEXT_BYTES, "B"), si(pairs * ID_BYTES, "B")
