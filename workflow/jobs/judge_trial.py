"""Judge the row of a trial: write what is compared, how, and the answer."""

import math
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from transformer.evaluation.metrics import number_of
from transformer.evaluation.statistics import compare, level, mean, unpaired
from transformer.support.files import InputError, read_json, write_json
from transformer.support.strict import read_config
from workflow.dag.trial import look
from workflow.experiment.config import Experiment
from workflow.experiment.trial import Released, released
from workflow.jobs.job import run
from workflow.results.claims.verdicts import MEASURES

MARGINS = {"perplexity": 5.0, "bleu": 0.5}  # percent and points; config/claims.yaml says where they are from
# How far apart equal runs may score, as a share. Today's code trains base of `small` with the gradients of its release,
# but its perplexity is 3e-7 apart. Another CPU moves it by 2e-3.
EQUAL = 1e-5


def main(job: Any) -> None:
    """Judge the row. Write the answer to the output, and its sentences to the log."""
    experiment = read_config(Experiment, Path(job.input.config))
    trial, first = experiment.trial, experiment.seeds[0]
    assert trial
    known = released(experiment, trial.against, list(map(Path, job.input.released)))
    scores = list(map(read_json, map(Path, job.input.row)))
    control = Released(*(read_json(Path(path)) for [path] in (job.input.control, job.input.control_package)))
    check_text(control.package["training"], known[first].package["training"])
    differences = {name: differs(name, control, known[first]) for name in MARGINS}
    equal = not any(differences.values())
    here, there = made(control), made(known[first])
    if not equal and here == there:
        raise InputError(
            f"{trial.against} of seed {first}, the control, scores unlike the released run ({by(differences)}), "
            f"but device ({here['device']}), precision, threads and PyTorch are the same: your code changed it, so "
            "nothing is judged; undo that, or compare with a base of your own (docs/own-idea.md)"
        )
    looks = look(Path(job.params.looks), experiment)
    answer: dict[str, Any] = {
        "task": experiment.drawn[0],
        "row": trial.row,
        "against": trial.against,
        "seeds": list(experiment.seeds),
        "looks": looks,
        "level": level(len(looks)),
        "paired": equal,
        "control": {"seed": first, **differences, "here": here, "released": there},
        "measures": {},
        "times": read_json(Path(job.input.times)),
    }
    for name, margin in MARGINS.items():
        measure = MEASURES[name]
        numbers = [[number_of(each, measure.key) for each in scores]]
        numbers.append([number_of(known[seed].scores, measure.key) for seed in experiment.seeds])
        row, against = (np.array(list(map(measure.value, each))) for each in numbers)
        difference = mean(row - against) if equal else unpaired(row, against)
        judged = asdict(compare(difference, measure.margin(margin) or 0.0, len(looks), len(MARGINS)))
        if not any(map(any, numbers)):  # of BLEU, if no model has learnt to translate
            judged["verdict"] = "undecided, every score is 0"
        answer["measures"][name] = {"margin": margin, "row": numbers[0], "against": numbers[1], **judged}
    answer["sentences"] = [sentence(answer), control_sentence(answer)]
    write_json(Path(job.output[0]), answer)
    Path(job.log[0]).write_text("".join(f"trial: {each}\n" for each in answer["sentences"]), "utf-8")


def check_text(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Raises InputError if the control learnt from another text than the released run."""
    if ours["data_sha256"] != theirs["data_sha256"]:
        raise InputError(
            "the text of this experiment is not that of the released scores (data_sha256 of the packages); remove what "
            "the overlay changes of it"
        )


def differs(name: str, here: Released, there: Released) -> float:
    """By how much the control is better than the released run; 0 if their scores are equal to five digits (EQUAL)."""
    measure = MEASURES[name]
    ours, theirs = (number_of(each.scores, measure.key) for each in (here, there))
    return 0.0 if math.isclose(ours, theirs, rel_tol=EQUAL) else measure.value(ours) - measure.value(theirs)


def made(run: Released) -> dict[str, Any]:
    """What may change how a run rounds."""
    training = run.package["training"]
    means = {key: training.get(key) for key in ("device", "devices", "precision", "threads")}
    return means | {"torch": training.get("software", {}).get("torch")}


def by(differences: Mapping[str, float]) -> str:
    """By how much the control is better, in words."""
    return " and ".join(f"{MEASURES[name].heading} {MEASURES[name].text(differences[name])}" for name in MARGINS)


def sentence(answer: Mapping[str, Any]) -> str:
    """The answer in a sentence."""
    parts = []
    for name, judged in answer["measures"].items():
        measure = MEASURES[name]
        low, high = map(measure.text, judged["interval"])
        could = f"; {len(answer['seeds'])} seeds could have shown {measure.text(judged['smallest'], '')}"
        verdict = judged["verdict"] + f" within {judged['margin']:g}{' %' * measure.relative}" * (
            judged["verdict"] == "alike"
        )
        parts.append(
            f"{verdict} in {measure.heading} ({measure.text(judged['mean'])}, {low} to {high}"
            f"{could * (judged['verdict'] == 'undecided')})"
        )
    sure = 100 * (1 - answer["level"] / len(MARGINS))
    how = f"+: in its favour; intervals of {sure:.4g} %"
    seeds, looks = len(answer["seeds"]), len(answer["looks"])
    counted = f"{seeds} seeds, look {looks}"
    return f"{answer['row']} against {answer['against']} ({how}): {' and '.join(parts)}; {counted}."


def control_sentence(answer: Mapping[str, Any]) -> str:
    """Whether the control is equal to the released run, and what follows."""
    control, name = answer["control"], f"{answer['against']}, seed {answer['control']['seed']}"
    if answer["paired"]:
        return f"The control ({name}) equals the released run to five digits, so rows are compared seed by seed."
    machines = [f"{each['device']}, {each['precision']}" for each in (control["here"], control["released"])]
    return (
        f"The control ({name}) differs from the released run: {by(control)} ({machines[0]} here, {machines[1]} there). "
        "Another CPU or another version of PyTorch rounds otherwise, which acts like another seed, so rows are not "
        "compared seed by seed."
    )


run(main, globals())
