"""The ledger: every idea that was screened, and every confirmation, whether it won or not. Lines are only added."""

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from transformer.evaluation.statistics import level
from transformer.support.files import InputError
from workflow.experiment.config import Experiment
from workflow.experiment.sources import OWN_FILES

LEDGER = OWN_FILES[0].parents[1] / "ideas/ledger.csv"


class Entry(NamedTuple):
    """A line. Differences are in favour of the idea, perplexity in percent; `longer` says by how many a step is."""

    date: str
    idea: str
    what: str
    digest: str  # of the config, with the code of the idea and without its name
    against: str  # experiment/row
    event: str  # screened, begun, confirmed or not confirmed
    k: str = ""
    seeds: str = ""
    perplexity: str = ""
    perplexity_low: str = ""
    perplexity_high: str = ""
    bleu: str = ""
    bleu_low: str = ""
    bleu_high: str = ""
    parameters: str = ""
    flops: str = ""  # of a step
    longer: str = ""
    device: str = ""
    precision: str = ""
    torch: str = ""
    commit: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What tells ideas apart."""
        return self.digest, self.against


class State(NamedTuple):
    """What the ledger says of an idea."""

    status: str  # screened, confirmed, not confirmed or withdrawn
    k: str
    entry: Entry  # with the numbers of the confirmation, or else of the last screening


def entry_of(experiment: Experiment, what: str = "", event: str = "begun") -> Entry:
    """A line of today about the idea that an experiment tries."""
    trial = experiment.trial
    assert trial
    run = dataclasses.replace(experiment.run(experiment.drawn[0], trial.row, 0), model="")
    against = f"{experiment.experiment}/{trial.against}"
    return Entry(date.today().isoformat(), trial.row, what, run.sha256()[:16], against, event)


def numbers(measured: Mapping[str, Mapping[str, float]]) -> dict[str, str]:
    """The cells of differences (`compared`)."""
    ends = {"": "mean", "_low": "low", "_high": "high"}
    return {f"{name}{end}": f"{each[key]:.2f}" for name, each in measured.items() for end, key in ends.items()}


def read(path: Path) -> list[Entry]:
    """The lines. None if there is no ledger yet. Raises InputError for a file that is no ledger."""
    if not path.exists():
        return []
    head, *rows = [*csv.reader(path.read_text("utf-8").splitlines())] or [[]]
    if tuple(head) != Entry._fields or any(len(row) != len(head) for row in rows):
        raise InputError(f"{path}: is no ledger of ideas, or a line of it is damaged; get it from git again")
    return [Entry(*row) for row in rows]


def append(path: Path, entry: Entry) -> None:
    """Add a line, unless the ledger has one that says the same, or the result of the same confirmation."""
    same = [each for each in read(path) if each.key == entry.key and each.event.split()[-1] == entry.event.split()[-1]]
    if same and (entry.event != "screened" or same[-1][6:14] == entry[6:14]):
        return
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([entry] if file.tell() else [Entry._fields, entry])


def confirmation(entries: Sequence[Entry], key: tuple[str, str]) -> int:
    """The number k of the confirmation of an idea: its own, if it was begun, else that of the next one.

    It is one more than the number of confirmations before it that did not win, finished or not.
    """
    won = {entry.key for entry in entries if entry.event == "confirmed"}
    begun = {entry.key: int(entry.k) for entry in entries if entry.event == "begun"}
    return begun.get(key, 1 + len(begun.keys() - won))


def begin(path: Path, entry: Entry) -> None:
    """Write that a confirmation begins, with its k, before anything is trained. A second time, nothing is written."""
    append(path, entry._replace(k=str(confirmation(read(path), entry.key))))


def states(entries: Sequence[Entry]) -> list[State]:
    """What the ledger says of each idea, in their order. A confirmation without a result is withdrawn."""
    found = []
    for key in dict.fromkeys(entry.key for entry in entries):
        last = {entry.event: entry for entry in entries if entry.key == key}
        begun, screened = last.get("begun"), last.get("screened")
        result = last.get("confirmed") or last.get("not confirmed")
        status = result.event if result else "withdrawn" if begun else "screened"
        shown = result or screened or begun
        assert shown
        found.append(State(status, begun.k if begun else "", shown))
    return found


def tail(k: int, measures: int = 2) -> float:
    """The one-sided level at which the k-th confirmation is judged in each of its measures."""
    return level(k) / measures
