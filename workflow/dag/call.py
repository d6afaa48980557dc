"""The call of snakemake, checked before Snakemake reads it. profiles/default calls `prepare`.

Snakemake reads overlays and --config before the Snakefile. It shows a traceback if one is missing or is not YAML, or
if a target stands behind them. Of an option that is given twice, it uses the last.
"""

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from transformer.support.files import InputError, told
from transformer.support.strict import read_keys
from workflow.cli import brief
from workflow.dag import environment
from workflow.experiment.config import Experiment, read_sources

T = TypeVar("T")
YAML = (".yaml", ".yml")


def prepare(arguments: Sequence[str]) -> None:
    """Check the arguments of snakemake, complete the environment, and register the logger.

    End the process with one line on standard error for a fault that Snakemake would not tell in one.
    """
    environment.complete()
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--snakefile", "-s")
    options.add_argument("--configfile", "--configfiles", nargs="*", type=Path, action="append", default=[])
    options.add_argument("--report", nargs="?", type=Path, const=Path("report.html"))
    options.add_argument("--directory", "-d", type=Path, default=Path())
    options.add_argument("--config", "-C", nargs="*", action="append", default=[])
    options.add_argument("--set-resources", nargs="*", action="append", default=[])
    options.add_argument("--set-threads", nargs="*", action="append", default=[])
    given, words = options.parse_known_args(arguments)
    overlays = once("--configfile", given.configfile)
    once("--set-resources", given.set_resources)
    once("--set-threads", given.set_threads)
    try:
        check_order(once("--config", given.config), overlays)
        check_targets(words, overlays)
        read_sources(overlays)
        if given.report:
            check_report(given.directory / given.report)
    except (InputError, OSError) as error:  # such as a folder that the user may not enter
        sys.exit(f"error: {told(error)}")
    brief.register()


def once(option: str, given: Sequence[Sequence[T]]) -> Sequence[T]:
    """The values of an option of several. End the process with one line on standard error if it is given twice."""
    if given[1:]:
        sys.exit(
            f"error: {option} is given twice, and Snakemake would use the last; write all values behind one {option}"
        )
    return given[0] if given else []


def check_order(config: Sequence[str], overlays: Iterable[Path]) -> None:
    """End the process with one line on standard error if a target stands behind --config or --configfile.

    Also if a key of --config is not a word, for which Snakemake shows a traceback, is given twice, or has no value, as
    with an unset variable, and if an overlay is a pipe.
    """
    first = "if it is a target, write it before all options"
    for word in config:
        if "=" not in word:
            sys.exit(f"error: --config: {word} is not KEY=VALUE; {first}")
    given = [word.partition("=") for word in config]
    for key, _, value in given:
        if [name for name, *_ in given].count(key) > 1:
            sys.exit(f"error: --config: {key} is given twice, and Snakemake would use the last; give it once")
        if not value:
            sys.exit(f"error: --config: {key} has no value; write it behind {key}=, or {key}=null for none")
        if not re.fullmatch(r"[a-zA-Z_][\w-]*\w", key):
            sys.exit(f"error: --config: {key} cannot be a key here; write it in a file and give --configfile FILE")
    for path in overlays:
        if path.suffix not in YAML and not path.exists():
            sys.exit(f"error: --configfile: {path}: no such file; {first}")
        if path.is_fifo():
            sys.exit(f"error: --configfile: {path} is a pipe, which Snakemake cannot read; write it into a file")


def check_targets(words: Sequence[str], overlays: Iterable[Path]) -> None:
    """End the process with one line on standard error for an empty target, and for an overlay that may stand for one.

    Snakemake shows a traceback for an empty target, as an unset variable leaves it. `words` are those of the command
    line without the options that name overlays. An overlay is reported wherever it stands among them, also behind an
    option. The file of all values of an experiment, in its own place, is a target.
    """
    if "" in words and "" in _targets(words):
        sys.exit("error: a target is empty; name one, or leave it out")
    for word in words:
        if word.endswith(YAML) and Path(word).is_file():
            with contextlib.suppress(InputError):  # it says enough if it is no target either
                values = read_keys(Path(word))
                target = Path(*(str(values.get(key)) for key in ("results", "experiment")), "experiment.yaml")
                if target != Path(word) and values.keys() & Experiment.__dataclass_fields__.keys() - {"packages"}:
                    given = shlex.join(map(str, [*overlays, word]))
                    sys.exit(f"error: {word} is an overlay, not a target; write --configfile {given}")


def _targets(words: Sequence[str]) -> list[str]:
    """Those of some words of the command line that Snakemake takes for targets."""
    from snakemake.cli import get_argument_parser  # it looks for plug-ins, which takes half a second

    known, _ = get_argument_parser().parse_known_args(words)
    return known.targets


def check_report(path: Path) -> None:
    """End the process with one line on standard error if a report cannot be written to `path`."""
    folder = path.parent
    if not folder.is_dir():
        sys.exit(f"error: --report: {folder}: no such folder; create it (mkdir -p {shlex.quote(str(folder))})")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        sys.exit(f"error: --report: {path} cannot be written; name another file")
