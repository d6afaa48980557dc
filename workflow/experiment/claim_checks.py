"""Whether a claim fits the rest of an experiment's config."""

from collections.abc import Iterator
from typing import Any

from transformer.support.faults import unknown
from workflow.experiment.claims import KINDS, Claim
from workflow.experiment.tasks import way


def faults_of(experiment: Any, claim: Claim) -> Iterator[tuple[str, str]]:
    """What of a claim does not fit the rest of an `Experiment` (whose module imports this one)."""
    tasks = experiment.tasks
    for task, model in claim.runs():
        if task not in tasks:
            yield "rows", unknown(task, tasks, "task")
        elif model not in experiment.models:
            yield "rows", unknown(model, experiment.models, "model")
        elif (kind := tasks[task].kind) != KINDS.get(claim.metric, kind):
            yield "metric", f"{claim.metric} is not measured for {task} ({kind}); name another metric"
        else:
            continue
        return
    if claim.seeds > len(experiment.seeds):
        yield "seeds", f"{claim.seeds} are needed, but the experiment has {len(experiment.seeds)}; add some to `seeds`"
    for seed in set(claim.further_seeds) & set(experiment.seeds):
        yield "further_seeds", f"{seed} is one of the experiment's `seeds`; remove it here"
    run = [(task, model) for task, model in claim.runs() if model in tasks[task].models]
    texts = [tasks[task] for task, _ in run]
    differ = {
        "steps": {str(experiment.run(task, model, 0).training.steps) for task, model in run},
        "text": {f"{text.corpus} {text.source}-{text.target} in {text.vocabulary} subwords" for text in texts},
    }
    for what, values in differ.items():
        if len(values) > 1 and what not in claim.differ:
            text = f"differ in {what} ({', '.join(sorted(values))}); if you intend that, write differ: [{what}]"
            yield "rows", text
    searched = [*map(way, experiment.searched())]
    for row, run_of_row, asked in zip(claim.rows, claim.runs(), claim.ways(), strict=True):
        if claim.section == "own" and asked.startswith("beam-"):
            if run_of_row != experiment.drawn:
                shown = "/".join(experiment.drawn)
                yield "rows", f"{row}: only {shown} is decoded with other beams and alphas; name it in `figures`"
            elif asked not in searched:
                yield "rows", f"{row}: dev is not decoded so; add its beam and alpha to `searches`"
