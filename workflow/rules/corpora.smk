# Texts with their parts train, dev and test.


localrules:
    configure_corpus,
    configure_fetch,
    fetch_text,


rule configure_corpus:
    output:
        f"{RESULTS}/corpora/{{task}}/config.yaml",
    log:
        f"{RESULTS}/logs/{{task}}/configure.log",
    conda:
        "../../environment.yml"
    params:
        config=task_corpus,
    script:
        "../scripts/write_config.py"


rule configure_fetch:
    output:
        f"{RESULTS}/corpora/origin/{{corpus}}.yaml",
    log:
        f"{RESULTS}/logs/origin/{{corpus}}.configure.log",
    conda:
        "../../environment.yml"
    params:
        config=packages_of,
    script:
        "../scripts/write_config.py"


rule fetch_text:
    input:
        config=f"{RESULTS}/corpora/origin/{{corpus}}.yaml",
        code=code("data/fetch"),
    output:
        f"{RESULTS}/corpora/origin/{{corpus}}.tsv",
    log:
        f"{RESULTS}/logs/origin/{{corpus}}.log",
    conda:
        "../../environment.yml"
    shell:
        "python -m transformer fetch --config {input.config} --output {output} 2>&1 | tee -i {log}"


rule prepare_corpus:
    input:
        text=text_of,
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code("data/corpora"),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/train", ".source", ".target"),
        multiext(f"{RESULTS}/corpora/{{task}}/dev", ".source", ".target"),
        multiext(f"{RESULTS}/corpora/{{task}}/test", ".source", ".target"),
        record=f"{RESULTS}/corpora/{{task}}/corpus.json",
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=any_of(tasks_of(LibreOfficeHelp, Files)),
    conda:
        "../../environment.yml"
    params:
        text=text_option,
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config} {params.text} --output-dir {params.folder}"
        " 2>&1 | tee -i {log}"


rule generate_trees:
    input:
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code("data/grammar", "parsing/trees"),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/train", ".source", ".target"),
        multiext(f"{RESULTS}/corpora/{{task}}/dev", ".source", ".target", ".trees"),
        multiext(f"{RESULTS}/corpora/{{task}}/test", ".source", ".target", ".trees"),
        plain=f"{RESULTS}/corpora/{{task}}/plain.source",
        record=f"{RESULTS}/corpora/{{task}}/corpus.json",
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=any_of(tasks_of(Grammar)),
    conda:
        "../../environment.yml"
    params:
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config} --output-dir {params.folder} 2>&1 | tee -i {log}"


rule add_parsed_text:
    input:
        unpack(gold_of),
        config=f"{RESULTS}/corpora/{{task}}/config.yaml",
        code=code("data/self_training", "parsing/trees"),
    output:
        multiext(f"{RESULTS}/corpora/{{task}}/train", ".source", ".target"),
        multiext(f"{RESULTS}/corpora/{{task}}/dev", ".source", ".target", ".trees"),
        multiext(f"{RESULTS}/corpora/{{task}}/test", ".source", ".target", ".trees"),
        record=f"{RESULTS}/corpora/{{task}}/corpus.json",
    log:
        f"{RESULTS}/logs/{{task}}/corpus.log",
    wildcard_constraints:
        task=any_of(tasks_of(SelfTraining)),
    conda:
        "../../environment.yml"
    params:
        gold=subpath(input.plain, parent=True),
        folder=subpath(output.record, parent=True),
    shell:
        "python -m transformer corpus --config {input.config} --gold {params.gold} --parses {input.parses}"
        " --output-dir {params.folder} 2>&1 | tee -i {log}"
