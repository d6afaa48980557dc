"""An experiment's tables beside the released ones, results/released/EXPERIMENT/tables, cell by cell."""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

from tabulate import tabulate

from workflow.results.common.cells import NOT_RUN

Cells = Mapping[str, str]  # heading -> text

# Columns whose headings begin like this, and claims whose measures do, differ between machines or between commits.
MACHINE = re.compile(
    r"Commit|Device|FLOPs, a second|Hours|Milliseconds|Other programs|Resumed|Seconds|Steps again|Time"
    r"|Training cost \(FLOPs\), (?:ours, estimated|ratio)|Training, ours",
    re.IGNORECASE,
)
SCORES = {"BLEU, ours": "", "F1, ours": "", "Perplexity, ours": " %"}  # heading -> the unit of a difference
NUMBER = re.compile(r"\d+(?:\.\d+)?(?= |$)")
FEW = 3  # names that a line lists
WIDTH = 120
NOT_COMPARED = (
    "Not compared, because they are never the same: times, costs that follow from times, devices and commits."
)
# docs/results.md has these numbers.
USUAL = (
    "What is usual: CPUs of one kind give equal scores (an AMD Zen 4 and a Zen 5 did), those of another kind do not. "
    "From an Intel Xeon in float32 to an AMD EPYC in bfloat16, BLEU in Table 3 of quick moved by up to 1.8, perplexity "
    "by up to 7.1 %, and base's BLEU for French in Table 2 from 27.1 to 28.6 (docs/results.md)."
)
SAME = (
    "The devices have the same names and the same precision here and there, and CPUs of one kind give equal scores. So "
    "look for the cause in the code (the commits above), the config and the version of PyTorch, not in the CPU."
)


@dataclass(frozen=True)
class Change:
    """A cell that differs from the released one."""

    row: str
    heading: str
    ours: str
    released: str

    @property
    def size(self) -> float:
        """Our score minus the released one, in its unit. 0 if the cells are no scores."""
        ours, released = NUMBER.match(self.ours), NUMBER.match(self.released)
        if self.heading not in SCORES or not ours or not released:
            return 0
        change = float(ours[0]) - float(released[0])
        return 100 * change / (float(released[0]) or 1) if SCORES[self.heading] else change

    def __str__(self) -> str:
        size = f" {self.size:+.1f}{SCORES[self.heading]}" if self.size else ""
        return f"{self.heading.removesuffix(', ours')}{size} ({self.row}: {self.released} released, {self.ours} here)"


@dataclass(frozen=True)
class Difference:
    """How a table differs from the released one."""

    changes: Sequence[Change]
    only_ours: Sequence[str]  # names of rows and columns
    only_released: Sequence[str]

    def __str__(self) -> str:
        """How many cells differ, the largest change of each score, and the verdicts that changed."""
        of = {heading: [each for each in self.changes if each.heading == heading] for heading in (*SCORES, "Verdict")}
        largest = (max(of[heading], key=lambda each: abs(each.size), default=None) for heading in SCORES)
        columns = few(each.heading for each in self.changes)
        return "\n".join(
            [
                f"cells that differ: {len(self.changes)} ({columns})" if columns else "equal to the last digit",
                *(f"largest difference: {each}" for each in largest if each and each.size),
                *[few(map(str, of["Verdict"]), "\n")] * bool(of["Verdict"]),
                *[f"only here: {few(self.only_ours)}"] * bool(self.only_ours),
                *[f"only released: {few(self.only_released)}"] * bool(self.only_released),
            ]
        )


def few(names: Iterable[str], separator: str = "; ") -> str:
    """The first of some names, each once, and how many others there are."""
    names = list(dict.fromkeys(names))
    return separator.join(names[:FEW] + [f"{len(names) - FEW} more"] * (len(names) > FEW))


def read(path: Path) -> list[Cells]:
    """The rows of a csv. Empty if there is no such file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        head, *rows = [*csv.reader(stream)] or [[]]
    return [dict(zip(head, [*row, *[""] * len(head)], strict=False)) for row in rows]


def difference(ours: Sequence[Cells], released: Sequence[Cells]) -> Difference:
    """Compare two tables that have rows. Rows that were not run, and claims about time, do not count.

    Rows are known by their first columns, by as few as tell all rows of a table apart.
    """
    both = [heading for heading in ours[0] if heading in released[0]]
    tables = [[row for row in rows if _counts(row)] for rows in (ours, released)]
    known: list[dict[str, Cells]] = [{}, {}]
    for count in range(1, len(both) + 1):
        known = [{_name(row, both[:count]): row for row in rows} for rows in tables]
        if list(map(len, known)) == list(map(len, tables)):
            break
    here, there = known
    changes = [
        Change(name, heading, here[name][heading], there[name][heading])
        for name in here
        for heading in both
        if name in there and here[name][heading] != there[name][heading] and not MACHINE.match(heading)
    ]

    def only(mine: Cells, others: Cells, rows: Iterable[str], other_rows: Iterable[str]) -> list[str]:
        columns = [f"column {heading}" for heading in mine if heading not in others]
        return [*(name for name in rows if name not in other_rows), *columns]

    return Difference(changes, only(ours[0], released[0], here, there), only(released[0], ours[0], there, here))


def _counts(row: Cells) -> bool:
    return not any(cell.startswith(NOT_RUN) for cell in row.values()) and not MACHINE.match(row.get("Measure", ""))


def _name(row: Cells, headings: Iterable[str]) -> str:
    """These cells of a row. A number follows its heading."""
    cells = ((heading, row[heading]) for heading in headings)
    return ", ".join(f"{heading} {cell}" if cell[:1].isdigit() else cell for heading, cell in cells if cell)


def compare_tables(ours: Path, released: Path, names: Iterable[str]) -> str:
    """What differs between the tables of these names in two folders, and where they may be from."""
    tables = {name: (read(ours / f"{name}.csv"), read(released / f"{name}.csv")) for name in names}
    both = {name: difference(*pair) for name, pair in tables.items() if all(pair)}
    if not both:
        return f"Nothing to compare with the released results: {released} has no table that {ours} has."
    lines = [
        (name, both.get(name, "only here" if here else "only released"))
        for name, (here, there) in tables.items()
        if here or there
    ]
    runs = [read(folder / "runs.csv") for folder in (ours, released)]
    made = [
        (where, folder, *(few(run.get(heading, "") for run in each) for heading in ("Device", "Commit")))
        for where, folder, each in zip(("here", "released"), (ours, released), runs, strict=True)
    ]
    machines = [{(run.get("Device"), run.get("Precision")) for run in each} for each in runs]
    changes = [change for each in both.values() for change in each.changes]
    others = sum(change.heading == "Config" for change in changes)
    ending = [
        NOT_COMPARED,
        *["All other numbers that both have are equal to the last digit."] * (not changes),
        *[f"Runs with another config than the released ones: {others}. Their scores differ anyway."] * bool(others),
        *[SAME if machines[0] == machines[1] else USUAL] * bool(changes),
    ]
    return "\n\n".join(
        [
            tabulate(made, ["Compared", "tables", "made on", "at commit"], disable_numparse=True),
            tabulate(lines, tablefmt="plain", disable_numparse=True),
            "\n".join(fill(sentence, WIDTH) for sentence in ending),
        ]
    )
