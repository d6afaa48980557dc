# The tables and figures. Rooms in workflow/results declare them: what each reads, and the function that makes it.

for room, result, plan in selection.planned:

    rule:
        name:
            result.rule
        input:
            **plan.input,
        output:
            **in_report(result),
        log:
            f"{RESULTS}/logs/{result.rule}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            # As functions, because Snakemake would take braces in texts for wildcards.
            **{name: lambda wildcards, value=value: value for name, value in result.params(plan).items()},
            code=digest("workflow.jobs.make_result", f"workflow.results.{room}"),
            room=room,
            result=result.rule,
        script:
            "../jobs/make_result.py"
