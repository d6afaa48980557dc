# What all rules share: the checked experiment, its paths and its runs. workflow/dag computes them.

import gc
import os
import shlex
import sys
from contextlib import contextmanager
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

sys.path.insert(0, CLONE)

from workflow.dag import environment

if fault := environment.fault_of(Path(CLONE)):
    sys.exit(f"error: {fault}")

from transformer.support.files import InputError, told
from transformer.support.strict import plain
from workflow.dag.checks import check_filled_in, check_packages, checked, sources_of
from workflow.dag.diff import Diff
from workflow.dag.inputs import Inputs
from workflow.dag.paths import Paths
from workflow.dag.resources import Demands, growing
from workflow.dag.runs import Runs
from workflow.experiment.advice import warnings_of
from workflow.results.selection import Selection

# Snakemake's modules stay until the end. Unless the garbage collector leaves them alone, `snakemake -n` takes 0.4 s longer.
gc.freeze()


@contextmanager
def refusing():
    """End the process with a line about what the user can mend. Snakemake would add places in the code to an exception."""
    try:
        yield
    except (InputError, OSError) as error:  # such as a folder that the user may not enter
        sys.exit(f"error: {told(error)}")


asked = workflow.resource_settings
with refusing():
    sources, may_replace = sources_of(workflow.overwrite_configfiles, workflow.config_settings.config_args)
    of_module = {} if workflow.modifier.parent_modifier is None else {**config}
    of_module.pop("replace", None)  # of --config
    experiment, downloads = checked(sources, of_module)
    check_filled_in(asked.default_resources or {}, *(asked.overwrite_resources or {}).values())
    paths = Paths.of(experiment)
    runs = Runs(experiment, paths)
    # A path that stays the same if the clone is moved with the working folder, or reached by a link.
    numbers = Path(os.path.relpath(os.path.realpath(CLONE)), "config/published.yaml")
    selection = Selection(experiment, runs, numbers)
    if workflow.is_main_process:
        for warning in warnings_of(experiment, sources):
            logger.warning(warning)
        if experiment.packages:  # those that tables and figures need
            check_packages(experiment, runs, selection.scored)
packed_results = [result.rule for _, result, _ in selection.planned if result.packed]
inputs = Inputs(experiment, runs, downloads)
demands = Demands(experiment, runs, asked.overwrite_resources or {})
diff = Diff(inputs)


def kept(what):
    """An input function without files: it asks whether making a run, text or vocabulary would replace a finished run."""

    def ask(wildcards):
        if workflow.is_main_process:
            dry = workflow.dryrun or workflow.executor_plugin is None  # such as for --report
            with refusing():
                if text := diff.told(what, wildcards, allowed=may_replace, dry=dry):
                    logger.warning(text)
        return []

    return ask


DOWNLOADS, RESULTS = paths.downloads, paths.results
RUN, LOG, BENCHMARK, PACKAGE = paths.run, paths.log, paths.benchmark, paths.package
SETTINGS = plain(experiment)  # for `lookup`
# Snakemake warns about rules with `cache` if the user has not asked for caching, so they then have none.
CACHED = workflow.workflow_settings.cache is not None

# Jobs use the Python that runs Snakemake, unless they have conda environments or containers. What a job prints goes to
# its log. If the job runs on a cluster, it also goes to the batch system.
prefix = environment.command_prefix(
    Path(CLONE),
    experiment.mirror,
    own_python=workflow.deployment_settings.deployment_method <= {DeploymentMethod.ENV_MODULES},
    silent=not workflow.remote_exec,
)
shell.prefix(prefix.replace("{", "{{").replace("}", "}}"))
# Snakemake puts the path of Python into commands without quotes.
sys.executable = shlex.quote(str(environment.PYTHON))
