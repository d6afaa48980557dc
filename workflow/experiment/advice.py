"""What a config may say but hardly means: a shipped name for other values, and names that nothing uses."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from transformer.support.faults import ConfigError, Fault, Keys, source_of
from transformer.support.files import same_file
from transformer.support.strict import added_up, load, located, merged, plain, read_keys
from workflow.experiment.config import Experiment
from workflow.experiment.downloads import tasks_read
from workflow.experiment.sources import OWN_FILES, SHIPPED, read_sources

Sources = Mapping[str, Mapping[str, Any]]
# Keys whose values change no finished run, no text and no score: they only add results, leave out some, or place them.
FREE = {
    *("experiment", "results", "mirror", "packages", "notes", "seeds", "table3_average", "figures", "searches"),
    *("only", "table1", "claims", "replicates", "trial"),
}


def check_name(experiment: Experiment, sources: Sources) -> None:
    """Raises ConfigError if the experiment has the name of one in config/, but other values than `sources` give to it.

    Its results would replace those. An overlay may add rows, seeds and tasks to an experiment, and leave some out.
    """
    if (values := _shipped(experiment.experiment.lower(), sources)) is None or values == _merged(sources):
        return
    shipped = load(Experiment, values)
    changed = [keys for keys in different(plain(shipped), plain(experiment)) if keys[0] not in FREE]
    own_folder, its_folder = (Path(each.results, each.experiment) for each in (experiment, shipped))
    if not changed or not same_file(own_folder, its_folder):  # some file systems ignore case
        return
    read = set(tasks_read(shipped)) & set(tasks_read(experiment))
    corpora = {shipped.tasks[task].corpus for task in read}
    models = {model for task in read for model in shipped.tasks[task].models if model in experiment.tasks[task].models}

    def replaces(top: str, name: str = "", key: str = "", *_: str) -> bool:
        match top:
            case "tasks":
                return name in read and key != "models"
            case "models":
                return name in models or (name == "base" and bool(models))
            case "corpora":
                return name in corpora and key != "trees"  # where the user has a licensed treebank
            case "downloads":
                return name in shipped.downloads
            case "length":
                return name in ("recipe", "steps")
        return top in ("scale", "subwords")

    text = f"is not that of the experiment {experiment.experiment}, whose results it would replace; "
    text += "name an experiment of your own, such as experiment: mine"
    if experiment.trial:
        text += ", or give the row of the trial a name of its own"
    faults = [Fault(keys, text, source_of(keys, sources)) for keys in changed if replaces(*map(str, keys))]
    own = tuple(f"{name}, line" for name in read_sources([]))
    if faults:  # where the user's files have some, the others follow from the name
        raise ConfigError("", [fault for fault in faults if not fault.source.startswith(own)] or faults[:1])


def _shipped(name: str, sources: Sources) -> dict[str, Any] | None:
    """The values of an experiment in config/; None if there is none of this name.

    If its file is the user's, files in config/ that are given before it belong to it, such as own-text.yaml.
    """
    values, path = _merged(read_sources([])), OWN_FILES[0].with_name(f"{name}.yaml")
    if values["experiment"] == name:
        return values
    if path in OWN_FILES or not path.is_file() or read_keys(path).get("experiment") != name:
        return None
    given = [Path(each).resolve() for each in sources if each in _shipped_files(sources)]
    before = [] if name in SHIPPED or path.resolve() not in given else given[: given.index(path.resolve())]
    return _merged(read_sources([*before, path]))


def _merged(sources: Sources) -> dict[str, Any]:
    return dict(added_up(merged(sources.values())))


def different(one: Any, other: Any, keys: Keys = ()) -> Iterator[Keys]:
    """The keys of all values that differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            yield from different(one.get(key), other.get(key), (*keys, key))
    elif one != other:
        yield keys


def warnings_of(experiment: Experiment, sources: Sources) -> list[str]:
    """A line for each model, corpus and download of the user's that nothing uses.

    Raises the errors of `Experiment.files_of`, with their sources.
    """
    known = _merged({**read_sources([]), **{name: sources[name] for name in _shipped_files(sources)}})
    try:
        read = {file for task in tasks_read(experiment) for file in experiment.files_of(task)}
    except ConfigError as error:
        raise located(error, sources) from None
    trained = {model for task in experiment.tasks.values() for model in task.models}
    tried = {experiment.trial.row} if experiment.trial else set()
    used = {
        "models": trained | tried | {row for claim in experiment.claims.values() for _, row in claim.runs()},
        "corpora": {task.corpus for task in experiment.tasks.values()},
        "downloads": read,
    }
    warnings = []
    for kind, names in used.items():
        for name in map(str, _merged(sources).get(kind) or {}):
            if name not in names and name not in known[kind]:
                close = difflib.get_close_matches(name, known[kind], n=1)
                text = f"nothing uses it; {f'did you mean {close[0]}?' if close else 'name it in a task, or remove it'}"
                warnings.append(str(Fault((kind, name), text, source_of((kind, name), sources))))
    return warnings


def _shipped_files(sources: Sources) -> set[str]:
    """Those of some files that are in config/."""
    return {name for name in sources if Path(name).resolve().parent == OWN_FILES[0].parent.resolve()}
