# Corpora: texts in the parts train, dev and test.
# `cache` identifies a result by its inputs and params, so no param names a folder of the experiment (docs/cluster.md).


localrules:
    configure_corpus,
    configure_fetch,
    fetch_file,
    fetch_pages,


rule configure_corpus:
    input:
        kept("text"),
    output:
        f"{RESULTS}/corpora/{{task}}/config.yaml",
    log:
        f"{RESULTS}/logs/{{task}}/configure.log",
    conda:
        "../../environment.yml"
    params:
        config=inputs.task_corpus,
    script:
        "../jobs/write_config.py"


rule configure_fetch:
    output:
        f"{RESULTS}/corpora/origin/{{corpus}}.yaml",
    log:
        f"{RESULTS}/logs/origin/{{corpus}}.configure.log",
    conda:
        "../../environment.yml"
    params:
        config=inputs.debian_packages,
    script:
        "../jobs/write_config.py"


rule fetch_pages:
    input:
        config=f"{RESULTS}/corpora/origin/{{corpus}}.yaml",
    output:
        f"{RESULTS}/corpora/origin/{{corpus}}.tsv",
    log:
        f"{RESULTS}/logs/origin/{{corpus}}.log",
    conda:
        "../../environment.yml"
    params:
        code=digest("pages"),
    shell:
        "python -m transformer pages --config {input.config:q} --output {output:q} --code {params.code} 2>&1 | tee -i {log:q}"


# All experiments share downloads. An interrupted download stays in {output}.part, which Snakemake does not know, and is
# resumed.
rule fetch_file:
    output:
        f"{DOWNLOADS}/{{file}}",
    log:
        f"{RESULTS}/logs/downloads/{{file}}.log",
    wildcard_constraints:
        file=any_of(inputs.urls),
    conda:
        "../../environment.yml"
    params:
        download=inputs.download,
    shell:
        "python -m transformer fetch --url {params.download[url]:q} --bytes {params.download[bytes]:q}"
        " --sha256 {params.download[sha256]:q} --output {output:q} 2>&1 | tee -i {log:q}"


# The folder of a licensed treebank is not an input. `downloads_of` looks for it.
for name, making in inputs.makings.items():

    rule:
        name:
            name
        input:
            unpack(inputs.corpus),
            config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        output:
            multiext(f"{RESULTS}/corpora/{{task}}/", **making.writes, record="corpus.json"),
        log:
            f"{RESULTS}/logs/{{task}}/corpus.log",
        wildcard_constraints:
            task=any_of(making.tasks),
        cache: CACHED and making.cached
        conda:
            "../../environment.yml"
        resources:
            runtime=demands.reading_minutes,
            mem_mb=growing(demands.reading_megabytes),
        params:
            code=digest(making.kind.__module__, *making.kind.data),
            downloads=[DOWNLOADS] if inputs.files in making.reads else [],
            sizes=inputs.sizes if inputs.files in making.reads else [],
        shell:
            # Of the variables, those that this kind of corpus does not read are empty.
            "text={input.text:q} downloads={params.downloads:q} gold={input.gold_record:q} parses={input.parses:q}"
            " log_probabilities={input.log_probabilities:q};"
            ' python -m transformer corpus --config {input.config:q} --output-dir "$(dirname {output.record:q})"'
            ' ${{text:+--text "$text"}} ${{downloads:+--downloads "$downloads"}} ${{gold:+--gold "$(dirname "$gold")"}}'
            ' ${{parses:+--parses "$parses" --log-probabilities "$log_probabilities"}} 2>&1 | tee -i {log:q}'


rule draw_plain_sentences:
    input:
        text=inputs.plain_source,
        subwords=inputs.plain_vocabulary,
    output:
        f"{RESULTS}/corpora/{{task}}/plain.source",
    log:
        f"{RESULTS}/logs/{{task}}/plain.log",
    wildcard_constraints:
        task=of_kind(kinds.Treebank),
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        code=digest("sentences"),
        plain=inputs.plain_text,
        most=inputs.plain_most,
    shell:
        "subwords={input.subwords:q};"
        " python -m transformer sentences --text {input.text:q} --count {params.plain[sentences]:q}"
        " --words {params.plain[words]} --seed {params.plain[seed]:q} --output {output:q} --code {params.code}"
        ' ${{subwords:+--subwords "$subwords" --most {params.most:q}}} 2>&1 | tee -i {log:q}'
