# The figures: figures 3 to 5 of the paper, training curves, tables as pictures, and parsed trees beside gold trees.


localrules:
    draw_attention,
    show_attention,
    draw_claims,
    draw_training_curves,
    draw_table3,
    draw_positions,
    draw_decoding,
    draw_table1,
    draw_dot_products,


rule draw_attention:
    input:
        published=HERE / "config/published.yaml",
        attention=runs.attention(),
        code=scripts("attention"),
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


rule show_attention:
    input:
        Path(runs.attention()).with_suffix(".html"),
    output:
        shown("attention", "attention_page", "html"),
    log:
        f"{RESULTS}/logs/attention_page.log",
    conda:
        "../../environment.yml"
    params:
        task=experiment.figures.task,
        model=experiment.figures.model,
    shell:
        "cp {input:q} {output:q} 2> {log:q}"


rule draw_claims:
    input:
        published=HERE / "config/published.yaml",
        packages=runs.packages_behind(tables.claims.scores),
        scores=tables.claims.scores,
        lengths=tables.claims.lengths,
        code=scripts("claims_figure"),
    output:
        figure_report("claims", "claims_figure"),
    log:
        f"{RESULTS}/logs/claims_figure.log",
    conda:
        "../../environment.yml"
    params:
        claims=tables.claims.all,
        longest=tables.longest,
    script:
        "../scripts/claims_figure.py"


rule draw_training_curves:
    input:
        packages=runs.packages_behind(tables.all_scores),
        histories=runs.packages_behind(tables.all_scores, "history.csv"),
        code=scripts("training_curves"),
    output:
        figure_report("training_curves", "training_curves"),
    log:
        f"{RESULTS}/logs/training_curves.log",
    conda:
        "../../environment.yml"
    params:
        groups=tables.curves,
        equal=runs.equal,
    script:
        "../scripts/training_curves.py"


rule draw_table3:
    input:
        published=HERE / "config/published.yaml",
        scores=runs.dev_scores(tables.some("table3")),
        packages=runs.packages_behind(runs.dev_scores(tables.some("table3"))),
        code=scripts("table3_figure"),
    output:
        figure_report("table3", "table3_figure"),
    log:
        f"{RESULTS}/logs/table3_figure.log",
    conda:
        "../../environment.yml"
    params:
        own=tables.own_rows("table3"),
        equal=runs.equal,
    script:
        "../scripts/table3_figure.py"


rule draw_positions:
    input:
        published=HERE / "config/published.yaml",
        scores=runs.dev_scores(tables.some("positions")),
        lengths=tables.by_length,
        code=scripts("positions_figure"),
    output:
        figure_report("positions", "positions_figure"),
    log:
        f"{RESULTS}/logs/positions_figure.log",
    conda:
        "../../environment.yml"
    params:
        equal=runs.equal,
        longest=tables.longest,
    script:
        "../scripts/positions_figure.py"


rule draw_decoding:
    input:
        **tables.decoding,
        code=scripts("decoding_figure"),
    output:
        figure_report("decoding", "decoding_figure"),
    log:
        f"{RESULTS}/logs/decoding_figure.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/decoding_figure.py"


rule draw_table1:
    input:
        complexity=paths.complexity,
        code=scripts("table1_figure"),
    output:
        figure_report("table1", "table1_figure"),
    log:
        f"{RESULTS}/logs/table1_figure.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/table1_figure.py"


rule draw_dot_products:
    input:
        code=scripts("dot_products"),
    output:
        figure_report("dot_products", "dot_products"),
    log:
        f"{RESULTS}/logs/dot_products.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/dot_products.py"


# This rule exists only if the experiment has parses.
if tables.parses():

    localrules:
        draw_trees,

    rule draw_trees:
        input:
            reference=f"{RESULTS}/corpora/{tables.parsing_task}/test.trees",
            translations=tables.parses(),
            code=code("draw"),
        output:
            shown("trees", "trees"),
        log:
            f"{RESULTS}/logs/trees.log",
        conda:
            "../../environment.yml"
        params:
            task=tables.parsing_task,
            trained_on=tables.trees(),
        shell:
            "python -m transformer draw --reference {input.reference:q} --translations {input.translations:q}"
            " --output {output:q} 2>&1 | tee -i {log:q}"
