"""The files of an experiment, and what is written in them before it is checked."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transformer.support.files import InputError, same_file
from transformer.support.strict import read_keys

OWN_FILES = tuple(
    Path(__file__).parents[2] / f"config/{name}.yaml" for name in ("models", "corpora", "length", "claims", "config")
)
# Files that are no experiment by themselves: at this place among the overlays, what should be given.
PARTS = {
    "config/paper-base.yaml": (0, "config/paper.yaml config/paper-base.yaml"),
    "models/tables.yaml": (0, "config/small.yaml models/tables.yaml"),
    "models/marks.yaml": (0, "config/multi30k-tiny.yaml models/marks.yaml"),
    "config/own-text.yaml": (-1, "config/own-text.yaml mine.yaml"),
}
RELEASED = OWN_FILES[0].parents[1] / "results/released"  # of the clone: a folder for each experiment


def read_sources(overlays: Iterable[Path]) -> dict[str, Mapping[str, Any]]:
    """The contents of the project's config/*.yaml and of `overlays`, in the order in which they override each other.

    Keys are paths. Those of files below the current folder are relative. Raises the errors of `read_keys`, and
    InputError if an overlay is no experiment without another one.
    """
    files = [path.absolute() for path in (*OWN_FILES, *overlays)]
    here = Path.cwd()
    names = [path.relative_to(here) if path.is_relative_to(here) else path for path in files]
    unique = reversed(dict.fromkeys(reversed(names)))  # the last place of a name counts
    given = names[len(OWN_FILES) :]
    for part, (place, right) in PARTS.items() if given else ():
        if same_file(given[place], OWN_FILES[0].parents[1] / part):
            raise InputError(f"{given[place]}: is no experiment by itself; give --configfile {right}")
    return {str(name): read_keys(name) for name in unique}
