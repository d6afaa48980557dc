# One job trains each run (task x model x seed). Another averages its checkpoints into a package.


localrules:
    configure_run,
    write_readme,
    remove_states,


rule configure_run:
    output:
        f"{RUN}/config.yaml",
    log:
        f"{LOG}/configure.log",
    conda:
        "../../environment.yml"
    params:
        config=runs.resolved,
    script:
        "../jobs/write_config.py"


# An interrupted run resumes from {RUN}/state. Snakemake keeps this folder because it does not know it. The numbers of
# GPUs, of nodes, of subwords in a forward pass (0: the device's default), and of trainings that share a GPU are
# resources instead of params, so changing them retrains nothing. So are the `limits`: the longest lines that models of
# the task can decode. `train` compares the texts with them, so a line that a model could not decode later is refused
# before any training. A rule of its own could not check this: if its job failed, Snakemake would remove its output, and
# train again because this `ancient` input is missing; if its output had to be made again, a dry run would not show what
# depends on it.
rule train:
    input:
        kept("run"),
        config=f"{RUN}/config.yaml",
        subwords=f"{RESULTS}/subwords/{{task}}.model",
        ids=f"{RESULTS}/tokens/{{task}}/train.ids.npy",
        beside=collect(
            f"{RESULTS}/tokens/{{{{task}}}}/{{file}}",
            file=["train.offsets.npy", "dev.ids.npy", "dev.offsets.npy"],
        ),
        texts=ancient(inputs.decoded),
    output:
        checkpoints=directory(f"{RUN}/checkpoints"),
        history=f"{RUN}/history.csv",
        record=f"{RUN}/training.json",
    log:
        f"{LOG}/train.log",
    benchmark:
        f"{BENCHMARK}/train.tsv"
    priority: runs.priority
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=demands.training_minutes,
        mem_mb=growing(demands.training_megabytes),
        gpu=0,
        nodes=1,
        micro_batch_tokens=0,
        trainings_per_gpu=1,
        limits=selection.limits,
    params:
        code=digest("train"),
        tokens=subpath(input.ids, parent=True),
        folder=subpath(output.record, parent=True),
    shell:
        'exec bash "$LAUNCH" {log:q} {resources.gpu} {resources.nodes}'
        " train --config {input.config:q} --subwords {input.subwords:q} --tokens {params.tokens:q}"
        " --output-dir {params.folder:q} --threads {threads} --micro-batch-tokens {resources.micro_batch_tokens}"
        " --trainings-per-gpu {resources.trainings_per_gpu} --texts {input.texts:q} --limits={resources.limits:q}"
        " --code {params.code}"


# The README.md that `package` writes has no scores. `write_readme` makes the one with scores.
rule average_checkpoints:
    input:
        config=f"{RUN}/config.yaml",
        checkpoints=f"{RUN}/checkpoints",
        training=f"{RUN}/training.json",
        history=f"{RUN}/history.csv",
        corpus=f"{RESULTS}/corpora/{{task}}/corpus.json",
        subwords=f"{RESULTS}/subwords/{{task}}.model",
    output:
        PACKAGE[1:],
        config=PACKAGE[0],
    log:
        f"{LOG}/average-{{average}}.log",
    conda:
        "../../environment.yml"
    resources:
        runtime=growing(30),
        mem_mb=growing(demands.averaging_megabytes),
    params:
        code=digest("package"),
        checkpoints=runs.last_checkpoints,
        folder=subpath(output.config, parent=True),
        kind=lookup("{task}/kind", within=SETTINGS["tasks"]),
        beam=lookup("{task}/decoding/beam", within=SETTINGS["tasks"]),
        alpha=lookup("{task}/decoding/alpha", within=SETTINGS["tasks"]),
        extra=lookup("{task}/decoding/extra", within=SETTINGS["tasks"]),
    shell:
        "python -m transformer package --config {input.config:q} --checkpoints {params.checkpoints:q}"
        " --training {input.training:q} --history {input.history:q} --corpus {input.corpus:q} --subwords {input.subwords:q}"
        " --kind {params.kind:q} --beam {params.beam:q} --alpha {params.alpha:q} --extra {params.extra:q} --output-dir {params.folder:q}"
        " --code {params.code} 2>&1 | tee -i {log:q}; rm {params.folder:q}/README.md"


# The model card. It has the scores that tables and figures need.
rule write_readme:
    input:
        package=PACKAGE[0],
        beside=PACKAGE[1:],
        scores=scores_of_package,
    output:
        f"{RUN}/average-{{average}}/package/README.md",
    log:
        f"{LOG}/average-{{average}}/readme.log",
    conda:
        "../../environment.yml"
    params:
        code=[digest("readme"), digest("transformer.package.readme")],
        package=subpath(input.package, parent=True),
    shell:
        "python -m transformer readme --package {params.package:q} --scores {input.scores:q} --code {params.code}"
        " 2>&1 | tee -i {log:q}"


# A finished training keeps its results in {RUN}/state, too, and publishes them again if they get lost. Scored packages do
# not need them. Other rules do not know of this folder, so this one has to remove it.
rule remove_states:
    input:
        packages=runs.packages_behind(selection.scored),
        scores=selection.scored,
    output:
        touch(f"{RESULTS}/runs/states.done"),
    log:
        f"{RESULTS}/logs/states.log",
    conda:
        "../../environment.yml"
    params:
        code=digest("workflow.jobs.remove_states"),
    script:
        "../jobs/remove_states.py"
