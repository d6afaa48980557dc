"""`python -m workflow COMMAND`, in the folder of the clone: what experiments cost."""

import argparse
import sys

from transformer.cli.command import command, path
from transformer.support.files import write_output


@command(
    path("configfile", "files that override those of config/", required=False, nargs="*", action="extend", default=[]),
)
def plan(arguments: argparse.Namespace) -> None:
    """Print what an experiment will cost in time, memory and disk, without running any of it."""
    from transformer.support.faults import ConfigError
    from transformer.support.strict import located
    from workflow.experiment.advice import warnings_of
    from workflow.experiment.config import read_experiment, read_sources
    from workflow.experiment.downloads import downloads_of

    experiment = read_experiment(arguments.configfile)  # reports faults before the measurements below
    sources = read_sources(arguments.configfile)
    warnings = warnings_of(experiment, sources)
    try:
        downloads_of(experiment)
    except ConfigError as error:  # what would stop a run; its cost does not depend on it
        warnings += map(str, located(error, sources).faults)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    from workflow.experiment.plan import plan as plan_of

    write_output(plan_of(experiment))
