"""A corpus as files: the parts train, dev and test, a file a side, a segment a line; and its record, corpus.json."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from transformer.support.files import InputError, atomic, write_json
from transformer.trees.symbols import Leaves

Pair = tuple[str, str]
PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Given:
    """What a corpus is made from, besides what its config says."""

    config: Path  # named in messages
    downloads: Path  # the folder that holds what URLs gave
    text: Path | None = None
    gold: Path | None = None  # the folder of a corpus of trees
    parses: Path | None = None
    log_probabilities: Path | None = None

    def need(self, name: str) -> Path:
        """One of the paths that may be missing. Raises InputError where it is."""
        path: Path | None = getattr(self, name)
        if path is None:
            raise InputError(f"{self.config}: this corpus needs --{name.replace('_', '-')}")
        return path


class Kind:
    """A kind of corpus. The fields of its dataclass are the keys of its config; its methods answer what stages ask.

    `of` is a function from a task's name to that task's corpus.
    """

    description: str
    licence: str

    def files(self, name: str, source: str, target: str) -> list[str]:
        """The files and URLs from which corpus `name` is read, for a task from `source` to `target`; no folders.

        Raises InputError for a location that is none, and a language that the corpus lacks.
        """
        return []

    def tasks(self) -> dict[str, str]:
        """The tasks that its config names, by the key that names them."""
        return {}

    def runs(self) -> dict[str, tuple[str, str]]:
        """The runs, (task, model), whose parses it holds, by the key that names the model."""
        return {}

    def read(self, of: "Callable[[str], Kind]") -> list[str]:
        """The tasks whose text it is made from."""
        return []

    def count(self, of: "Callable[[str], Kind]") -> tuple[int | None, int]:
        """Pairs of train before cleaning, None where the config does not tell; and sentences without trees."""
        return None, 0

    def write(self, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
        """Write its parts and its record into `folder`: `write_part` and `write_record`, or as they do."""
        raise NotImplementedError


def write_part(folder: Path, part: str, pairs: Iterable[Pair], removed: Mapping[str, int], name: str) -> int:
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
    corpus: Kind,
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


def write_whole(corpus: Kind, folder: Path, given: Given, *, name: str, source: str, target: str) -> None:
    """Have a corpus written, and its files appear in `folder` when all of them are there; corpus.json comes last.

    Raises InputError as `Kind.write` does; then nothing is left.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".", suffix=".part", dir=folder) as temporary:
        corpus.write(Path(temporary), given, name=name, source=source, target=target)
        for path in sorted(Path(temporary).iterdir(), key=lambda path: path.name == "corpus.json"):
            path.replace(folder / path.name)
