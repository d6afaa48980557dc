# What the rules share: the config, checked; where things are; which runs there are. The only Python of the workflow.

import os
import shlex
import sys
from pathlib import Path

import numpy as np
import yaml

sys.path.insert(0, workflow.basedir)

from transformer.config import (
    Experiment,
    Files,
    Grammar,
    LibreOfficeHelp,
    ParsedText,
    SelfTraining,
    TaskCorpus,
    Treebank,
)
from transformer.data.corpora import corpus_files, downloads_of
from transformer.data.fetch import local_path
from transformer.data.reading import Location
from transformer.files import InputError
from transformer.model.flops import forward_flops
from transformer.strict import load, plain, read_yaml

try:
    for overlay in workflow.overwrite_configfiles:
        read_yaml(overlay)  # Snakemake takes the last of two equal keys without a word
    experiment = load(Experiment, config, "config")
    if experiment.mirror and not Path(experiment.mirror).is_dir():
        raise InputError(f"mirror: {experiment.mirror}: no such folder")
    if experiment.packages and not Path(experiment.packages).is_dir():
        raise InputError(f"packages: {experiment.packages}: no such folder")
    URLS = {str(local_path(url)): url for url in downloads_of(experiment)}
except InputError as error:
    raise WorkflowError(str(error)) from None
asked_of_all = workflow.resource_settings.default_resources or {}
if any("FILL_IN" in str(getattr(resource, "raw", "")) for resource in asked_of_all.values()):
    raise WorkflowError(
        "account and partition are not filled in: profiles/slurm/profile.yaml says where and how"
    )
for name in {task.corpus for task in experiment.tasks.values() if task.models}:
    corpus = experiment.corpora[name]
    if (
        isinstance(corpus, Treebank)
        and not Location.parse(corpus.trees).member
        and not Path(corpus.trees).is_dir()
    ):
        logger.warning(
            f"corpora.{name}.trees: {corpus.trees}: no such folder; what needs its trees will fail (config/README.md)"
        )

# Relative, so that in a clone that is moved, or mounted elsewhere, nothing is made again.
HERE = Path(os.path.relpath(workflow.basedir))
exports = f"export PYTHONPATH={shlex.quote(workflow.basedir)}${{{{PYTHONPATH:+:$PYTHONPATH}}}}; "
exports += f"LAUNCH={shlex.quote(str(HERE / 'workflow/scripts/launch.sh'))}; "
if experiment.mirror:
    exports += f"export TRANSFORMER_MIRROR={shlex.quote(experiment.mirror)}; "
shell.prefix(f"set -euo pipefail; {exports}")

DOWNLOADS = f"{experiment.results}/downloads"
RESULTS = f"{experiment.results}/{experiment.experiment}"
RUN = f"{RESULTS}/runs/{{task}}/{{model}}/{{seed}}"
LOG = f"{RESULTS}/logs/{{task}}/{{model}}/{{seed}}"
BENCHMARK = f"{RESULTS}/benchmarks/{{task}}/{{model}}/{{seed}}"
PACKAGES = str(Path(experiment.packages or f"{RESULTS}/runs"))
PACKAGE = [
    f"{PACKAGES}/{{task}}/{{model}}/{{seed}}/average-{{average}}/package/{name}"
    for name in ("config.json", "model.safetensors", "subwords.model", "history.csv")
]
PUBLISHED = yaml.safe_load((HERE / "config/published.yaml").read_text())

# Which runs each table shows: task -> models.
TABLE2 = {
    task: [row["model"][task] for row in PUBLISHED["table2"] if "model" in row] for task in ("ende", "enfr")
}
TABLE3 = {"ende": [row["model"] for row in PUBLISHED["table3"]]}
TABLE4 = {row["task"]: [row["model"]] for row in PUBLISHED["table4"] if "task" in row}
APPENDIX = {"ende": [row["model"] for row in PUBLISHED["appendix"]]}
ALL_RUNS = {name: task.models for name, task in experiment.tasks.items() if task.models}


def any_of(names):
    """A wildcard constraint: one of `names`."""
    return "|".join(map(re.escape, names)) or "(?!)"


