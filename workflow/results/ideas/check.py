"""What is checked of an idea before anything runs, and what trying it will take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from transformer.evaluation.statistics import SEEDS
from transformer.model.config import ModelConfig, last_position
from transformer.support.faults import ConfigError, Fault, Keys, source_of
from transformer.support.files import InputError, read_json
from transformer.support.strict import merged, read_keys
from transformer.training.config import RunConfig, TrainingConfig
from workflow.dag.runs import Runs
from workflow.experiment.config import Experiment
from workflow.experiment.cost import SENTENCES, cost, decoding_flops, decoding_hours
from workflow.experiment.sources import OWN_FILES, RELEASED, read_sources
from workflow.experiment.tasks import FRESH, Trial
from workflow.results.ideas.ledger import entry_of
from workflow.results.ideas.released import released

SAME = ("steps", "batch_tokens", "longest_pair")  # both rows learn from the same batches
SMALL = OWN_FILES[0].with_name("small.yaml")
PAGE = "(docs/own-idea.md)"


def with_idea(overlays: Iterable[Path], given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The contents of the project's config, of `overlays` and of --config (`given`), by name.

    The file of a key `idea` becomes a row that has its name, and is tried. Where a row is tried and no overlay is an
    experiment, it is a row of `small`, because its base is released. Raises the errors of `read_sources`, and
    InputError for a file whose name no row can have.
    """
    paths = [*overlays]
    sources = read_sources(paths) | {"--config": given}
    own = [*sources.values()][len(OWN_FILES) :]
    if any({"idea", "trial"} & values.keys() for values in own) and not any("experiment" in each for each in own):
        sources = read_sources([SMALL, *paths]) | {"--config": given}
    for source, values in sources.items():
        if "idea" in values:
            path, rows = Path(str(values["idea"])), merged(map(read_keys, (OWN_FILES[0], SMALL)))["models"]
            if path.suffix != ".py" or path.stem in rows:
                text = "must be NAME.py, and NAME no row of config/models.yaml; rename it"
                raise InputError(f"{source}: idea: {path}: {text}")
            row = {"models": {path.stem: {"idea": str(path)}}, "trial": {"row": path.stem}}
            sources[source] = merged([{key: each for key, each in values.items() if key != "idea"}, row])
    return sources


def check_trial(experiment: Experiment, sources: Mapping[str, Mapping[str, Any]], paths: Sequence[Path]) -> None:
    """Raises ConfigError if an idea cannot be judged: each fault with its source, the value and the remedy."""
    if experiment.trial is None:
        return
    try:
        faults = [Fault(*fault) for fault in _faults(experiment, experiment.trial, paths)]
    except ConfigError as error:
        faults = list(error.faults)
    if faults:
        raise ConfigError("", [fault._replace(source=source_of(fault.keys, sources)) for fault in faults])


