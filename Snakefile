# All of "Attention Is All You Need": text -> subwords -> runs -> packages -> translations -> tables and figures.

from pathlib import Path

from snakemake.utils import min_version

min_version("9.27")

# The clone's folder. Snakemake may run in another folder (--snakefile), and another workflow may use this one as a module.
CLONE = workflow.current_basedir.get_path_or_uri(secret_free=True)
if not Path(CLONE).is_dir():
    raise WorkflowError(
        f"{CLONE} is not a folder; clone the repository and name the Snakefile in the clone, because rules need its files"
    )


configfile: f"{CLONE}/config/models.yaml"
configfile: f"{CLONE}/config/corpora.yaml"
configfile: f"{CLONE}/config/length.yaml"
configfile: f"{CLONE}/config/claims.yaml"
configfile: f"{CLONE}/config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/functions.smk"


wildcard_constraints:
    task=any_of(experiment.tasks),
    model=any_of(experiment.models),
    corpus=any_of(experiment.corpora),
    seed=r"\d+",
    average=r"\d+",
    search=f"(?:{any_of(runs.searches)})?",
    part=rf"train|dev|test|plain-\d+-of-\d+|{any_of(runs.further_tests(*experiment.tasks))}",


include: "workflow/rules/plan.smk"
include: "workflow/rules/corpora.smk"
include: "workflow/rules/subwords.smk"
include: "workflow/rules/complexity.smk"


# With given packages, nothing is trained.
if not experiment.packages:

    include: "workflow/rules/train.smk"
    include: "workflow/rules/step_time.smk"
    include: "workflow/rules/pack.smk"


include: "workflow/rules/translate.smk"
include: "workflow/rules/by_length.smk"
include: "workflow/rules/attention.smk"
include: "workflow/rules/length.smk"
include: "workflow/rules/ideas.smk"
include: "workflow/rules/results.smk"


report: "workflow/report/workflow.rst"


# Snakemake limits how many jobs start in a second. For this it looks for further jobs once a second for every job that
# has ended, as long as any job waits. After hundreds of jobs this takes much of a core. Without the limit it looks when
# a job ends. A limit that was set stays: some batch systems need it. This is the default.
# A confirmation is counted before anything is trained for it.
onstart:
    for entry in begun:
        begin(LEDGER, entry)
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


localrules:
    all,
    downloads,
    dev_scores,
    tables,
    figures,
    explore,
    scores,
    length,
    trial,
    confirm,
    ideas,


rule tables:
    input:
        made("tables"),


rule figures:
    input:
        made("figures"),


# A page in which the model of figures 3 to 5 runs. It is no figure, because released scores have no weights.
rule explore:
    input:
        made("explore"),


# What tables and figures are made from, without texts and weights. On any machine they can be made again from it. Trees
# are left out, because treebanks are licensed.
rule scores:
    input:
        files=read_by(*packed_results, *([] if experiment.packages else ["remove_states"])),
    output:
        f"{RESULTS}/scores.tar.gz",
    log:
        f"{RESULTS}/logs/scores.log",
    conda:
        "environment.yml"
    params:
        code=digest("workflow.jobs.pack"),
        packages=lambda wildcards: paths.packages,
        results=lambda wildcards: paths.results,
    script:
        "workflow/jobs/pack.py"


# The scores for choosing a parser. The paper chose on section 22, which is dev.
rule dev_scores:
    input:
        runs.averaged_scores(selection.parsers(), "dev"),


# A separate study: how well positional encodings work beyond the lengths trained on.
rule length:
    input:
        made("length"),


# An idea of your own against released scores: docs/own-idea.md.
rule trial:
    input:
        answer=lambda wildcards: answer_of(confirming=False),
    log:
        f"{RESULTS}/logs/ideas/trial.log",
    conda:
        "environment.yml"
    script:
        "workflow/results/ideas/tell.py"


use rule trial as confirm with:
    input:
        answer=lambda wildcards: answer_of(confirming=True),
    log:
        f"{RESULTS}/logs/ideas/confirm.log",


# All ideas of the ledger.
rule ideas:
    input:
        made("ideas"),


# Everything that is downloaded by URL, for machines whose jobs have no internet.
rule downloads:
    input:
        collect("{folder}/{file}", folder=DOWNLOADS, file=inputs.urls),


rule all:
    default_target: True
    input:
        rules.tables.input,
        rules.figures.input,
        page(),
        [] if experiment.packages else [cards(), rules.remove_states.output],
