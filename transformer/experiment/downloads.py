"""Which texts an experiment reads, and what it needs from the net."""

from pathlib import Path

from transformer.corpora.fetch import Download
from transformer.experiment.config import Experiment
from transformer.support.files import InputError


def tasks_read(experiment: Experiment) -> list[str]:
    """The tasks whose text is read: those that have models, and those whose trees or plain text these learn from."""
    names = [name for name, task in experiment.tasks.items() if task.models]
    for name in names:
        more = experiment.corpus_of(name).read(experiment.corpus_of)
        names += [each for each in more if each not in names]
    return names


def downloads_of(experiment: Experiment) -> dict[str, Download]:
    """What the tasks that are run need from the net: URL -> size and SHA-256.

    Raises InputError as `Experiment.files_of` does, for a URL whose size and SHA-256 are not known, and for a file of
    one's own that does not exist.
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
                raise InputError(f"corpora.{corpus}: {file}: no such file; paths begin at {Path.cwd()}")
    return wanted