def _faults(experiment: Experiment, trial: Trial, paths: Sequence[Path]) -> Iterator[tuple[Keys, str]]:
    task, seeds = experiment.drawn[0], experiment.seeds
    if experiment.tasks[task].kind != "translation":
        yield ("figures", "task"), f"{task} is a task of parsing, and a trial needs translations; name another"
        return
    if experiment.packages:
        yield ("packages",), "with given packages nothing is trained, and a trial trains; remove this key"
    row, against = (experiment.run(task, name, 0) for name in (trial.row, trial.against))
    known = released(experiment, trial.against, paths)
    if not RELEASED.is_dir():
        raise InputError(
            f"{RELEASED}: no such folder; get it back with `git restore results`. If `results` is a link or a mounted "
            "folder, name that folder with --config results=FOLDER instead"
        )
    if len(known) < SEEDS:
        count = f"{len(known)} of {SEEDS} seeds" if known else "no scores"
        text = f"{trial.against} is released with {count} for the values, text and decoding of {experiment.experiment}"
        yield ("trial", "against"), f"{text}; name another row, or train a base of your own {PAGE}"
        return
    average = experiment.table3_average
    if _scored(row, average) == _scored(against, average):
        yield ("trial", "row"), f"{trial.row} is the same model as {trial.against} at this scale; change a value of it"
    for name in experiment.tasks[task].models:
        other = experiment.run(task, name, 0)
        if name != trial.against and _scored(other, average) == _scored(row, average):
            if released(experiment, name, paths):
                yield (
                    ("trial", "row"),
                    f"{trial.row} is {name} at this scale, which is released; change a value",
                )
            break
    for key in SAME:
        ours, theirs = getattr(row.training, key), getattr(against.training, key)
        if ours != theirs:
            text = f"{ours}, but {trial.against} has {theirs}; a trial needs rows that learn from the same batches"
            yield ("models", trial.row, key), f"{text}: write {theirs}"
    if len(seeds) < SEEDS:
        yield ("seeds",), f"{len(seeds)} are too few; a trial needs {SEEDS} or more"
    if fresh := sorted({*seeds} & {*FRESH}):
        yield ("seeds",), f"{', '.join(map(str, fresh))}: seeds {FRESH[0]} to {FRESH[-1]} are kept for a confirmation"
    elif missing := [seed for seed in seeds if seed not in known]:
        shown, others = ", ".join(map(str, missing)), ", ".join(str(seed) for seed in known if seed not in FRESH)
        yield ("seeds",), f"{shown}: {trial.against} is not released with this seed; choose from {others}"


def _scored(run: RunConfig, average: int) -> tuple[ModelConfig, TrainingConfig, list[int]]:
    """What decides the scores of a run if `average` checkpoints are averaged.

    Without what does not: how many further checkpoints there are, and the number of learned positions of a model that
    has none.
    """
    architecture = run.architecture
    if last_position(architecture) is None:
        architecture = replace(architecture, max_length=1)
    checkpoints = run.training.checkpoint_steps()[:average]
    return architecture, replace(run.training, checkpoint_every=1, average=1), checkpoints


def check_screened(experiment: Experiment, path: Path) -> None:
    """Raises InputError unless the answer in `path` says that the idea was screened and can be confirmed here."""
    entry = entry_of(experiment)
    answer = read_json(path) if path.exists() else {}
    if answer.get("digest") != entry["digest"]:
        raise InputError(
            f"{entry['idea']}: is not screened yet; run `snakemake trial` with the same config first {PAGE}"
        )
    if why := answer["reason"] or answer["unfit"]:
        raise InputError(f"{entry['idea']}: cannot be confirmed here: {why}")


def cost_line(experiment: Experiment, runs: Runs, seeds: Sequence[int]) -> str:
    """What the trainings of an idea that are not done will take on this CPU, whose speed is measured now."""
    task, trial = experiment.drawn[0], experiment.trial
    assert trial
    tried = [*((trial.row, seed) for seed in seeds), (trial.against, experiment.seeds[0])]
    folder = f"{runs.paths.results}/runs/{task}"
    waiting = [run for run in tried if not Path(folder, run[0], str(run[1]), "training.json").exists()]
    if not waiting:
        return "trial: its runs are all trained"
    from workflow.experiment.plan import this_cpu

    device, settings = this_cpu(experiment), experiment.tasks[task]
    hours = 0.0
    for model, seed in waiting:
        run = experiment.run(task, model, seed)
        hours += cost(run, settings.vocabulary, experiment.table3_average, [device]).hours[0]
        hours += decoding_hours(run, SENTENCES * decoding_flops(run, settings, scored=True), device)
    control = sum(model == trial.against for model, _ in waiting)
    of = f"{len(waiting) - control} of {trial.row}" + f", 1 of {trial.against} as a control" * control
    trainings = f"{len(waiting)} training{'s' * (len(waiting) > 1)} ({of})"
    return f"trial: {trainings}, {device.count * hours:.1f} core-hours or more on this CPU at the speed that it has now"
