# Figures 3 to 5 of the paper, the training curves of all runs, Table 3 as a picture, and trees beside gold trees.


localrules:
    draw_attention,
    draw_training_curves,
    draw_table3,


rule draw_attention:
    input:
        published=HERE / "config/published.yaml",
        attention=attention_file(),
        code=scripts("attention", "runs", "figures_common"),
    output:
        figure3=figure_report("figure3", "attention"),
        figure4=figure_report("figure4", "attention"),
        figure5=figure_report("figure5", "attention"),
    log:
        f"{RESULTS}/logs/attention_figures.log",
    conda:
        "../../environment.yml"
    params:
        task=experiment.figures.task,
        model=experiment.figures.model,
    script:
        "../scripts/attention.py"


rule draw_training_curves:
    input:
        published=HERE / "config/published.yaml",
        packages=packages_behind(all_scores()),
        histories=packages_behind(all_scores(), "history.csv"),
        code=scripts("training_curves", "runs", "figures_common"),
    output:
        figure_report("training_curves", "training_curves"),
    log:
        f"{RESULTS}/logs/training_curves.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/training_curves.py"


rule draw_table3:
    input:
        published=HERE / "config/published.yaml",
        scores=dev_scores(TABLE3),
        packages=packages_behind(dev_scores(TABLE3)),
        code=scripts("table3_figure", "runs", "figures_common", "table3"),
    output:
        figure_report("table3", "table3_figure"),
    log:
        f"{RESULTS}/logs/table3_figure.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/table3_figure.py"


# Only where parses are made.
if parses_shown():

    localrules:
        draw_trees,

    rule draw_trees:
        input:
            reference=f"{RESULTS}/corpora/{next(iter(TABLE4))}/test.trees",
            translations=parses_shown(),
            code=code("parsing/drawing", "parsing/trees"),
        output:
            svg_report("trees", "trees"),
        log:
            f"{RESULTS}/logs/trees.log",
        conda:
            "../../environment.yml"
        params:
            task=next(iter(TABLE4)),
            trained_on=trees_of(TABLE4),
        shell:
            "python -m transformer draw --reference {input.reference} --translations {input.translations}"
            " --output {output} 2>&1 | tee -i {log}"
