# Translations and their scores. Parses are translations into brackets.


localrules:
    gather_parses,


# Translate a part, or a shard of the plain sentences, which are too many for one job. `search` is empty, or the folder
# of translations with other decoding settings than the package's.
rule translate:
    input:
        package=PACKAGE[0],
        beside=PACKAGE[1:],
        source=inputs.source,
    output:
        translations=f"{RUN}/average-{{average}}/{{search}}{{part}}.translation",
        log_probabilities=f"{RUN}/average-{{average}}/{{search}}{{part}}.logp",
        record=f"{RUN}/average-{{average}}/{{search}}{{part}}.translation.json",
    log:
        f"{LOG}/average-{{average}}/{{search}}{{part}}.translate.log",
    benchmark:
        f"{BENCHMARK}/average-{{average}}.{{search}}{{part}}.translate.tsv"
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=growing(demands.translating_minutes),
        mem_mb=growing(demands.decoding_megabytes),
    params:
        code=[digest("translate"), digest("workflow.jobs.shard")],
        package=subpath(input.package, parent=True),
        chunk=inputs.chunk,
        search=inputs.search,
    shell:
        "{{ python -m workflow.jobs.shard {params.chunk:q} {input.source:q}"
        " | python -m transformer translate --package {params.package:q} --threads {threads} {params.search}"
        " --log-probabilities {output.log_probabilities:q} --record {output.record:q}"
        " --code {params.code} > {output.translations:q}; }} 2> {log:q}"


rule gather_parses:
    input:
        unpack(inputs.shards),
    output:
        translations=f"{RUN}/average-{{average}}/plain.translation",
        log_probabilities=f"{RUN}/average-{{average}}/plain.logp",
    log:
        f"{LOG}/average-{{average}}/plain.gather.log",
    conda:
        "../../environment.yml"
    shell:
        "{{ cat {input.translations:q} > {output.translations:q}"
        " && cat {input.log_probabilities:q} > {output.log_probabilities:q}; }} 2> {log:q}"


rule score:
    input:
        package=PACKAGE[0],
        beside=PACKAGE[1:],
        source=f"{RESULTS}/corpora/{{task}}/{{part}}.source",
        target=f"{RESULTS}/corpora/{{task}}/{{part}}.target",
        reference=inputs.reference,
        translations=f"{RUN}/average-{{average}}/{{search}}{{part}}.translation",
        record=f"{RUN}/average-{{average}}/{{search}}{{part}}.translation.json",
    output:
        f"{RUN}/average-{{average}}/{{search}}{{part}}.scores.json",
    log:
        f"{LOG}/average-{{average}}/{{search}}{{part}}.score.log",
    benchmark:
        f"{BENCHMARK}/average-{{average}}.{{search}}{{part}}.score.tsv"
    wildcard_constraints:
        part="dev|test",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=growing(60),
        mem_mb=growing(demands.decoding_megabytes),
    params:
        code=digest("score"),
        package=subpath(input.package, parent=True),
    shell:
        "python -m transformer score --package {params.package:q} --part {wildcards.part} --source {input.source:q}"
        " --target {input.target:q} --reference {input.reference:q} --translations {input.translations:q}"
        " --record {input.record:q} --output {output:q} --threads {threads} --code {params.code} 2>&1 | tee -i {log:q}"


rule compare:
    input:
        baseline=f"{RESULTS}/runs/{{task}}/base/{{seed}}/average-{{average}}/{{part}}.translation",
        system=f"{RUN}/average-{{average}}/{{part}}.translation",
        reference=inputs.reference,
    output:
        f"{RUN}/average-{{average}}/{{part}}.comparison.json",
    log:
        f"{LOG}/average-{{average}}/{{part}}.compare.log",
    conda:
        "../../environment.yml"
    resources:
        runtime=growing(60),
        mem_mb=growing(2000),
    params:
        code=digest("compare"),
        language=inputs.language,
    shell:
        "python -m transformer compare --baseline {input.baseline:q} --system {input.system:q}"
        " --reference {input.reference:q} --language {params.language:q} --output {output:q} --code {params.code} 2>&1"
        " | tee -i {log:q}"
