# One vocabulary for each task, shared by source and target, and the corpus encoded with it.
# `cache` identifies a result by its inputs and params, so no param names a folder of the experiment (docs/cluster.md).


localrules:
    configure_subwords,


rule configure_subwords:
    input:
        kept("vocabulary"),
    output:
        f"{RESULTS}/subwords/{{task}}.yaml",
    log:
        f"{RESULTS}/logs/{{task}}/configure_subwords.log",
    conda:
        "../../environment.yml"
    params:
        config=inputs.vocabulary_config,
    script:
        "../jobs/write_config.py"


rule learn_subwords:
    input:
        config=f"{RESULTS}/subwords/{{task}}.yaml",
        source=f"{RESULTS}/corpora/{{task}}/train.source",
        target=f"{RESULTS}/corpora/{{task}}/train.target",
    output:
        f"{RESULTS}/subwords/{{task}}.model",
    log:
        f"{RESULTS}/logs/{{task}}/subwords.log",
    cache: CACHED
    conda:
        "../../environment.yml"
    threads: demands.learning_threads
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.learning_megabytes),
    params:
        of=inputs.vocabulary_config,
        code=digest("subwords"),
    shell:
        "python -m transformer subwords --source {input.source:q} --target {input.target:q} --output {output:q}"
        " --vocabulary {params.of[vocabulary]:q} --kind {params.of[kind]:q} --pairs {params.of[pairs]:q}"
        " --seed {params.of[seed]:q} --code {params.code}"
        " 2>&1 | tee -i {log:q}"


rule encode_part:
    input:
        source=f"{RESULTS}/corpora/{{task}}/{{part}}.source",
        target=f"{RESULTS}/corpora/{{task}}/{{part}}.target",
        subwords=f"{RESULTS}/subwords/{{task}}.model",
    output:
        ids=f"{RESULTS}/tokens/{{task}}/{{part}}.ids.npy",
        offsets=f"{RESULTS}/tokens/{{task}}/{{part}}.offsets.npy",
    log:
        f"{RESULTS}/logs/{{task}}/encode.{{part}}.log",
    cache: CACHED
    conda:
        "../../environment.yml"
    threads: demands.encoding_threads
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(4000),
    params:
        code=digest("encode"),
        part="{part}",
    shell:
        "python -m transformer encode --subwords {input.subwords:q} --source {input.source:q} --target {input.target:q}"
        ' --output "$(dirname {output.ids:q})"/{params.part:q} --threads {threads} --code {params.code} 2>&1 | tee -i {log:q}'