def tasks_of(*origins):
    """The tasks whose corpus has one of these origins."""
    return [
        name
        for name, task in experiment.tasks.items()
        if isinstance(experiment.corpora[task.corpus], origins)
    ]


def code(*modules):
    """Source files that a stage's numbers depend on; when one changes, the stage runs again."""
    return [HERE / "transformer" / f"{module}.py" for module in modules]


def scripts(*names):
    return [HERE / "workflow/scripts" / f"{name}.py" for name in names]


MODEL_CODE = code("model/attention", "model/layers", "model/positions", "model/transformer")


# What jobs ask a cluster for


def growing(megabytes):
    """Memory, a number or a function of wildcards, that grows where a job has ended without its result."""
    size = megabytes if callable(megabytes) else lambda wildcards: megabytes
    return lambda wildcards, attempt: size(wildcards) * min(attempt, 3)


def asked(function):
    """Worked out by the process that submits jobs: it takes PyTorch, and seconds, which a job need not spend again."""
    return lambda wildcards: function(wildcards) if workflow.is_main_process else 1


@asked
def pairs_of(wildcards):
    """The pairs of a task's train part and its sentences without trees; a million where nobody knows."""
    from transformer.plan import sentences

    pairs, plain = sentences(experiment, experiment.corpora[experiment.tasks[wildcards.task].corpus])
    return (1_000_000 if pairs is None else pairs) + plain


def reading_minutes(wildcards):
    """For a job that goes through a task's text once."""
    return 60 + pairs_of(wildcards) // 100_000


def reading_megabytes(wildcards):
    """For a job that makes a corpus."""
    return 2000 + pairs_of(wildcards) // 5000


@asked
def megabytes_of(wildcards):
    """The size of a model's weights."""
    from transformer.plan import parameters

    run = experiment.run(wildcards.task, wildcards.model, int(wildcards.seed))
    return 4 * parameters(run.architecture, experiment.tasks[wildcards.task].vocabulary) // 10**6


def requested(wildcards):
    """What a training asks for."""
    from transformer.plan import request

    run = experiment.run(wildcards.task, wildcards.model, int(wildcards.seed))
    return request(run, experiment.tasks[wildcards.task].vocabulary)


# Corpora

TEXTS = {
    f"{part}_{side}": f"{part}.{side}" for part in ("train", "dev", "test") for side in ("source", "target")
}


def task_corpus(wildcards):
    """The corpus of a task with its settings, as the corpus stage reads it."""
    task = experiment.tasks[wildcards.task]
    return plain(TaskCorpus(task.corpus, task.source, task.target, experiment.corpora[task.corpus]))


def packages_of(wildcards):
    return {"packages": plain(experiment.corpora[wildcards.corpus].packages)}


def files_of_task(wildcards):
    """The files that a task's corpus is read from: one's own, and downloads."""
    task = experiment.tasks[wildcards.task]
    files = corpus_files(experiment.corpora[task.corpus], task.corpus, task)
    return [f"{DOWNLOADS}/{local_path(file)}" if "://" in file else file for file in files]


def pages_of(wildcards):
    return f"{RESULTS}/corpora/origin/{experiment.tasks[wildcards.task].corpus}.tsv"


def download_of(wildcards):
    """What is known of a download: where it is, its size and its SHA-256."""
    url = URLS[wildcards.file]
    return {"url": url, **plain(experiment.downloads[url])}


def plain_text_of(wildcards):
    """From which task's text a treebank's plain sentences are drawn, and how."""
    text = plain(experiment.corpora[experiment.tasks[wildcards.task].corpus].plain)
    return {**text, "words": " ".join(map(str, text["words"]))}


def plain_source(wildcards):
    return f"{RESULTS}/corpora/{plain_text_of(wildcards)['task']}/train.source"


def gold_of(wildcards):
    """The trees that a semi-supervised corpus adds to."""
    folder = f"{RESULTS}/corpora/{experiment.corpora[experiment.tasks[wildcards.task].corpus].gold}"
    return {
        "gold": multiext(f"{folder}/train", ".source", ".target"),
        "held_out": collect(
            "{folder}/{part}.{side}", folder=folder, part=["dev", "test"], side=["source", "target", "trees"]
        ),
        "gold_record": f"{folder}/corpus.json",
    }


