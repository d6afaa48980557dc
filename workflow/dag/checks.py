"""The experiment that snakemake was called for, checked before anything runs."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.corpora.fetch import Download
from transformer.corpora.self_training import SelfTraining
from transformer.support.faults import ConfigError, Fault, with_source
from transformer.support.files import InputError, check_mirror
from transformer.support.strict import load_sources, located, merged, parse_yaml
from workflow.dag.runs import Runs
from workflow.experiment.config import Experiment
from workflow.experiment.downloads import downloads_of, future_date
from workflow.experiment.origin import check_origin
from workflow.results.ideas.check import check_trial, with_idea
from workflow.results.ideas.released import archives

Sources = dict[str, Mapping[str, Any]]


def sources_of(overlays: Iterable[Path], given: Iterable[str]) -> tuple[Sources, bool]:
    """The values of each file and of --config, by its name, and whether the user allows that runs are replaced.

    `given` are the words KEY=VALUE of --config. Values are read as in a file; Snakemake reads 1_0 as 10, and true as a
    text. A value that is not YAML is a text. Raises InputError for one that is missing, and the errors of
    `read_sources` and `parse_yaml`.
    """
    values: dict[str, Any] = {}
    for word in given:
        key, _, text = word.partition("=")
        if not text:  # as an unset variable leaves it
            raise InputError(f"--config: {key} has no value; write it behind {key}=, or {key}=null for none")
        try:
            values[key] = parse_yaml(text, "--config")
        except ConfigError as error:
            raise ConfigError("", [each._replace(keys=(key,), source="--config") for each in error.faults]) from None
        except InputError:
            values[key] = text
    replace = values.pop("replace", False)
    if not isinstance(replace, bool):
        raise InputError(f"--config: replace: {replace} is neither true nor false")
    return with_idea(overlays, values), replace


def checked(sources: Sources, config: Mapping[str, Any]) -> tuple[Experiment, dict[str, Download]]:
    """The experiment of some sources, and the downloads that it needs.

    `config` has the keys that another workflow gives to this one, its module. Raises ConfigError if the folder of
    `mirror` or `packages` does not exist, and the errors of `load_sources`, `check_trial`, `check_mirror` (for that of
    the environment), `check_writable` and `downloads_of`.
    """
    experiment = load_sources(Experiment, merged([*sources.values(), config, sources["--config"]]), sources)
    check_trial(experiment, sources, archives())
    for key in ("mirror", "packages"):
        folder = getattr(experiment, key)
        if folder and not Path(folder).is_dir():
            raise ConfigError("", [with_source(Fault((key,), f"{folder}: no such folder; correct it"), sources)])
    if not experiment.mirror and (mirror := os.environ.get("TRANSFORMER_MIRROR")):
        check_mirror(Path(mirror))
    check_writable(Path(experiment.results))
    try:
        return experiment, downloads_of(experiment)
    except ConfigError as error:
        raise located(error, sources) from None


def check_writable(results: Path) -> None:
    """Raises InputError if the folder of results cannot be created or written to."""
    # Path.exists raises PermissionError in a folder that the user may not read.
    there = next(path for path in (results, *results.absolute().parents) if os.path.lexists(path))
    if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
        raise InputError(
            f"results: {there} is not a folder that you may write to; name another one with --config results=FOLDER"
        )


def check_filled_in(*resources: Mapping[str, Any]) -> None:
    """Raises InputError if an account or a partition in the profile is still FILL_IN."""
    if any("FILL_IN" in str(getattr(value, "raw", value)) for some in resources for value in some.values()):
        raise InputError(
            "account or partition is not filled in; copy profiles/slurm to my-slurm, replace each FILL_IN in its "
            "profile.yaml, and give --profile my-slurm"
        )


def check_packages(experiment: Experiment, runs: Runs, scored: Sequence[str]) -> None:
    """Raises InputError if a package behind the scores is missing, damaged, of another experiment or of the future."""
    corpora = [experiment.corpus_of(task) for task in runs.trained]
    parsed = [runs.parses_of(corpus) for corpus in corpora if isinstance(corpus, SelfTraining)]
    for package in runs.packages_behind([*scored, runs.attention(), *parsed]):
        folder = Path(package).parent
        check_origin(folder, experiment, str(folder.parent.relative_to(runs.paths.packages)))
        if fault := next(filter(None, map(future_date, folder.iterdir())), ""):
            raise InputError(fault)
