"""Corpora as files: the parts train, dev and test, a file a side, a segment a line; and corpora from parallel texts."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from transformer.config import Corpus, Download, Experiment, Files, Leaves, ParsedText, SelfTraining, Task, Treebank
from transformer.data.cleaning import Cleaner, unusable
from transformer.data.fetch import local_path
from transformer.data.reading import Location, open_pairs
from transformer.files import InputError, atomic, write_json
from transformer.progress import Progress
from transformer.strict import unknown

Pair = tuple[str, str]
PARTS = ("train", "dev", "test")


def write_pairs(folder: Path, part: str, pairs: Iterable[Pair], removed: Mapping[str, int], name: str) -> int:
    """Write `part`.source and `part`.target, a segment a line; returns how many.

    Raises InputError when there is none.
    """
    count = 0
    with atomic(Path(folder) / f"{part}.source") as sources, atomic(Path(folder) / f"{part}.target") as targets:
        for source, target in pairs:
            sources.write(source.encode() + b"\n")
            targets.write(target.encode() + b"\n")
            count += 1
        if not count:
            counts = ", ".join(f"{step}: {pairs}" for step, pairs in removed.items() if pairs)
            reason = f"no pair left; relax its cleaning ({counts})" if counts else "no text; its files are empty"
            raise InputError(f"corpus {name}: {part} has {reason}")
    return count


def write_record(
    folder: Path,
    pairs: Mapping[str, int],
    removed: Mapping[str, int],
    corpus: Corpus,
    *,
    name: str,
    source: str,
    target: str,
    cleaned: Iterable[str] = ("train",),
    leaves: Leaves | None = None,
) -> None:
    """Write corpus.json: what the corpus is, how many pairs each part has, how many each cleaning step removed.

    `read` is how many pairs there were of the parts that are cleaned; `leaves` are those of linearised trees.
    """
    record = {
        "corpus": name,
        "licence": corpus.licence,
        "description": corpus.description,
        "source": source,
        "target": target,
        "pairs": dict(pairs),
        "read": sum(pairs[part] for part in cleaned) + sum(removed.values()),
        "removed": dict(removed),
    }
    if leaves:
        record["leaves"] = leaves
    write_json(Path(folder) / "corpus.json", record)


def prepare_files(corpus: Files, downloads: Path, folder: Path, *, name: str, source: str, target: str) -> None:
    """Read parallel texts, clean train, and write the corpus to `folder`; `downloads` holds what URLs gave.

    Dev and test stay as they are: scores are comparable on the same text only. Raises InputError as
    `transformer.data.reading.open_pairs` does, and for a pair of dev or test that cannot be used.
    """
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)  # what a killed process has left
    unpacked.mkdir(parents=True)
    cleaner = Cleaner(corpus.cleaning)
    progress = Progress(f"{name} {source}-{target}", corpus.pairs, "pair")

    def read(part: str) -> Iterator[Pair]:
        for texts in _texts(corpus, part, name, source, target):
            with open_pairs(*texts, lambda url: downloads / local_path(url), unpacked) as pairs:
                for number, pair in enumerate(pairs, start=1):
                    if part == "train":
                        progress.update(1)
                        if cleaner.keeps(*pair):
                            yield pair
                    elif reason := unusable(*pair):
                        raise InputError(f"{' and '.join(texts)}, line {number}: {reason}; correct or remove this pair")
                    else:
                        yield pair

    sizes = {part: write_pairs(folder, part, read(part), cleaner.removed, name) for part in ("dev", "test", "train")}
    progress.close()
    shutil.rmtree(unpacked)
    sizes = {part: sizes[part] for part in PARTS}
    write_record(folder, sizes, cleaner.removed, corpus, name=name, source=source, target=target)


def _texts(corpus: Files, part: str, name: str, source: str, target: str) -> list[tuple[str, str]]:
    """The locations of a part, source and target. Raises InputError where a language is missing or a location wrong."""
    texts: list[dict[str, str]] = getattr(corpus, part)
    for i, text in enumerate(texts):
        for language in (source, target):
            if language not in text:
                raise InputError(f"corpora.{name}.{part}[{i}]: " + unknown(language, text, "language"))
            try:
                Location.parse(text[language])
            except InputError as error:
                raise InputError(f"corpora.{name}.{part}[{i}].{language}: {error}") from None
    return [(text[source], text[target]) for text in texts]


def corpus_files(corpus: Corpus, name: str, task: Task) -> list[str]:
    """The files and URLs that a corpus is read from, as a task uses it; folders are not among them.

    Raises InputError for a location that is none, and a language that the corpus lacks.
    """
    if isinstance(corpus, Files):
        pairs = [pair for part in PARTS for pair in _texts(corpus, part, name, task.source, task.target)]
        return list(dict.fromkeys(Location.parse(text).file for pair in pairs for text in pair))
    if isinstance(corpus, ParsedText):
        return list(dict.fromkeys(Location.parse(trees).file for trees in corpus.trees))
    if isinstance(corpus, Treebank) and (trees := Location.parse(corpus.trees)).member:
        return [trees.file]
    return []


def tasks_read(experiment: Experiment) -> list[str]:
    """The tasks whose text is read: those that have models, and those whose trees or plain text these learn from."""
    names = [name for name, task in experiment.tasks.items() if task.models]
    for name in names:
        corpus = experiment.corpora[experiment.tasks[name].corpus]
        if isinstance(corpus, SelfTraining | ParsedText):
            gold, more = experiment.corpora[experiment.tasks[corpus.gold].corpus], [corpus.gold]
            if isinstance(corpus, SelfTraining) and isinstance(gold, Treebank):
                more.append(gold.plain.task)
            names += [each for each in more if each not in names]
    return names


def downloads_of(experiment: Experiment) -> dict[str, Download]:
    """What the tasks that are run need from the net: URL -> size and SHA-256.

    Raises InputError as `corpus_files` does, for a URL whose size and SHA-256 are not known, and for a file of one's
    own that does not exist.
    """
    wanted: dict[str, Download] = {}
    for name in tasks_read(experiment):
        task = experiment.tasks[name]
        for file in corpus_files(experiment.corpora[task.corpus], task.corpus, task):
            if "://" in file:
                if file not in experiment.downloads:
                    raise InputError(
                        f"corpora.{task.corpus}: {file} has no size and SHA-256; "
                        "add it to `downloads` (config/corpora.yaml)"
                    )
                wanted[file] = experiment.downloads[file]
            elif not Path(file).is_file():
                raise InputError(f"corpora.{task.corpus}: {file}: no such file; paths begin at {Path.cwd()}")
    return wanted
