# What is released of a study whose states do not survive a change of machine: an archive for each run, made when it ends.


localrules:
    pack_references,
    pack_run,
    packed,


# The references of dev and test, with which anybody can score the translations again.
rule pack_references:
    input:
        files=collect(
            f"{RESULTS}/corpora/{{{{task}}}}/{{file}}", file=["corpus.json", "dev.target", "test.target"]
        ),
    output:
        f"{RESULTS}/packed/{{task}}/references.tar.xz",
    log:
        f"{RESULTS}/logs/{{task}}/references.log",
    conda:
        "../../environment.yml"
    params:
        code=digest("workflow.jobs.pack"),
        packages=lambda wildcards: paths.packages,
        results=lambda wildcards: paths.results,
    script:
        "../jobs/pack.py"


rule pack_run:
    input:
        files=of_run,
    output:
        f"{RESULTS}/packed/{{task}}/{{model}}/{{seed}}.tar.xz",
    log:
        f"{LOG}/pack.log",
    conda:
        "../../environment.yml"
    params:
        code=digest("workflow.jobs.pack"),
        packages=lambda wildcards: paths.packages,
        results=lambda wildcards: paths.results,
    script:
        "../jobs/pack.py"


# Only archives that are missing: if one is there, its run is not trained again, even if nothing else of it is left.
rule packed:
    input:
        not_packed(),
