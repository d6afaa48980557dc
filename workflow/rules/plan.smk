# The cost of the experiment, before anything is downloaded or trained: `snakemake plan`.


localrules:
    configure_experiment,
    plan,


rule configure_experiment:
    output:
        f"{RESULTS}/experiment.yaml",
    log:
        f"{RESULTS}/logs/experiment.log",
    conda:
        "../../environment.yml"
    params:
        config=SETTINGS,
    script:
        "../jobs/write_config.py"


rule plan:
    input:
        config=f"{RESULTS}/experiment.yaml",
    output:
        f"{RESULTS}/plan.md",
    log:
        f"{RESULTS}/logs/plan.log",
    conda:
        "../../environment.yml"
    params:
        code=digest("workflow.cli.plan"),
    shell:
        "python -m workflow plan --configfile {input.config:q} 2> {log:q} | tee -i {output:q}"
