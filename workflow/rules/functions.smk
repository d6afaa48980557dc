# The functions that rules call.

import re
import sys
from functools import cache

from transformer.corpora import kinds
from transformer.support.digest import digest
from workflow.experiment.tasks import FRESH
from workflow.results.ideas.check import check_screened, cost_line
from workflow.results.ideas.ledger import LEDGER, begin, entry_of
from workflow.results.ideas.released import archives

begun = []  # the confirmation that this call begins


def any_of(names):
    """A wildcard constraint: one of `names`."""
    return "|".join(map(re.escape, names)) or "(?!)"


def of_kind(*of):
    """A wildcard constraint: a task whose corpus is of one of these kinds."""
    return any_of(inputs.tasks_of(*of))


def made(target):
    """The tables and figures that a target asks for."""
    return [
        getattr(rules, result.rule).output for _, result, _ in selection.planned if result.target == target
    ]


@cache
def answer_of(confirming):
    """The answer of the screening or the confirmation of an idea. Says what it costs when it is asked for."""
    if experiment.trial is None:
        # Snakemake would put an error into a traceback.
        sys.exit(
            "error: no idea is named; give --config idea=ideas/NAME.py, or `trial: {row: NAME}` (docs/own-idea.md)"
        )
    with refusing():
        if confirming and workflow.is_main_process:
            check_screened(experiment, Path(paths.answer(experiment.trial.row, False)))
            begun.append(entry_of(experiment))
        logger.warning(cost_line(experiment, runs, FRESH if confirming else experiment.seeds))
    return paths.answer(experiment.trial.row, confirming)


def read_by(*names):
    """The files of this experiment that rules read, and those of its packages."""
    files = {str(file) for name in names for file in getattr(rules, name).input}
    return sorted(file for file in files if file.startswith((f"{RESULTS}/", f"{paths.packages}/")))


def scores_of_package(wildcards):
    """The scores of a package that tables and figures need."""
    folder = Path(f"{RUN}/average-{{average}}".format(**wildcards))
    return [path for path in selection.scored if Path(path).parent == folder]


def may_have_weights(config):
    """Whether the package of a config.json has weights, or will have them. Released scores have packages without."""
    return not Path(config).exists() or Path(config).with_name("model.safetensors").exists()


def cards():
    """README.md of the packages that are scored and have weights."""
    packages = filter(may_have_weights, runs.packages_behind(selection.scored))
    return [str(Path(config).with_name("README.md")) for config in packages]


def page():
    """The page of `explore`, if its package has weights."""
    return made("explore") if all(map(may_have_weights, runs.packages_behind([runs.attention()]))) else []


def of_run(wildcards):
    """What is packed of a run: what results read of it, and the translations and scores of dev and test.

    Comparisons with base are left out. They can be made again from the translations, and would wait for base.
    """
    run = RUN.format(**wildcards)
    read = {file for file in read_by(*packed_results) if file.startswith(f"{run}/")}
    scored = [f"{run}/average-{experiment.table3_average}/{part}.scores.json" for part in ("dev", "test")]
    files = {file for file in [*read, *scored] if not file.endswith(".comparison.json")}
    packages = runs.packages_behind(scored) + runs.packages_behind(scored, "history.csv")
    translations = [re.sub(r"scores\.json$", "translation", file) for file in files if "scores.json" in file]
    return sorted({*files, *packages, *translations})


def not_packed():
    """The archives of all runs and references that are missing."""
    archives = [
        f"{RESULTS}/packed/{task}/{model}/{seed}.tar.xz"
        for task, models in runs.trained.items()
        for model in models
        for seed in experiment.seeds_of(task, model)
    ]
    archives += [f"{RESULTS}/packed/{task}/references.tar.xz" for task in runs.trained]
    return [archive for archive in archives if not Path(archive).exists()]


def in_report(result):
    """The outputs of a result's rule; those of ideas are the same for all experiments. The first file of each output with labels is in the report, sorted by these."""
    folder = f"{experiment.results}/ideas" if result.target == "ideas" else RESULTS
    look = {"caption": "../report/result.rst", "category": result.category}
    return {
        name: [report(first, **look, labels=result.labels[name]) if name in result.labels else first, *others]
        for name, (first, *others) in result.files(folder).items()
    }


def report_start(files):
    """The start page of the report, as HTML. The template workflow/report/workflow.rst calls it."""
    from workflow.results.overview import overview

    return overview(selection, files)


# Threads, GPUs and subwords in a forward pass are those of a training; without `--set-threads` and `--set-resources` they
# are its defaults. They are resources, like those of `train`, so changing them measures nothing again.
def as_training(name, default):
    """What the user or the profile sets for `train`."""
    threads = asked.overwrite_threads.get("train")
    value = {"threads": threads, **asked.overwrite_resources.get("train", {})}.get(name)
    return default if value is None else getattr(value, "value", value)
