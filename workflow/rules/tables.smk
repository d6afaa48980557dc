# The corpora, the runs; and Tables 2, 3 and 4 and the appendix's: published, ours and difference side by side.


localrules:
    write_corpora,
    write_runs,
    write_table2,
    write_table3,
    write_table4,
    write_appendix,


rule write_corpora:
    input:
        corpora=corpora_of(ALL_RUNS),
        code=scripts("corpora", "runs", "tables_common"),
    output:
        csv=table_report("corpora", "csv"),
        md=f"{RESULTS}/tables/corpora.md",
        html=table_report("corpora", "html"),
        tex=f"{RESULTS}/tables/corpora.tex",
    log:
        f"{RESULTS}/logs/corpora.log",
    conda:
        "../../environment.yml"
    params:
        tasks=list(ALL_RUNS),
    script:
        "../scripts/corpora.py"


rule write_runs:
    input:
        packages=packages_behind(all_scores()),
        code=scripts("runs_table", "runs", "tables_common"),
    output:
        csv=table_report("runs", "csv"),
        md=f"{RESULTS}/tables/runs.md",
        html=table_report("runs", "html"),
        tex=f"{RESULTS}/tables/runs.tex",
    log:
        f"{RESULTS}/logs/runs.log",
    conda:
        "../../environment.yml"
    script:
        "../scripts/runs_table.py"


rule write_table2:
    input:
        published=HERE / "config/published.yaml",
        scores=averaged_scores(TABLE2),
        packages=packages_behind(averaged_scores(TABLE2)),
        corpora=corpora_of(TABLE2),
        code=scripts("table2", "runs", "tables_common"),
    output:
        csv=table_report("table2", "csv"),
        md=f"{RESULTS}/tables/table2.md",
        html=table_report("table2", "html"),
        tex=f"{RESULTS}/tables/table2.tex",
    log:
        f"{RESULTS}/logs/table2.log",
    conda:
        "../../environment.yml"
    params:
        notes=table_notes(),
    script:
        "../scripts/table2.py"


rule write_table3:
    input:
        published=HERE / "config/published.yaml",
        scores=dev_scores(TABLE3),
        comparisons=comparisons(TABLE3),
        packages=packages_behind(dev_scores(TABLE3)),
        corpora=corpora_of(TABLE3),
        code=scripts("table3", "runs", "tables_common"),
    output:
        csv=table_report("table3", "csv"),
        md=f"{RESULTS}/tables/table3.md",
        html=table_report("table3", "html"),
        tex=f"{RESULTS}/tables/table3.tex",
    log:
        f"{RESULTS}/logs/table3.log",
    conda:
        "../../environment.yml"
    params:
        notes=table_notes(),
    script:
        "../scripts/table3.py"


rule write_table4:
    input:
        published=HERE / "config/published.yaml",
        scores=averaged_scores(TABLE4),
        packages=packages_behind(averaged_scores(TABLE4)),
        corpora=corpora_of(TABLE4),
        code=scripts("table4", "runs", "tables_common"),
    output:
        csv=table_report("table4", "csv"),
        md=f"{RESULTS}/tables/table4.md",
        html=table_report("table4", "html"),
        tex=f"{RESULTS}/tables/table4.tex",
    log:
        f"{RESULTS}/logs/table4.log",
    conda:
        "../../environment.yml"
    params:
        notes=table_notes(),
        trained_on=trees_of(TABLE4),
    script:
        "../scripts/table4.py"


rule write_appendix:
    input:
        published=HERE / "config/published.yaml",
        scores=dev_scores(APPENDIX),
        comparisons=comparisons(APPENDIX),
        packages=packages_behind(dev_scores(APPENDIX)),
        corpora=corpora_of(APPENDIX),
        code=scripts("appendix", "runs", "tables_common", "table3"),
    output:
        csv=table_report("appendix", "csv"),
        md=f"{RESULTS}/tables/appendix.md",
        html=table_report("appendix", "html"),
        tex=f"{RESULTS}/tables/appendix.tex",
    log:
        f"{RESULTS}/logs/appendix.log",
    conda:
        "../../environment.yml"
    params:
        notes=table_notes(),
    script:
        "../scripts/appendix.py"
