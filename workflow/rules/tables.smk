# The tables: published numbers and ours side by side. workflow/lib/tables.py lists them with their inputs.


for table in tables.all:

    rule:
        name:
            f"write_{table.name}"
        input:
            **table.input,
            code=[*scripts("table"), *scripts(table.name)],
        output:
            csv=table_report(table.name, "csv"),
            md=f"{RESULTS}/tables/{table.name}.md",
            html=table_report(table.name, "html"),
            tex=f"{RESULTS}/tables/{table.name}.tex",
        log:
            f"{RESULTS}/logs/{table.name}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            # As functions, because Snakemake would take braces in texts for wildcards.
            **{key: lambda wildcards, value=value: value for key, value in table.params.items()},
            table=table.name,
            title=TABLES[table.name].caption(experiment.tasks["ende"]),
        script:
            "../scripts/table.py"
