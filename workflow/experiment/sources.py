"""The files of an experiment, and what is written in them before it is checked."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformer.support.faults import unknown
from transformer.support.fields import Faults
from transformer.support.files import InputError, same_file
from transformer.support.strict import read_keys

OWN_FILES = tuple(
    Path(__file__).parents[2] / f"config/{name}.yaml" for name in ("models", "corpora", "length", "claims", "config")
)
# Files that are no experiment by themselves, each with one that comes before it, or with one that comes after it.
AFTER = {
    "config/paper-base.yaml": "config/paper.yaml",
    "models/tables.yaml": "config/small.yaml",
    "models/marks.yaml": "config/multi30k-tiny.yaml",
}
BEFORE = {"config/own-text.yaml": "mine.yaml"}
RELEASED = OWN_FILES[0].parents[1] / "docs"  # the released results: a folder for each experiment


def read_sources(overlays: Iterable[Path]) -> dict[str, Mapping[str, Any]]:
    """The contents of the project's config/*.yaml and of `overlays`, in the order in which they override each other.

    Keys are paths. Those of files below the current folder are relative. Raises the errors of `read_keys`, and
    InputError if the package is installed without config/, and if an overlay is no experiment without another one.
    """
    if not (folder := OWN_FILES[0].parent).is_dir():
        raise InputError(f"{folder}: no such folder; experiments need a clone: run python -m transformer in its folder")
    files = [path.absolute() for path in (*OWN_FILES, *overlays)]
    here = Path.cwd()
    names = [path.relative_to(here) if path.is_relative_to(here) else path for path in files]
    unique = reversed(dict.fromkeys(reversed(names)))  # the last place of a name counts
    _check_parts(names[len(OWN_FILES) :])
    return {str(name): read_keys(name) for name in unique}


def _check_parts(overlays: Sequence[Path]) -> None:
    """Raises InputError if an overlay that only changes another one comes first, or one for others to change, last."""
    for place, parts, order in (0, AFTER, "{other} {part}"), (-1, BEFORE, "{part} {other}"):
        for part, other in parts.items():
            if overlays and same_file(overlays[place], OWN_FILES[0].parents[1] / part):
                given = order.format(part=part, other=other)
                raise InputError(f"{overlays[place]}: is no experiment by itself; give --configfile {given}")


def unknown_names(values: Any) -> Faults:
    """The unknown models and corpora of tasks, among values as they are written, so that no other fault hides them."""
    tasks, models, corpora = (mapping(mapping(values).get(key)) for key in ("tasks", "models", "corpora"))
    for name, task in tasks.items():
        rows = [(key, "model", models) for key in ("models", "models+")]
        for key, noun, known in (*rows, ("corpus", "corpus", corpora)):
            named = mapping(task).get(key)
            for each in named if isinstance(named, list) else [named]:
                if known and isinstance(each, str) and each not in known:
                    yield ("tasks", name, key), unknown(each, known, noun)


def run_too(others: Iterable[str], mine: Iterable[str]) -> str:
    """The text that other tasks are run beside those of the user's own."""
    return f"{', '.join(others)} will be run, too; if you do not want that, write only: [{', '.join(mine)}]"


def mapping(value: Any) -> Mapping[str, Any]:
    """A value as it is written if it is a mapping; else an empty one."""
    return value if isinstance(value, Mapping) else {}
