"""The files of an experiment, and what is written in them before it is checked."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transformer.support.faults import unknown
from transformer.support.fields import Faults
from transformer.support.files import InputError
from transformer.support.strict import read_keys

OWN_FILES = tuple(
    Path(__file__).parents[2] / f"config/{name}.yaml" for name in ("models", "corpora", "length", "claims", "config")
)
RELEASED = OWN_FILES[0].parents[1] / "docs"  # the released results: a folder for each experiment


def read_sources(overlays: Iterable[Path]) -> dict[str, Mapping[str, Any]]:
    """The contents of the project's config/*.yaml and of `overlays`, in the order in which they override each other.

    Keys are paths. Those of files below the current folder are relative. Raises the errors of `read_keys`, and
    InputError if the package is installed without config/.
    """
    if not (folder := OWN_FILES[0].parent).is_dir():
        raise InputError(f"{folder}: no such folder; experiments need a clone: run python -m transformer in its folder")
    files = [path.absolute() for path in (*OWN_FILES, *overlays)]
    here = Path.cwd()
    names = [path.relative_to(here) if path.is_relative_to(here) else path for path in files]
    unique = reversed(dict.fromkeys(reversed(names)))  # the last place of a name counts
    return {str(name): read_keys(name) for name in unique}


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


def mapping(value: Any) -> Mapping[str, Any]:
    """A value as it is written if it is a mapping; else an empty one."""
    return value if isinstance(value, Mapping) else {}
