"""The texts that an experiment reads, and the downloads that it needs."""

from pathlib import Path

from transformer.corpora.fetch import Download
from transformer.experiment.config import Experiment
from transformer.support.files import InputError


def tasks_read(experiment: Experiment) -> list[str]:
    """The tasks whose text is read: tasks that have models, and tasks whose trees or plain text those learn from."""
    names = [name for name, task in experiment.tasks.items() if task.models]
    for name in names:
        more = experiment.corpus_of(name).read(experiment.corpus_of)
        names += [each for each in more if each not in names]
    return names


def downloads_of(experiment: Experiment) -> dict[str, Download]:
    """The downloads that the experiment's tasks need: URL -> size and SHA-256.

    Raises InputError for a URL of unknown size and SHA-256 and for a missing file of the user's, and the errors of
    `Experiment.files_of`.
    """
    wanted: dict[str, Download] = {}
    for name in tasks_read(experiment):
        corpus = experiment.tasks[name].corpus
        for file in experiment.files_of(name):
            if "://" in file:
                if file not in experiment.downloads:
                    raise InputError(
                        f"corpora.{corpus}: {file} has no size and SHA-256; add it to `downloads` (config/corpora.yaml)"
                    )
                wanted[file] = experiment.downloads[file]
            elif not Path(file).is_file():
                raise InputError(f"corpora.{corpus}: {file}: no such file; paths are relative to {Path.cwd()}")
    return wanted