def parses_of(wildcards):
    """The plain sentences of a self-training corpus, and their parses."""
    corpus = experiment.corpora[experiment.tasks[wildcards.task].corpus]
    parses = parses_for(corpus)
    return {
        "plain": f"{RESULTS}/corpora/{corpus.gold}/plain.source",
        "parses": parses,
        "log_probabilities": str(Path(parses).with_suffix(".logp")),
    }


def parses_for(corpus):
    """The plain sentences of a self-training corpus, parsed."""
    run = f"{RESULTS}/runs/{corpus.gold}/{corpus.parser}/{experiment.seeds[0]}"
    return f"{run}/average-{average_of(corpus.gold, corpus.parser)}/plain.translation"


# Runs


def resolved_run(wildcards):
    return plain(experiment.run(wildcards.task, wildcards.model, int(wildcards.seed)))


def training_cost(task, model):
    """FLOPs of a run, but for a constant."""
    run = experiment.run(task, model, experiment.seeds[0])
    lengths = np.full((1, 2), min(run.training.longest_pair, 32))
    return run.training.steps * forward_flops(run.architecture, experiment.tasks[task].vocabulary, lengths)


COSTLIEST_FIRST = sorted(
    ((task, model) for task, models in ALL_RUNS.items() for model in models),
    key=lambda run: -training_cost(*run),
)
AWAITED = {corpus.gold for corpus in experiment.corpora.values() if isinstance(corpus, SelfTraining)}


def training_priority(wildcards):
    """A run that a corpus waits for goes first, then the costliest; all after what only waits for a finished run."""
    place = COSTLIEST_FIRST.index((wildcards.task, wildcards.model))
    return -1 if wildcards.task in AWAITED else -2 - place


def average_of(task, model):
    """How many checkpoints of a model are averaged for Tables 2 and 4."""
    return experiment.run(task, model, experiment.seeds[0]).training.average


def last_checkpoints(wildcards):
    """The checkpoints that a package averages."""
    training = experiment.run(wildcards.task, wildcards.model, int(wildcards.seed)).training
    steps = training.checkpoint_steps()[: int(wildcards.average)]
    return [f"{RUN}/checkpoints/step-{step}.safetensors".format(**wildcards) for step in steps]


def reference_of(wildcards):
    """What translations are scored against: the target side, or gold trees."""
    kind = {"translation": "target", "parsing": "trees"}[experiment.tasks[wildcards.task].kind]
    return f"{RESULTS}/corpora/{wildcards.task}/{wildcards.part}.{kind}"


def run_files(task, models, pattern):
    """A file of each run of `task` with one of `models` that the experiment has, for each seed."""
    return [
        f"{RESULTS}/runs/{task}/{model}/{seed}/{pattern}"
        for model in models
        if model in ALL_RUNS.get(task, ())
        for seed in experiment.seeds
    ]


# Tables and figures


def files_of(runs, pattern):
    """A file of each of `runs`, task -> models, in the same order whatever the pattern."""
    return [path for task, models in runs.items() for path in run_files(task, models, pattern)]


def averaged_scores(runs, part="test"):
    """The scores of `runs` on a part, of the average of as many checkpoints as the model is given."""
    return [
        path
        for task, models in runs.items()
        for model in models
        if model in ALL_RUNS.get(task, ())
        for path in run_files(task, [model], f"average-{average_of(task, model)}/{part}.scores.json")
    ]


def dev_scores(runs):
    """The dev scores of `runs`, of as many checkpoints as Table 3 averages: one, in the paper."""
    return files_of(runs, f"average-{experiment.table3_average}/dev.scores.json")


def all_scores():
    """The scores of every run, as one of the tables shows them: of dev for Table 3's task, else of test."""
    return [
        path
        for task, models in ALL_RUNS.items()
        for path in (dev_scores if task in TABLE3 else averaged_scores)({task: models})
    ]


