# The study of length: a decoder learns each task with each positional encoding from short problems, and is tested on
# longer ones.


STUDY = f"{RESULTS}/length/{{problem}}/{{positions}}/{{seed}}"
OF_STUDY = {
    "problem": any_of(experiment.length.tasks),
    "positions": any_of(experiment.length.positions),
}


localrules:
    configure_length,


rule configure_length:
    output:
        f"{STUDY}/config.yaml",
    log:
        f"{RESULTS}/logs/length/{{problem}}/{{positions}}/{{seed}}/configure.log",
    wildcard_constraints:
        **OF_STUDY,
    conda:
        "../../environment.yml"
    params:
        config=inputs.length_config,
    script:
        "../jobs/write_config.py"


# A run takes half a minute, so an interrupted run simply starts again.
rule measure_length:
    input:
        config=f"{STUDY}/config.yaml",
    output:
        f"{STUDY}/exact_match.json",
    log:
        f"{RESULTS}/logs/length/{{problem}}/{{positions}}/{{seed}}/measure.log",
    benchmark:
        f"{RESULTS}/benchmarks/length/{{problem}}/{{positions}}/{{seed}}.tsv"
    wildcard_constraints:
        **OF_STUDY,
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=30,
        mem_mb=growing(2000),
    params:
        code=digest("length"),
    shell:
        "python -m transformer length --config {input.config:q} --output {output:q} --threads {threads}"
        " --code {params.code} 2>&1 | tee -i {log:q}"
