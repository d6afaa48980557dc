"""The texts that an experiment reads, and the downloads that it needs."""

import os
import shlex
import time
from collections.abc import Iterable
from pathlib import Path

from transformer.corpora.fetch import Download
from transformer.corpora.location import why_missing
from transformer.corpora.treebank import Treebank
from transformer.support.faults import ConfigError, Fault
from workflow.experiment.config import Experiment

CLOCKS_DIFFER = 10  # seconds by which the clocks of a network's machines may differ


def future_date(path: Path) -> str:
    """What is wrong with a file whose date is in the future; empty if it is not. Snakemake fails at such an input."""
    if max(path.stat().st_mtime, path.lstat().st_mtime) <= time.time() + CLOCKS_DIFFER:  # of the file, and of a link
        return ""
    cure = f"run touch {shlex.quote(str(path))}{' with -h, as it is a link' * path.is_symlink()}"
    return f"{path}: its date is in the future, so Snakemake would never be done; {cure}"


def tasks_read(experiment: Experiment) -> list[str]:
    """The tasks whose text is read: tasks that have models, and tasks whose trees or plain text those learn from."""
    return _with_read(experiment, (name for name, task in experiment.tasks.items() if task.models))


def _with_read(experiment: Experiment, tasks: Iterable[str]) -> list[str]:
    """Some tasks, and those from whose text they learn."""
    names = list(tasks)
    for name in names:
        more = experiment.corpus_of(name).read(experiment.corpus_of)
        names += [each for each in more if each not in names]
    return names


def downloads_of(experiment: Experiment) -> dict[str, Download]:
    """The downloads that the experiment's tasks need: URL -> size and SHA-256.

    Raises ConfigError that names all URLs of unknown size and SHA-256, all files of the user's that are missing or have
    a date in the future, all folders that are not those of a treebank, and all faults of `Experiment.files_of`.
    """
    wanted: dict[str, Download] = {}
    faults: dict[Fault, None] = {}  # in order, each once
    for name in tasks_read(experiment):
        corpus = experiment.tasks[name].corpus
        trees = experiment.corpora[corpus]
        if isinstance(trees, Treebank) and (why := trees.missing()):
            faults[Fault(("corpora", corpus, "trees"), why + _way_without(experiment, corpus))] = None
            continue
        try:
            files = experiment.files_of(name)
        except ConfigError as error:
            faults |= dict.fromkeys(error.faults)
            continue
        wanted |= {file: experiment.downloads[file] for file in files if file in experiment.downloads}
        missing = (_missing(file) for file in files if file not in wanted)
        faults |= {Fault(("corpora", corpus), text): None for text in missing if text}
    if faults:
        raise ConfigError("", list(faults))
    return wanted


def _missing(file: str) -> str:
    """What is wrong with a URL that has no checksum, or with a file of the user's. Empty if nothing is."""
    if "://" in file:
        entry = f"downloads: {{{file}: {{bytes: ..., sha256: ...}}}}"
        return f"{file} has no size and SHA-256; write {entry}, with the numbers that wc -c and sha256sum tell of it"
    if not os.path.isfile(file):  # noqa: PTH113 (Path.is_file raises PermissionError)
        return f"{file}: {why_missing(file, 'file')}"
    if not os.access(file, os.R_OK):
        return f"{file}: you may not read it; make it readable"
    return future_date(Path(file))


def _way_without(experiment: Experiment, corpus: str) -> str:
    """How to run the tasks that do not need a corpus. Empty if all need it."""
    tasks = experiment.tasks
    run = [name for name, task in tasks.items() if task.models]
    others = [name for name in run if corpus not in (tasks[each].corpus for each in _with_read(experiment, [name]))]
    return f"; or leave out what needs it: --config 'only=[{', '.join(others)}]'" if others else ""
