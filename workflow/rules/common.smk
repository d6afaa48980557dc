# What all rules share: the checked experiment, its paths and its runs. workflow/lib computes them.

import gc
import re
import shlex
import sys
from functools import cache
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

sys.path.insert(0, CLONE)

from workflow.lib import environment

if fault := environment.fault_of(Path(CLONE)):
    raise WorkflowError(fault)

from transformer.corpora import kinds
from transformer.support.files import InputError
from transformer.support.strict import plain
from workflow.lib.code import behind_command, behind_kind, behind_module, relative
from workflow.lib.experiment import (
    check_packages,
    check_writable,
    checked,
    needed,
    replaced,
    warnings,
)
from workflow.lib.inputs import Inputs
from workflow.lib.paths import Paths
from workflow.lib.profile import check_filled_in, check_set, rule_names
from workflow.lib.resources import Demands, growing
from workflow.lib.runs import Runs
from workflow.lib.trial import cost_line
from workflow.results.selection import Selection

# Snakemake's modules stay until the end. Unless the garbage collector leaves them alone, `snakemake -n` takes 0.4 s longer.
gc.freeze()

try:
    experiment = checked(config, workflow.overwrite_configfiles, workflow.config_settings.config_args)
    downloads = needed(experiment, workflow.overwrite_configfiles, workflow.config_settings.config_args)
    check_writable(Path(Paths.of(experiment).results))
    asked = workflow.resource_settings
    check_filled_in(asked.default_resources or {}, *(asked.overwrite_resources or {}).values())
except (InputError, OSError) as error:  # such as a folder that the user may not enter
    raise WorkflowError(str(error)) from None
if workflow.is_main_process:
    for warning in warnings(experiment, workflow.overwrite_configfiles, workflow.config_settings.config_args):
        logger.warning(warning)

# The path to the clone by which rules name its files. It stays the same if the clone is moved, mounted elsewhere or
# reached by a link, so nothing is made again.
HERE = environment.path_to(Path(CLONE))
# Jobs call `python`. It is the one that runs Snakemake, whichever environment is active and whatever BASH_ENV does,
# unless jobs have conda environments or containers. They look for modules in the clone first, and never in the working
# folder.
exports = "export PYTHONUTF8=1 PYTHONSAFEPATH=1"
exports += f" PYTHONPATH={shlex.quote(CLONE)}${{PYTHONPATH:+:$PYTHONPATH}}"
exports += f" LAUNCH={shlex.quote(f'{CLONE}/workflow/jobs/launch.sh')}; "
if workflow.deployment_settings.deployment_method <= {DeploymentMethod.ENV_MODULES}:
    exports += f"unset BASH_ENV; unset -f python torchrun; PATH={shlex.quote(str(environment.PYTHON.parent))}:$PATH; "
if experiment.mirror:
    exports += f"export TRANSFORMER_MIRROR={shlex.quote(experiment.mirror)}; "
# What a job prints goes to its log. If the job runs on a cluster, it also goes to the batch system.
silent = "" if workflow.remote_exec else "exec > /dev/null; "
prefix = f"set -euo pipefail; {silent}{exports}"
shell.prefix(prefix.replace("{", "{{").replace("}", "}}"))
# Snakemake puts the path of Python into commands without quotes.
sys.executable = shlex.quote(str(environment.PYTHON))
# Snakemake warns about rules with `cache` if the user has not asked for caching, so they then have none.
CACHED = workflow.workflow_settings.cache is not None

paths = Paths.of(experiment)
runs = Runs(experiment, paths)
try:
    selection = Selection(experiment, runs, HERE / "config/published.yaml")
except InputError as error:
    raise WorkflowError(str(error)) from None
inputs = Inputs(experiment, runs, downloads)
# Rules of a workflow that has this one as a module are not known here.
if workflow.modifier.parent_modifier is None:
    try:
        check_set(
            rule_names(Path(CLONE), inputs.makings, (result.rule for _, result in selection.results)),
            asked.overwrite_resources,
            asked.overwrite_threads,
            asked.default_resources or {},
            asked.resources,
        )
    except InputError as error:
        raise WorkflowError(str(error)) from None
if workflow.is_main_process:
    for warning in replaced(experiment, inputs):
        logger.warning(warning)
demands = Demands(experiment, runs)

DOWNLOADS, RESULTS = paths.downloads, paths.results
RUN, LOG, BENCHMARK, PACKAGE = paths.run, paths.log, paths.benchmark, paths.package
SETTINGS = plain(experiment)  # for `lookup`


def any_of(names):
    """A wildcard constraint: one of `names`."""
    return "|".join(map(re.escape, names)) or "(?!)"


def of_kind(*of):
    """A wildcard constraint: a task whose corpus is of one of these kinds."""
    return any_of(inputs.tasks_of(*of))


def code(stage):
    """The source files behind a command or a kind of corpus. When one changes, the stage runs again."""
    files = behind_command(stage) if isinstance(stage, str) else behind_kind(stage)
    return relative(files, HERE)


def module(name):
    """A module and the source files behind it."""
    return relative(behind_module(name), HERE)


def made(target):
    """The tables and figures that a target asks for."""
    return [
        getattr(rules, result.rule).output for _, result, _ in selection.planned if result.target == target
    ]


@cache
def of_trial(_):
    """The table and the figure of the trial. Says what they cost when they are asked for."""
    if experiment.trial is None:
        # Snakemake would put an error into a traceback.
        sys.exit(
            "error: trial: no row is named; write `trial: {row: NAME}` into your overlay (docs/own-idea.md)"
        )
    logger.warning(cost_line(experiment, runs))
    return [path for output in made("trial") for path in output]


def read_by(*names):
    """The files of this experiment that rules read, and those of its packages."""
    files = {str(file) for name in names for file in getattr(rules, name).input}
    return sorted(file for file in files if file.startswith((f"{RESULTS}/", f"{paths.packages}/")))


def in_report(result):
    """The outputs of a result's rule. The first file of each output with labels is in the report, sorted by these."""
    look = {"caption": "../report/result.rst", "category": result.category}
    return {
        name: [report(first, **look, labels=result.labels[name]) if name in result.labels else first, *others]
        for name, (first, *others) in result.files(RESULTS).items()
    }


def report_start(files):
    """The start page of the report, as HTML. The template workflow/report/workflow.rst calls it."""
    from workflow.results.overview import overview

    return overview(selection, files)


# Check given packages, those that tables and figures need, before anything runs.
if experiment.packages and workflow.is_main_process:
    try:
        check_packages(experiment, runs, selection.scored)
    except InputError as error:
        raise WorkflowError(str(error)) from None


# Threads, GPUs and subwords in a forward pass are those of a training; without `--set-threads` and `--set-resources` they
# are its defaults. They are resources, like those of `train`, so changing them measures nothing again.
def as_training(name, default):
    """What the user or the profile sets for `train`."""
    threads = asked.overwrite_threads.get("train")
    value = {"threads": threads, **asked.overwrite_resources.get("train", {})}.get(name)
    return default if value is None else getattr(value, "value", value)
