"""What a config may say but hardly means: names that nothing uses."""

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer.support.faults import ConfigError, Fault, source_of
from transformer.support.strict import added_up, located, merged
from workflow.experiment.config import Experiment
from workflow.experiment.downloads import tasks_read
from workflow.experiment.sources import OWN_FILES, read_sources

Sources = Mapping[str, Mapping[str, Any]]


def _merged(sources: Sources) -> dict[str, Any]:
    return dict(added_up(merged(sources.values())))


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
