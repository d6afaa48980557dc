"""What a trial costs, and how often one has looked at its row."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from transformer.support.files import InputError, read_json, write_json
from workflow.dag.runs import Runs
from workflow.experiment.config import Experiment
from workflow.experiment.cost import SENTENCES, cost, decoding_flops, decoding_hours


def cost_line(experiment: Experiment, runs: Runs) -> str:
    """What the trainings that are not done will take on this CPU, whose speed is measured now."""
    task, (row, against) = experiment.drawn[0], runs.tried
    waiting = [
        (model, seed)
        for model, seeds in runs.tried.items()
        for seed in seeds
        if not Path(f"{runs.paths.results}/runs/{task}/{model}/{seed}/training.json").exists()
    ]
    if not waiting:
        return "trial: its runs are all trained"
    from workflow.experiment.plan import this_cpu

    device, settings = this_cpu(experiment), experiment.tasks[task]
    hours = 0.0
    for model, seed in waiting:
        run = experiment.run(task, model, seed)
        hours += cost(run, settings.vocabulary, experiment.table3_average, [device]).hours[0]
        hours += decoding_hours(run, SENTENCES * decoding_flops(run, settings, scored=True), device)
    control = sum(model == against for model, _ in waiting)
    of = f"{len(waiting) - control} of {row}" + f", 1 of {against} as a control" * control
    trainings = f"{len(waiting)} training{'s' * (len(waiting) > 1)} ({of})"
    return f"trial: {trainings}, {device.count * hours:.1f} core-hours or more on this CPU at the speed that it has now"


def look(path: Path, experiment: Experiment) -> list[list[int]]:
    """The seeds of each look at the trial, in order up to the present one. `path` has a record, which grows.

    To look again with the same seeds is the same look. A row with other values, or against another row, has looks of
    its own; its name does not matter. Raises InputError for a record that cannot be read.
    """
    trial, task = experiment.trial, experiment.drawn[0]
    assert trial
    run = dataclasses.replace(experiment.run(task, trial.row, 0), model="")
    key, seeds = f"{run.sha256()} against {trial.against}", sorted(experiment.seeds)
    record = read_json(path) if path.exists() else {}
    looks: Sequence[list[int]] = record.setdefault(key, [])
    if not (isinstance(looks, list) and all(isinstance(each, list) for each in looks)):
        raise InputError(f"{path}: is not a record of looks; remove it, and count the looks yourself")
    if seeds not in looks:
        looks.append(seeds)
        write_json(path, record)
    return list(looks[: looks.index(seeds) + 1])
