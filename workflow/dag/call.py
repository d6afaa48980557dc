"""The call of snakemake, checked before Snakemake reads it. profiles/default calls `prepare`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from transformer.support.files import InputError, told
from transformer.support.strict import read_keys
from workflow.cli import brief
from workflow.dag import environment
from workflow.experiment.config import Experiment, read_sources


def prepare(arguments: Sequence[str]) -> None:
    """Check the overlays among the arguments of snakemake, complete the environment, and register the logger.

    Snakemake reads overlays before the Snakefile, and shows a traceback for a faulty one. Of an option that is given
    twice it uses the last. Ends the process with one line on standard error instead.
    """
    environment.complete()
    options = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    options.add_argument("--configfile", "--configfiles", nargs="*", type=Path, action="append", default=[])
    options.add_argument("--config", "-C", nargs="*", action="append", default=[])
    given, words = options.parse_known_args(arguments)
    for option, values in (("--configfile", given.configfile), ("--config", given.config)):
        if values[1:]:
            sys.exit(f"error: {option} is given twice, and Snakemake would use the last; write all values behind one")
    for word in (word for words in given.config for word in words if "=" not in word):
        sys.exit(f"error: --config: {word} is not KEY=VALUE; if it is a target, write it before all options")
    overlays = given.configfile[0] if given.configfile else []
    try:
        read_sources(overlays)
        for word in words:
            if word.endswith((".yaml", ".yml")) and Path(word).is_file() and _is_overlay(Path(word)):
                command = shlex.join(map(str, [*overlays, word]))
                sys.exit(f"error: {word} is an overlay, not a target; write --configfile {command}")
    except (InputError, OSError) as error:  # such as a folder that the user may not enter
        sys.exit(f"error: {told(error)}")
    brief.register()


def _is_overlay(path: Path) -> bool:
    """Whether a file has keys of an experiment. The one that Snakemake writes with all of its values is a target."""
    keys = Experiment.__dataclass_fields__.keys() - {"packages"}
    return path.name != "experiment.yaml" and bool(read_keys(path).keys() & keys)
