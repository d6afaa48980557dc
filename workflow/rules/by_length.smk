# Scores by length, on all text that no model learns from: also on pairs longer than those of training.


localrules:
    gather_held_out,


# The pairs of train that are too long for all models of the task. The corpus of help pages has such a part already.
rule find_longer:
    input:
        source=f"{RESULTS}/corpora/{{task}}/train.source",
        target=f"{RESULTS}/corpora/{{task}}/train.target",
        subwords=inputs.vocabulary,
    output:
        source=f"{RESULTS}/corpora/{{task}}/longer.source",
        target=f"{RESULTS}/corpora/{{task}}/longer.target",
    log:
        f"{RESULTS}/logs/{{task}}/longer.log",
    wildcard_constraints:
        task=of_kind(kinds.Files, kinds.MosesFiles),
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=demands.reading_minutes,
        mem_mb=growing(demands.reading_megabytes),
    params:
        code=digest("longer"),
        longest=inputs.longest_pair,
        folder=subpath(output.source, parent=True),
    shell:
        "python -m transformer longer --subwords {input.subwords:q} --source {input.source:q} --target {input.target:q}"
        " --than {params.longest:q} --output {params.folder:q}/longer --threads {threads} --code {params.code} 2>&1 | tee -i {log:q}"


rule gather_held_out:
    input:
        unpack(inputs.held_out),
    output:
        source=f"{RESULTS}/corpora/{{task}}/held-out.source",
        target=f"{RESULTS}/corpora/{{task}}/held-out.target",
    log:
        f"{RESULTS}/logs/{{task}}/held-out.log",
    conda:
        "../../environment.yml"
    shell:
        "{{ cat {input.source:q} > {output.source:q} && cat {input.target:q} > {output.target:q}; }} 2> {log:q}"


# Perplexity and BLEU of a model by length, including pairs longer than those it was trained on.
rule measure_lengths:
    input:
        package=PACKAGE[0],
        beside=PACKAGE[1:],
        source=rules.gather_held_out.output.source,
        target=rules.gather_held_out.output.target,
    output:
        f"{RUN}/average-{{average}}/lengths.csv",
    log:
        f"{LOG}/average-{{average}}/lengths.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=growing(60),
        mem_mb=growing(demands.decoding_megabytes),
    params:
        code=digest("perplexity"),
        package=subpath(input.package, parent=True),
        lengths=selection.lengths,
        translated=selection.translated,
    shell:
        "python -m transformer perplexity --package {params.package:q} --source {input.source:q} --target {input.target:q}"
        " --by-length {params.lengths} --translate {params.translated:q} --threads {threads} --code {params.code} > {output:q} 2> {log:q}"
