"""The experiment that snakemake was called for, checked before anything runs."""

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

from transformer.corpora.fetch import Download
from transformer.corpora.self_training import SelfTraining
from transformer.experiment.advice import check_name, different, warnings_of
from transformer.experiment.config import Experiment, read_sources
from transformer.experiment.downloads import downloads_of, tasks_read
from transformer.experiment.origin import check_origin
from transformer.support.faults import ConfigError, Fault, with_source
from transformer.support.files import InputError, check_mirror, future_date
from transformer.support.strict import load_sources, located, merge, merged, parse_yaml, read_keys, union
from workflow.lib.inputs import Inputs
from workflow.lib.runs import Runs

T = TypeVar("T")
YAML = (".yaml", ".yml")


def once(option: str, given: Sequence[Sequence[T]]) -> Sequence[T]:
    """The values of an option of several. End the process with one line on standard error if it is given twice."""
    if given[1:]:
        sys.exit(
            f"error: {option} is given twice, and Snakemake would use the last; write all values behind one {option}"
        )
    return given[0] if given else []


def check_order(config: Sequence[str], overlays: Iterable[Path]) -> None:
    """End the process with one line on standard error if a target stands behind --config or --configfile.

    Also if a key of --config is not a word, for which Snakemake shows a traceback, is given twice, or has no value, as
    with an unset variable.
    """
    first = "if it is a target, write it before all options"
    for word in config:
        if "=" not in word:
            sys.exit(f"error: --config: {word} is not KEY=VALUE; {first}")
    given = [word.partition("=") for word in config]
    for key, _, value in given:
        if [name for name, *_ in given].count(key) > 1:
            sys.exit(f"error: --config: {key} is given twice, and Snakemake would use the last; give it once")
        if not value:
            sys.exit(f"error: --config: {key} has no value; write it behind {key}=, or {key}=null for none")
        if not re.fullmatch(r"[a-zA-Z_][\w-]*\w", key):
            sys.exit(f"error: --config: {key} cannot be a key here; write it in a file and give --configfile FILE")
    for path in overlays:
        if path.suffix not in YAML and not path.exists():
            sys.exit(f"error: --configfile: {path}: no such file; {first}")
        if path.is_fifo():
            sys.exit(f"error: --configfile: {path} is a pipe, which Snakemake cannot read; write it into a file")


def check_targets(words: Sequence[str], overlays: Iterable[Path]) -> None:
    """End the process with one line on standard error for an empty target, and for an overlay that may stand for one.

    Snakemake shows a traceback for an empty target, as an unset variable leaves it. `words` are those of the command
    line without the options that name overlays. An overlay is told wherever it stands among them, also behind an
    option. The file of all values of an experiment, in its own place, is a target.
    """
    if "" in words and "" in _targets(words):
        sys.exit("error: a target is empty; name one, or leave it out")
    for word in words:
        if word.endswith(YAML) and Path(word).is_file():
            with contextlib.suppress(InputError):  # it says enough if it is no target either
                values = read_keys(Path(word))
                target = Path(*(str(values.get(key)) for key in ("results", "experiment")), "experiment.yaml")
                if target != Path(word) and values.keys() & Experiment.__dataclass_fields__.keys() - {"packages"}:
                    given = shlex.join(map(str, [*overlays, word]))
                    sys.exit(f"error: {word} is an overlay, not a target; write --configfile {given}")


def _targets(words: Sequence[str]) -> list[str]:
    """Those of some words of the command line that Snakemake takes for targets."""
    from snakemake.cli import get_argument_parser  # it looks for plug-ins, which takes half a second

    known, _ = get_argument_parser().parse_known_args(words)
    return known.targets


def check_overlays(overlays: Iterable[Path]) -> None:
    """End the process with one line on standard error if an overlay is missing or is not YAML with keys."""
    try:
        read_sources(overlays)
    except InputError as error:
        sys.exit(f"error: {error}")


def check_report(path: Path) -> None:
    """End the process with one line on standard error if a report cannot be written to `path`."""
    folder = path.parent
    if not folder.is_dir():
        sys.exit(f"error: --report: {folder}: no such folder; create it (mkdir -p {shlex.quote(str(folder))})")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        sys.exit(f"error: --report: {path} cannot be written; name another file")


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
        from transformer.experiment.trial import archives, check_trial  # it needs SciPy, which takes a while to load

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
