# The time of a training step, for the rows of the claims about time.


# The job takes all cores, so that no other job runs beside it. It computes with as many threads as a training. On a
# cluster, where --cores is not given, it gets as many as a training has, and no other job gets them.
rule measure_step_time:
    input:
        configs=runs.timed_configs,
        subwords=f"{RESULTS}/subwords/{{task}}.model",
        ids=f"{RESULTS}/tokens/{{task}}/train.ids.npy",
        offsets=f"{RESULTS}/tokens/{{task}}/train.offsets.npy",
    output:
        paths.step_time,
    log:
        f"{RESULTS}/logs/{{task}}/step_time{{tried}}.log",
    wildcard_constraints:
        tried=f"(?:{any_of(f'.{model}' for model in runs.tried)})?",
    conda:
        "../../environment.yml"
    threads: max(asked.cores or 1, as_training("threads", 1))
    resources:
        runtime=growing(60),
        mem_mb=growing(demands.timing_megabytes),
        training_threads=as_training("threads", 1),
        micro_batch_tokens=as_training("micro_batch_tokens", 0),
    params:
        code=digest("step_time"),
        tokens=subpath(input.ids, parent=True),
    shell:
        "python -m transformer step-time --config {input.configs:q} --subwords {input.subwords:q} --tokens {params.tokens:q}"
        " --output {output:q} --threads {resources.training_threads}"
        " --micro-batch-tokens {resources.micro_batch_tokens} --code {params.code} 2>&1 | tee -i {log:q}"