def packages_behind(files, name="config.json"):
    """A file of each package that made some of `files`, which stand in average-N."""
    runs = f"{RESULTS}/runs"
    packages = dict.fromkeys(Path(file).parent.relative_to(runs) for file in files)
    return [f"{PACKAGES}/{package}/package/{name}" for package in packages]


# The scores that tables show.
SCORED = list(dict.fromkeys([*all_scores(), *averaged_scores(TABLE2), *averaged_scores(TABLE4)]))


def comparisons(runs):
    """Each of `runs` against the base of the same seed, where that is run; the translations behind `dev_scores`."""
    others = {
        task: [model for model in models if model != "base"]
        for task, models in runs.items()
        if "base" in ALL_RUNS.get(task, ())
    }
    return files_of(others, f"average-{experiment.table3_average}/dev.comparison.json")


def table_notes():
    """What stands under every table: the experiment's notes, and its scale."""
    scale = experiment.scale
    base = experiment.run("", "base", experiment.seeds[0])
    ours = [f"Ours: batches of {base.training.batch_tokens:,} source and target tokens; the paper's: 25,000."]
    same = {}
    for task, models in ALL_RUNS.items():
        for model in models:
            run = experiment.run(task, model, experiment.seeds[0])
            same.setdefault((task, run.architecture, run.training), []).append(model)
    ours += [f"At this scale {' and '.join(models)} are one model." for models in same.values() if models[1:]]
    if (scale.width, scale.depth) != (1, 1):
        sizes = base.architecture
        ours.append(
            f"Ours: widths of every model x {scale.width}, layers x {scale.depth}, rounded: base has "
            f"N {sizes.N}, d_model {sizes.d_model}, d_ff {sizes.d_ff}, d_k {sizes.d_k}."
        )
    return [*experiment.notes, *ours]


def corpora_of(runs):
    return [f"{RESULTS}/corpora/{task}/corpus.json" for task in runs if task in ALL_RUNS]


def trees_of(runs):
    """Which trees each task is trained on; stands beside each number of Table 4."""
    return {
        task: experiment.corpora[experiment.tasks[task].corpus].description
        for task in runs
        if task in ALL_RUNS
    }


def attention_file():
    """The attention of the run that figures 3 to 5 show."""
    task, model = experiment.figures.task, experiment.figures.model
    return f"{RESULTS}/runs/{task}/{model}/{experiment.seeds[0]}/average-{average_of(task, model)}/attention.json"


def attention_sentences():
    """The sentences of figures 3 to 5."""
    return list(dict.fromkeys(figure["sentence"] for figure in PUBLISHED["attention"]["figures"].values()))


def parses_shown():
    """Test parses by the run that Table 4 shows first; none where its task is not run."""
    task, models = next(iter(TABLE4.items()))
    return [str(Path(scores).with_name("test.translation")) for scores in averaged_scores({task: models})[:1]]


def table_report(name, kind):
    return report(
        f"{RESULTS}/tables/{name}.{kind}",
        caption=f"../report/{name}.rst",
        category="Tables",
        labels={"table": name, "format": kind},
    )


def svg_report(name, caption):
    return report(
        f"{RESULTS}/figures/{name}.svg",
        caption=f"../report/{caption}.rst",
        category="Figures",
        labels={"figure": name},
    )


def figure_report(name, caption):
    """The three formats of a figure; the report shows the svg."""
    others = [f"{RESULTS}/figures/{name}.{kind}" for kind in ("pdf", "png")]
    return [svg_report(name, caption), *others]


# Given packages: all that tables and figures need are checked before anything runs.

if experiment.packages and workflow.is_main_process:
    from transformer.package import check_origin

    corpora = [experiment.corpora[experiment.tasks[task].corpus] for task in ALL_RUNS]
    parsed = [parses_for(corpus) for corpus in corpora if isinstance(corpus, SelfTraining)]
    try:
        for package in packages_behind([*SCORED, attention_file(), *parsed]):
            folder = Path(package).parent
            check_origin(folder, experiment, str(folder.parent.relative_to(PACKAGES)))
    except InputError as error:
        raise WorkflowError(str(error)) from None
