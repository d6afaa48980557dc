"""The ledger: every idea that was screened, and every confirmation, whether it won or not. Lines are only added."""

import ast
import csv
import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from transformer.evaluation.statistics import level
from transformer.support.files import InputError
from transformer.support.strict import listed
from workflow.experiment.config import Experiment
from workflow.experiment.sources import OWN_FILES

LEDGER = OWN_FILES[0].parents[1] / "ideas/ledger.csv"
RESULT = ("seeds", "perplexity", "perplexity_low", "perplexity_high", "bleu", "bleu_low", "bleu_high")
# `digest` is of the config and the code of the idea, without its name, and of `against`: experiment/row. `event` is
# screened, begun, confirmed or not confirmed. Differences are in favour of the idea, that of perplexity in percent.
# `flops` are those of a step, which takes `longer` than one of the other row, in percent.
FIELDS = [
    *("date", "idea", "what", "source", "digest", "against", "event", "k", *RESULT),
    *("parameters", "flops", "longer", "device", "precision", "torch", "commit"),
]
Entry = Mapping[str, str]


def entry_of(experiment: Experiment) -> Entry:
    """The beginning of a line of today about the idea that an experiment tries.

    What it is, and its source, are in the docstring of its file. A row without code is its values.
    """
    trial = experiment.trial
    assert trial
    run = dataclasses.replace(experiment.run(experiment.drawn[0], trial.row, 0), model="")
    against = f"{experiment.experiment}/{trial.against}"
    digest = hashlib.sha256(f"{run.sha256()} {against}".encode()).hexdigest()[:16]
    entry = {"date": date.today().isoformat(), "idea": trial.row, "digest": digest, "against": against}
    values = experiment.models[trial.row]
    if "idea" not in values:
        return entry | {"what": listed(values)}
    file = OWN_FILES[0].parents[1] / values["idea"]
    text = " ".join((ast.get_docstring(ast.parse(file.read_bytes())) or "").split())
    what, _, source = text.partition(" Source: ")
    return entry | {"what": what.partition(". ")[0].removesuffix("."), "source": source}


def cells(answer: Mapping[str, Any]) -> Entry:
    """The cells of an answer: its status, its differences (`compared`) and its costs."""
    ends = {"": "mean", "_low": "low", "_high": "high"}
    return {
        **{"event": answer["status"], "seeds": " ".join(map(str, answer["seeds"]))},
        "k": "" if answer["status"] == "screened" else str(answer["k"]),
        **{
            f"{name}{end}": f"{each[key]:.2f}" for name, each in answer["measures"].items() for end, key in ends.items()
        },
        **{name: f"{value:.4g}" if value % 1 else str(value) for name, value in answer["costs"].items()},
    }


def read(path: Path) -> list[Entry]:
    """The lines; none if there is no ledger yet. Raises InputError for a file that is no ledger."""
    lines = [*csv.reader(path.read_text("utf-8").splitlines())] if path.exists() else [FIELDS]
    for number, line in enumerate(lines, 1):
        if len(line) != len(FIELDS) or (line == FIELDS) != (number == 1):
            raise InputError(f"{path}, line {number}: is no line of a ledger; get the file from git again")
    return [dict(zip(FIELDS, line, strict=True)) for line in lines[1:]]


def append(path: Path, entry: Entry) -> None:
    """Add a line, unless the ledger has one that says the same, or the result of the same confirmation."""
    kind = entry["event"].split()[-1]
    for each in reversed(read(path)):
        if each["digest"] == entry["digest"] and each["event"].split()[-1] == kind:
            if kind != "screened" or all(each[name] == entry[name] for name in RESULT):
                return
            break
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        cells = [entry.get(name, "") for name in FIELDS]
        csv.writer(file, lineterminator="\n").writerows([cells] if file.tell() else [FIELDS, cells])


def number(entries: Sequence[Entry], digest: str) -> tuple[int, bool]:
    """The number k of the confirmation of an idea, or of the next one if it was not begun, and whether it was.

    It is one more than the number of confirmations before it that did not win, finished or not.
    """
    won = {entry["digest"] for entry in entries if entry["event"] == "confirmed"}
    begun = {entry["digest"]: int(entry["k"]) for entry in entries if entry["event"] == "begun"}
    return begun.get(digest, 1 + len(begun.keys() - won)), digest in begun


def begin(path: Path, entry: Entry) -> None:
    """Write that a confirmation begins, with its k, before anything is trained. A second time, nothing is written."""
    k, _ = number(read(path), entry["digest"])
    append(path, {**entry, "event": "begun", "k": str(k)})


def states(entries: Sequence[Entry]) -> list[Entry]:
    """A line for each idea, with its `status` and k. A confirmation without a result is withdrawn."""
    found = list[Entry]()
    for digest in dict.fromkeys(entry["digest"] for entry in entries):
        last = {entry["event"]: entry for entry in entries if entry["digest"] == digest}
        begun, result = last.get("begun"), last.get("confirmed") or last.get("not confirmed")
        status = result["event"] if result else "withdrawn" if begun else "screened"
        shown = result or last.get("screened") or last["begun"]
        found.append({**shown, "status": status, "k": begun["k"] if begun else ""})
    return found


def tail(k: int, measures: int = 2) -> float:
    """The one-sided level at which the k-th confirmation is judged in each of its measures."""
    return level(k) / measures
