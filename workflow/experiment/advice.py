"""What a config may say but hardly means: names that nothing uses, tasks and rows by accident, endless warmups."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from transformer.support.faults import ConfigError, Fault, Keys, source_of
from transformer.support.languages import doubt
from transformer.support.strict import added_up, located, merged
from transformer.training.config import endless
from workflow.experiment.config import Experiment
from workflow.experiment.downloads import tasks_read
from workflow.experiment.sources import OWN_FILES, mapping, read_sources, run_too

UNUSED = "name it in the models of a task or in `trial`, or remove it"
Sources = Mapping[str, Mapping[str, Any]]


def _merged(sources: Sources) -> dict[str, Any]:
    return dict(added_up(merged(sources.values())))


def warnings_of(experiment: Experiment, sources: Sources) -> list[str]:
    """A line for each name that nothing uses, each language that may be a slip, and each warmup longer than a run.

    There is also a line for tasks that the user may not want to run, and for each list of models that has lost some.
    Raises the errors of `Experiment.files_of`, with their sources.
    """
    own = read_sources([])
    faults = [
        *_unused(experiment, sources, own),
        *_doubtful(experiment),
        *_endless(experiment),
        *_run_too(experiment, sources, own),
        *_fewer_rows(sources),
    ]
    return [str(fault._replace(source=fault.source or source_of(fault.keys, sources))) for fault in faults]


def _unused(experiment: Experiment, sources: Sources, own: Sources) -> Iterator[Fault]:
    """A fault for each model, corpus and download of the user's that nothing uses. `own` are the project's files."""
    known = _merged({**own, **{name: sources[name] for name in _shipped_files(sources)}})
    try:
        read = {file for task in tasks_read(experiment) for file in experiment.files_of(task)}
    except ConfigError as error:
        raise located(error, sources) from None
    used = {
        "models": _trained(experiment) | {row for claim in experiment.claims.values() for _, row in claim.runs()},
        "corpora": {task.corpus for task in experiment.tasks.values()},
        "downloads": read,
    }
    for kind, names in used.items():
        for name in _merged(sources).get(kind) or {}:
            if str(name) not in names and name not in known[kind]:
                [close] = difflib.get_close_matches(str(name), map(str, known[kind]), n=1) or [""]
                remedy = f"did you mean {close}?" if close else "remove it" if kind == "downloads" else UNUSED
                yield Fault((kind, name), f"nothing uses it; {remedy}")


def _trained(experiment: Experiment) -> set[str]:
    """The models that tasks have, and the row of a trial."""
    models = {model for task in experiment.tasks.values() for model in task.models}
    return models | ({experiment.trial.row} if experiment.trial else set())


def _doubtful(experiment: Experiment) -> Iterator[Fault]:
    """A fault for each language that may be a slip."""
    for name, task in experiment.tasks.items():
        for key in ("source", "target") if task.kind == "translation" and task.models else ():
            if text := doubt(getattr(task, key)):
                yield Fault(("tasks", name, key), text)


def _endless(experiment: Experiment) -> Iterator[Fault]:
    """A fault for each warmup that is longer than the training, at the first model or task that it is about."""
    long: dict[str, Keys] = {}
    for model in sorted(_trained(experiment), key=lambda model: (model != "base", model)):
        row = model if {"warmup", "steps"} & experiment.models[model].keys() else "base"
        training = experiment.run("", model, 0).training
        for text in endless(training.warmup, training.steps):
            long.setdefault(text, ("models", row, "warmup"))
    study = experiment.length
    for task in study.tasks:
        for text in endless(study.recipe.warmup, study.steps[task]):
            long.setdefault(text, ("length", "steps", task))
    yield from (Fault(keys, text) for text, keys in long.items())


def _shipped_files(sources: Sources) -> set[str]:
    """Those of some files that are in config/."""
    return {name for name in sources if Path(name).resolve().parent == OWN_FILES[0].parent.resolve()}


def _run_too(experiment: Experiment, sources: Sources, own: Sources) -> Iterator[Fault]:
    """A fault for a task of the user's own if tasks are run, too, that no file of the user's names.

    A file is the user's if it is outside config/, or names that task. `own` are the project's files.
    """
    tasks = {name: set(mapping(values.get("tasks"))) for name, values in sources.items() if name not in own}
    shipped = _shipped_files(sources)
    run = [name for name, task in experiment.tasks.items() if task.models]
    known, given = _merged(own)["tasks"], set().union(*tasks.values())
    mine = [name for name in run if name in given and name not in known]
    named = {task for name, some in tasks.items() if name not in shipped or some & {*mine} for task in some}
    others = [name for name in run if name not in named]
    if mine and others and not experiment.only:
        yield Fault(("tasks", mine[0]), run_too(others, mine))


def _fewer_rows(sources: Sources) -> Iterator[Fault]:
    """A fault for each list of a task's models that names a new one but is shorter than the list that it replaces."""
    rows: dict[str, list[Any]] = {}
    for name, values in sources.items():
        for task, given in mapping(values.get("tasks")).items():
            models = mapping(given).get("models")
            if not isinstance(models, list):
                continue
            before = rows.get(task, [])
            new = [model for model in models if model not in before]
            if new and len(models) < len(before):
                lost = len([model for model in before if model not in models])
                keys = ("tasks", task, "models")
                text = f"leaves out {lost} of {len(before)} rows; to keep them, write models+: [{', '.join(new)}]"
                yield Fault(keys, text, source_of(keys, {name: values}))
            rows[task] = models
