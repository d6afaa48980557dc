# The attention that figures 3 to 5 show.


rule read_attention:
    input:
        package=PACKAGE[0],
        beside=PACKAGE[1:],
    output:
        f"{RUN}/average-{{average}}/attention.json",
    log:
        f"{LOG}/average-{{average}}/attention.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        runtime=growing(30),
        mem_mb=growing(demands.decoding_megabytes),
    params:
        code=digest("attention"),
        package=subpath(input.package, parent=True),
        sentences=selection.sentences(),
    shell:
        "python -m transformer attention --package {params.package:q} --output {output:q}"
        " --code {params.code} --threads {threads} {params.sentences:q} 2>&1 | tee -i {log:q}"
