# A trial: a row of the user's is trained, and judged against released scores.


if experiment.trial:
    from workflow.experiment.trial import archives

    TRIED, AGAINST = experiment.trial.row, experiment.trial.against

    # The record of looks is no output, because Snakemake would remove it before the job runs again.
    rule judge_trial:
        input:
            row=runs.tried_scores(TRIED),
            control=runs.tried_scores(AGAINST),
            control_package=runs.packages_behind(runs.tried_scores(AGAINST)),
            times=paths.step_time.format(task="{task}", tried=f".{TRIED}"),
            config=f"{RESULTS}/experiment.yaml",
            released=[os.path.relpath(os.path.realpath(path)) for path in archives()],
        output:
            f"{paths.trial}/{TRIED}.json",
        log:
            f"{RESULTS}/logs/{{task}}/trial.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            code=digest("workflow.jobs.judge_trial"),
            looks=f"{paths.trial}/looks.json",
        script:
            "../jobs/judge_trial.py"
