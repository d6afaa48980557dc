# The corpora, the runs; Tables 1 to 4, the appendix's and that of section 3.2.1: published and ours side by side. What
# each is made of is listed in workflow/lib/tables.py.


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
            **table.params,
            table=table.name,
        script:
            "../scripts/table.py"
