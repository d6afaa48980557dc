# Corpora: texts in the parts train, dev and test.
# `cache` identifies a result by its inputs and params, so no param names a folder of the experiment (docs/cluster.md).


localrules:
    configure_corpus,
    configure_fetch,
    fetch_file,
    fetch_pages,


rule configure_corpus:
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
        code=code("pages"),
    output:
        f"{RESULTS}/corpora/origin/{{corpus}}.tsv",
    log:
        f"{RESULTS}/logs/origin/{{corpus}}.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m transformer pages --config {input.config:q} --output {output:q} 2>&1 | tee -i {log:q}"


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


rule pair_pages:
    input:
        text=inputs.pages,
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.LibreOfficeHelp),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TEXTS, **LONGER, record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.LibreOfficeHelp),
    cache: CACHED
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    shell:
        'python -m transformer corpus --config {input.config:q} --text {input.text:q} --output-dir "$(dirname {output.record:q})"'
        " 2>&1 | tee -i {log:q}"


rule read_files:
    input:
        files=inputs.files,
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.Files),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TEXTS, record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.Files),
    cache: CACHED
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        downloads=DOWNLOADS,
    shell:
        "python -m transformer corpus --config {input.config:q} --downloads {params.downloads:q}"
        ' --output-dir "$(dirname {output.record:q})" 2>&1 | tee -i {log:q}'


# The further test sets depend on the corpus, so each task has its own rule.
for task in inputs.tasks_of(kinds.MosesFiles):

    rule:
        name:
            f"tokenise_{task}"
        input:
            files=inputs.files,
            config=f"{RESULTS}/corpora/{{task}}/config.yaml",
            code=code(kinds.MosesFiles),
        output:
            multiext(
                f"{RESULTS}/corpora/{{task}}/",
                **TEXTS,
                **texts_of(*runs.further_tests(task)),
                record="corpus.json",
            ),
        log:
            f"{RESULTS}/logs/{{task}}/corpus.log",
        wildcard_constraints:
            task=re.escape(task),
        conda:
            "../../environment.yml"
        resources:
            runtime=demands.reading_minutes,
            mem_mb=growing(demands.reading_megabytes),
        params:
            downloads=DOWNLOADS,
            folder=subpath(output.record, parent=True),
        shell:
            "python -m transformer corpus --config {input.config:q} --downloads {params.downloads:q}"
            " --output-dir {params.folder:q} 2>&1 | tee -i {log:q}"


# The folder of a licensed treebank is not an input. Without it, the rest of the experiment still runs.
rule read_treebank:
    input:
        files=inputs.files,
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.Treebank),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TREES, record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.Treebank),
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        downloads=DOWNLOADS,
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config:q} --downloads {params.downloads:q}"
        " --output-dir {params.folder:q} 2>&1 | tee -i {log:q}"


rule draw_plain_sentences:
    input:
        text=inputs.plain_source,
        code=code("sentences"),
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
        plain=inputs.plain_text,
    shell:
        "python -m transformer sentences --text {input.text:q} --count {params.plain[sentences]:q}"
        " --words {params.plain[words]} --seed {params.plain[seed]:q} --output {output:q} 2>&1 | tee -i {log:q}"


rule generate_trees:
    input:
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.Grammar),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TREES, plain="plain.source", record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.Grammar),
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config:q} --output-dir {params.folder:q} 2>&1 | tee -i {log:q}"


rule add_parsed_text:
    input:
        unpack(inputs.gold),
        unpack(inputs.parses),
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.SelfTraining),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TREES, record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.SelfTraining),
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        gold=subpath(input.gold_record, parent=True),
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config:q} --gold {params.gold:q} --parses {input.parses:q}"
        " --log-probabilities {input.log_probabilities:q} --output-dir {params.folder:q} 2>&1 | tee -i {log:q}"


rule add_own_parsed_text:
    input:
        unpack(inputs.gold),
        files=inputs.files,
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code(kinds.ParsedText),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/", **TREES, record="corpus.json"),
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=of_kind(kinds.ParsedText),
    conda:
        "../../environment.yml"
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        downloads=DOWNLOADS,
        gold=subpath(input.gold_record, parent=True),
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config:q} --gold {params.gold:q}"
        " --downloads {params.downloads:q} --output-dir {params.folder:q} 2>&1 | tee -i {log:q}"
