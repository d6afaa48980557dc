"""The texts that an experiment reads, and the downloads that it needs."""

import os
import shlex
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transformer.corpora.fetch import Download
from transformer.corpora.location import why_missing
from transformer.corpora.treebank import Treebank
from transformer.support.faults import ConfigError, Fault, Keys
from transformer.support.strict import plain
from workflow.experiment.config import Experiment

CLOCKS_DIFFER = 10  # seconds by which the clocks of a network's machines may differ


def future_date(path: Path) -> str:
    """What is wrong with a file whose date is in the future; empty if it is not. Snakemake fails at such an input."""
    dates = {"touch": path.stat().st_mtime, "touch -h": path.lstat().st_mtime}  # of the file, and of a link to it
    cure, date = max(dates.items(), key=lambda each: each[1])
    if date <= time.time() + CLOCKS_DIFFER:
        return ""
    shown = time.strftime("%Y-%m-%d %H:%M", time.localtime(date))
    cure += f" {shlex.quote(str(path))}"
    return f"{path}: its date, {shown}, is in the future, so Snakemake would never be done; run {cure}"


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
        for file in files:
            if file in experiment.downloads:
                wanted[file] = experiment.downloads[file]
                continue
            if "://" in file:
                text = (
                    f"{file} has no size and SHA-256; write downloads: {{{file}: {{bytes: ..., sha256: ...}}}} beside "
                    "`corpora`, with the numbers that wc -c and sha256sum tell of the file"
                )
            elif not os.path.isfile(file):  # noqa: PTH113 (Path.is_file raises PermissionError)
                text = f"{file}: {why_missing(file, 'file')}"
            elif not os.access(file, os.R_OK):
                text = f"{file}: you may not read it; make it readable"
            else:
                text = future_date(Path(file))
            if text:
                faults[Fault(("corpora", corpus, *_place(plain(trees), file)), text)] = None
    if faults:
        raise ConfigError("", list(faults))
    return wanted


def _place(values: Any, file: str) -> Keys:
    """The keys of the first text among `values` that is a file, or lies in it; empty if there is none."""
    items = values.items() if isinstance(values, dict) else enumerate(values if isinstance(values, list) else [])
    for key, value in items:
        if isinstance(value, str) and value.startswith(file) and value[len(file) :][:1] in ("", "/", "#"):
            return (key,)
        if place := _place(value, file):
            return (key, *place)
    return ()


def _way_without(experiment: Experiment, corpus: str) -> str:
    """How to run the tasks that do not need a corpus. Empty if all need it."""
    tasks = experiment.tasks
    run = [name for name, task in tasks.items() if task.models]
    others = [name for name in run if corpus not in (tasks[each].corpus for each in _with_read(experiment, [name]))]
    return f"; or leave out what needs it: --config 'only=[{', '.join(others)}]'" if others else ""
