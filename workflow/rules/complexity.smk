# The measurements for Table 1. They need no text and no training. They take CPU time on one thread, so that other jobs
# do not influence them.


localrules:
    configure_complexity,


rule configure_complexity:
    output:
        f"{RESULTS}/complexity/config.yaml",
    log:
        f"{RESULTS}/logs/configure_complexity.log",
    conda:
        "../../environment.yml"
    params:
        config=SETTINGS["table1"],
    script:
        "../jobs/write_config.py"


rule measure_complexity:
    input:
        config=f"{RESULTS}/complexity/config.yaml",
    output:
        paths.complexity,
    log:
        f"{RESULTS}/logs/complexity.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=60,
        mem_mb=growing(4000),
    params:
        code=digest("complexity"),
    shell:
        "python -m transformer complexity --config {input.config:q} --output {output:q} --threads {threads}"
        " --code {params.code} 2>&1 | tee -i {log:q}"
