# An idea: a row of the user's is trained, and compared with released scores. See docs/own-idea.md.


if experiment.trial:
    TRIED, AGAINST = experiment.trial.row, experiment.trial.against
    CONTROL = runs.tried_scores(AGAINST, experiment.seeds[:1])

    for confirming, seeds in ((False, experiment.seeds), (True, FRESH)):
        scores = runs.tried_scores(TRIED, seeds)

        # The ledger is no output, because Snakemake would remove it before the job runs again.
        rule:
            name:
                "confirm_idea" if confirming else "screen_idea"
            input:
                row=scores,
                packages=runs.packages_behind(scores),
                control=CONTROL,
                control_package=runs.packages_behind(CONTROL),
                times=paths.step_time.format(task=experiment.drawn[0], tried=f".{TRIED}"),
                config=f"{RESULTS}/experiment.yaml",
                released=list(map(str, archives())),
            output:
                paths.answer(TRIED, confirming),
            log:
                f"{RESULTS}/logs/ideas/{TRIED}{'.confirmation' * confirming}.log",
            localrule: True
            conda:
                "../../environment.yml"
            params:
                code=digest("workflow.results.ideas.judge"),
                confirming=confirming,
                ledger=str(LEDGER),
            script:
                "../results/ideas/judge.py"
