# The study of length: a decoder learns each task with each positional encoding from short problems, and is tested on
# longer ones.


STUDY = f"{RESULTS}/length/{{problem}}/{{positions}}/{{seed}}"
OF_STUDY = {
    "problem": any_of(experiment.length.tasks),
    "positions": any_of(experiment.length.positions),
}
STUDIED = collect(
    f"{STUDY}/exact_match.json",
    problem=experiment.length.tasks,
    positions=experiment.length.positions,
    seed=experiment.length.seeds,
)


localrules:
    configure_length,
    write_length,
    draw_length,


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
        "../scripts/write_config.py"


# A run takes half a minute, so an interrupted run simply starts again.
rule measure_length:
    input:
        config=f"{STUDY}/config.yaml",
        code=code("length"),
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
    shell:
        "python -m transformer length --config {input.config:q} --output {output:q} --threads {threads}"
        " 2>&1 | tee -i {log:q}"


rule write_length:
    input:
        published=HERE / "config/published.yaml",
        runs=STUDIED,
        code=scripts("length"),
    output:
        csv=table_report("length", "csv"),
        md=f"{RESULTS}/tables/length.md",
        html=table_report("length", "html"),
        tex=f"{RESULTS}/tables/length.tex",
    log:
        f"{RESULTS}/logs/length.log",
    conda:
        "../../environment.yml"
    params:
        study=SETTINGS["length"],
        title=TABLES["length"].caption(experiment.tasks["ende"]),
    script:
        "../scripts/length.py"


rule draw_length:
    input:
        runs=STUDIED,
        code=scripts("length_figure"),
    output:
        figure_report("length", "length"),
    log:
        f"{RESULTS}/logs/length_figure.log",
    conda:
        "../../environment.yml"
    params:
        study=SETTINGS["length"],
    script:
        "../scripts/length_figure.py"
