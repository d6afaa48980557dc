"""The experiment that snakemake was called for, checked before anything runs."""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from transformer.corpora.fetch import Download
from transformer.corpora.self_training import SelfTraining
from transformer.support.faults import ConfigError, Fault, with_source
from transformer.support.files import InputError, check_mirror
from transformer.support.strict import load_sources, located, merge, merged, parse_yaml, read_keys, union
from workflow.dag.inputs import Inputs
from workflow.dag.runs import Runs
from workflow.experiment.advice import check_name, different, warnings_of
from workflow.experiment.config import Experiment, read_sources
from workflow.experiment.downloads import downloads_of, future_date, tasks_read
from workflow.experiment.origin import check_origin


def checked(config: Mapping[str, Any], overlays: Iterable[Path], given: Iterable[str]) -> Experiment:
    """The experiment of a config that Snakemake has merged from `overlays` and from --config, whose words are `given`.

    When another workflow uses this as a module, its config may have only some keys. The project's files have the rest.

    Raises ConfigError if the folder of `mirror` or `packages` does not exist, and the errors of `load_sources`,
    `read_sources`, `check_name`, `check_trial`, and, for the mirror of the environment, `check_mirror`.
    """
    sources = _sources(overlays, given)
    values = merged([*read_sources([]).values(), config, sources["--config"]])
    add_all(values, merged(sources.values()))
    experiment = load_sources(Experiment, values, sources)
    check_name(experiment, sources)
    if experiment.trial:
        from workflow.experiment.trial import archives, check_trial  # it needs SciPy, which takes a while to load

        check_trial(experiment, sources, archives())
    for key in ("mirror", "packages"):
        folder = getattr(experiment, key)
        if folder and not Path(folder).is_dir():
            raise ConfigError("", [with_source(Fault((key,), f"{folder}: no such folder; correct it"), sources)])
    if not experiment.mirror and (mirror := os.environ.get("TRANSFORMER_MIRROR")):
        check_mirror(Path(mirror))
    return experiment


def add_all(values: Any, sources: Any) -> None:
    """Add to each list KEY+ of `values` what `sources` add. Of such lists in several files, Snakemake has the last."""
    for key, value in sources.items():
        if isinstance(value, Mapping) and isinstance(values.get(key), Mapping):
            add_all(values[key], value)
        elif str(key).endswith("+") and isinstance(value, list) and isinstance(values.get(key), list):
            values[key] = union(value, values[key])


def _sources(overlays: Iterable[Path], given: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The values of each file and of --config, by its name."""
    return {**read_sources(overlays), "--config": _typed(given)}


def _typed(given: Iterable[str]) -> dict[str, Any]:
    """The keys and values of --config, read as in a file. Snakemake reads 1_0 as 10, and leaves true and null as texts.

    A value that is not YAML is a text. Raises ConfigError that lists the faults of `parse_yaml`.
    """
    values: dict[str, Any] = {}
    faults: list[Fault] = []
    for entry in given:
        key, _, text = entry.partition("=")
        try:
            merge(values, {key: parse_yaml(text, "--config")})
        except ConfigError as error:
            faults += [fault._replace(keys=(key,), source="--config") for fault in error.faults]
        except InputError as error:
            if text.startswith(("[", "{")):
                faults.append(Fault((key,), str(error), "--config"))
            merge(values, {key: text})
    if faults:
        raise ConfigError("", faults)
    return values


def check_writable(results: Path) -> None:
    """Raises InputError if the folder of results cannot be created or written to."""
    # Path.exists raises PermissionError in a folder that the user may not read.
    there = next(path for path in (results, *results.absolute().parents) if os.path.lexists(path))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise InputError(
            f"results: {there} is not a folder that you may write to; name another one with --config results=FOLDER"
        )


def needed(experiment: Experiment, overlays: Iterable[Path], given: Iterable[str]) -> dict[str, Download]:
    """The downloads that the experiment needs. Raises the errors of `downloads_of`, with their sources."""
    try:
        return downloads_of(experiment)
    except ConfigError as error:
        raise located(error, _sources(overlays, given)) from None


def warnings(experiment: Experiment, overlays: Iterable[Path], given: Iterable[str]) -> list[str]:
    """What a user should know before anything runs (`warnings_of`)."""
    return warnings_of(experiment, _sources(overlays, given))


def replaced(experiment: Experiment, inputs: Inputs) -> list[str]:
    """A line for each task whose corpus in the folder of results is another one, as that of an experiment of this name.

    It would be made again, and all that depends on it.
    """
    lines = []
    for task in tasks_read(experiment):
        path = Path(inputs.paths.corpus(task), "config.yaml")
        new = inputs.task_corpus(SimpleNamespace(task=task))
        with contextlib.suppress(InputError):  # where there is none, or a job was interrupted
            if keys := [".".join(map(str, each)) for each in different(read_keys(path), new)]:
                shown = ", ".join(keys[:3] + ["..."] * bool(keys[3:]))
                text = f"is of another corpus ({shown}), which would be replaced; give this experiment another name, or"
                lines.append(f"{path}: {text} go on: what depends on it is made again")
    return lines


def check_packages(experiment: Experiment, runs: Runs, scored: Sequence[str]) -> None:
    """Raises InputError if a package behind the scores is missing, damaged, of another experiment or of the future."""
    corpora = [experiment.corpus_of(task) for task in runs.trained]
    parsed = [runs.parses_of(corpus) for corpus in corpora if isinstance(corpus, SelfTraining)]
    for package in runs.packages_behind([*scored, runs.attention(), *parsed]):
        folder = Path(package).parent
        check_origin(folder, experiment, str(folder.parent.relative_to(runs.paths.packages)))
        if fault := next(filter(None, map(future_date, folder.iterdir())), ""):
            raise InputError(fault)
