"""Judge an idea: screen it, or confirm it with fresh seeds. Write the answer, and add it to the ledger."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from transformer.evaluation.metrics import number_of
from transformer.evaluation.statistics import power
from transformer.support.files import read_json, write_json
from transformer.support.provenance import changed_code
from transformer.support.strict import read_config
from workflow.experiment.config import Experiment
from workflow.experiment.tasks import FRESH
from workflow.jobs.job import run
from workflow.results.claims.verdicts import MEASURES
from workflow.results.ideas import ledger
from workflow.results.ideas.released import KNOWN, Released, compared, released

# The measures that are judged, and of each a gain whose power is told: 2 % less perplexity, 1.0 BLEU.
GAINS = {"perplexity": -math.log(0.98), "bleu": 1.0}
# How far apart equal runs may score, as a share. Today's code trains base of `small` with the gradients of its release,
# but its perplexity is 3e-7 apart. Another CPU moves it by 2e-3.
EQUAL = 1e-5


def main(job: Any) -> None:
    """Judge the idea, with fresh seeds if the job is `confirming`. The schema of the answer is ideas/schema.json."""
    experiment, paths = read_config(Experiment, Path(job.input.config)), list(map(Path, job.input.released))
    confirming, trial, first = job.params.confirming, experiment.trial, experiment.seeds[0]
    assert trial
    known, seeds = released(experiment, trial.against, paths), [*(FRESH if confirming else experiment.seeds)]
    rows = [*map(run_of, job.input.row, job.input.packages)]
    [here], there = map(run_of, job.input.control, job.input.control_package), known[first]
    control = {"seed": first, **differences(here, there), "here": made(here), "released": made(there)}
    book, entry, fresh = Path(job.params.ledger), ledger.entry_of(experiment), {*FRESH} <= known.keys()
    k, begun = ledger.number(ledger.read(book), entry["digest"])
    reason = fault(f"{trial.against} with seed {first}", control, here, there)
    unfit = why_unfit(control, map(made, rows)) if fresh else f"seeds 6 to 15 of {trial.against} are not released"
    if confirming and not reason:
        reason = unfit if begun else "it was not begun; use `snakemake confirm`"
    tail = ledger.tail(k) if confirming else 0.025
    others = [known[seed] for seed in seeds if seed in known]
    measures = {} if reason else {name: compared(name, rows, others, tail) for name in GAINS}
    won = any(each["p"] < tail for each in measures.values())
    judged = ("" if won else "not ") + "confirmed" if confirming else "screened"
    answer: dict[str, Any] = {key: entry[key] for key in ("idea", "digest", "against")}
    answer |= {"status": "cannot be judged" if reason else judged, "reason": reason, "unfit": unfit, "seeds": seeds}
    answer |= {"k": k, "level": ledger.tail(k), "control": control, "measures": measures}
    answer["power"] = powers(experiment, paths, k) if fresh else {}
    answer["costs"] = costs(rows[0], read_json(Path(job.input.times))["rows"], trial.row, trial.against)
    answer["sentences"] = sentences(answer)
    if not reason:
        by = made(rows[0]) | {"commit": rows[0].package["training"]["software"]["commit"]}
        ledger.append(book, {**entry, **ledger.cells(answer), **{key: str(each) for key, each in by.items()}})
    write_json(Path(job.output[0]), answer)


def run_of(scores: str, package: str) -> Released:
    """A run."""
    return Released(read_json(Path(scores)), read_json(Path(package)))


def differences(here: Released, there: Released) -> dict[str, float]:
    """By how much a run is better than the released one; 0 if their scores are equal to five digits (EQUAL)."""
    found = {}
    for name in GAINS:
        measure = MEASURES[name]
        ours, theirs = (number_of(each.scores, measure.key) for each in (here, there))
        equal = math.isclose(ours, theirs, rel_tol=EQUAL)
        found[name] = 0.0 if equal else measure.shown(measure.value(ours) - measure.value(theirs))
    return found


def made(run: Released) -> dict[str, Any]:
    """What may change how a run rounds."""
    training = run.package["training"]
    means = {key: training.get(key) for key in ("device", "devices", "precision", "threads")}
    return means | {"torch": training.get("software", {}).get("torch")}


def fault(name: str, control: Mapping[str, Any], here: Released, there: Released) -> str:
    """Why nothing can be judged, if the control shows it."""
    ours, theirs = (each.package["training"]["data_sha256"] for each in (here, there))
    if ours != theirs:
        return (
            "the text of this experiment is not that of the released scores (data_sha256 of the packages); remove what "
            "the overlay changes of it"
        )
    if not apart(control) or control["here"] != control["released"]:
        return ""
    return (
        f"your code changed base: {name}, trained again, differs from the released run ({apart(control)}), but device, "
        f"precision, threads and PyTorch are the same. {uncommitted() or 'Git knows no file that differs.'}"
    )


def apart(control: Mapping[str, Any]) -> str:
    """By how much the control is better than the released run, in words; empty if both are equal."""
    words = (f"{MEASURES[name].heading} {control[name]:+.2g}{' %' * (name == 'perplexity')}" for name in GAINS)
    return ", ".join(words) if any(control[name] for name in GAINS) else ""


def uncommitted() -> str:
    """The files of code that differ from the last commit."""
    files = ", ".join(changed_code())
    return f"Files that differ from the last commit: {files}." if files else ""


def why_unfit(control: Mapping[str, Any], rows: Iterable[Mapping[str, Any]]) -> str:
    """Why nothing can be confirmed here: what a confirmation needs."""
    here, there = control["here"], control["released"]
    if wrong := [f"{key} {there[key]}, not {here[key]}" for key in ("precision", "torch") if here[key] != there[key]]:
        return f"a confirmation needs {' and '.join(wrong)}, as the released scores have"
    if apart(control):
        return f"the control does not score as released ({apart(control)}). {uncommitted()}".rstrip(" .")
    return "" if all(row == here for row in rows) else "the idea was trained on another device than the control"


def powers(experiment: Experiment, paths: Sequence[Path], k: int) -> dict[str, dict[str, float]]:
    """For k and a few others, the chance that a confirmation finds each of GAINS.

    The idea is taken to vary over seeds as released rows of other ideas do.
    """
    base, *others = (released(experiment, name, paths) for name in ("base", *KNOWN) if name in experiment.models)
    found: dict[str, dict[str, float]] = {str(each): {} for each in sorted({k, 1, 3, 10})}
    for name, gain in GAINS.items():
        measure = MEASURES[name]
        some = ([number_of(run.scores, measure.key) for run in runs.values()] for runs in (base, *others))
        first, *rest = (np.var([*map(measure.value, each)], ddof=1) for each in some if each[1:])
        spread = float((first + np.mean(rest or first)) / 2) ** 0.5
        for each in found:
            found[each][name] = power(gain, spread, len(FRESH), ledger.tail(int(each)))
    return found


def costs(row: Released, times: Sequence[Mapping[str, Any]], name: str, against: str) -> dict[str, float]:
    """Parameters, FLOPs of a step, and by how many percent a step takes longer (the geometric mean over rounds)."""
    training = row.package["training"]
    seconds = {each["model"]: np.log(each["seconds"]) for each in times}
    longer = 100 * math.expm1((seconds[name] - seconds[against]).mean())
    return {"parameters": training["parameters"], "flops": training["flops"] / training["steps"], "longer": longer}


def sentences(answer: Mapping[str, Any]) -> list[str]:
    """The answer for people."""
    idea, seed, k = answer["idea"], answer["control"]["seed"], answer["k"]
    if answer["reason"]:
        return [f"{idea} cannot be judged: {answer['reason']}"]
    parts, confirming = [], answer["status"] != "screened"
    for name, each in answer["measures"].items():
        mean, low, high = (f"{each[key]:+z.1f}{' %' * (name == 'perplexity')}" for key in ("mean", "low", "high"))
        chance = f", p = {each['p']:.2g}" if confirming else ""
        parts.append(f"{MEASURES[name].heading} {mean} ({low} to {high}{chance})")
    said = [f"{idea} is {answer['status']} against {answer['against']}: {' and '.join(parts)}; + is in its favour."]
    if confirming:
        return [*said, f"Ten fresh seeds; confirmation k = {k} tests each measure at {answer['level']:.3g}."]
    said.append(f"{len(answer['seeds'])} seeds; intervals of 95 %; the control (seed {seed}) ")
    said[-1] += f"differs: {apart(answer['control'])}." if apart(answer["control"]) else "scores as released."
    how = f"`snakemake confirm` with the same config trains ten fresh seeds, now as k = {k}"
    how = f"Nothing can be confirmed here: {answer['unfit']}" if answer["unfit"] else how
    said.append(f"This is no win: only a confirmation is one. {how}.")
    powers = (f"k = {key}: {each['perplexity']:.2f} and {each['bleu']:.2f}" for key, each in answer["power"].items())
    chances = f"Ten seeds find 2 % of perplexity and 1.0 BLEU with chances of {'; '.join(powers)}."
    return [*said, *[chances] * bool(answer["power"])]


run(main, globals())
