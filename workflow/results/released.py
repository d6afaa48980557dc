"""An experiment's tables beside the released ones, docs/EXPERIMENT/tables, cell by cell."""

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
    left_out: Sequence[str]  # what was not compared

    def of(self, heading: str) -> list[Change]:
        """The changes in a column."""
        return [change for change in self.changes if change.heading == heading]

    def __str__(self) -> str:
        """How many cells differ, the largest change of each score, and the verdicts that changed."""
        columns = few(dict.fromkeys(change.heading for change in self.changes))
        lines = [f"cells that differ: {len(self.changes)} ({columns})" if self.changes else "equal to the last digit"]
        scores = (max(self.of(heading), key=lambda each: abs(each.size), default=None) for heading in SCORES)
        lines += [f"largest difference: {each}" for each in scores if each and each.size]
        lines += [few(map(str, verdicts), "\n")] if (verdicts := self.of("Verdict")) else []
        lines += [f"only here: {few(self.only_ours)}"] if self.only_ours else []
        lines += [f"only released: {few(self.only_released)}"] if self.only_released else []
        return "\n".join(lines)


def few(names: Iterable[str], separator: str = "; ") -> str:
    """The first names, and how many others there are."""
    names = list(names)
    return separator.join(names[:FEW] + [f"{len(names) - FEW} more"] * (len(names) > FEW))


def read(path: Path) -> list[Cells]:
    """The rows of a csv. Empty if there is no such file."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="") as stream:
        head, *rows = [*csv.reader(stream)] or [[]]
    return [dict(zip(head, [*row, *[""] * len(head)], strict=False)) for row in rows]


def difference(ours: Sequence[Cells], released: Sequence[Cells]) -> Difference:
    """Compare two tables that have rows. Rows that were not run do not count.

    Rows are known by their first columns, by as few as tell all rows of a table apart.
    """
    headings = [heading for heading in ours[0] if heading in released[0]]
    here, there = _known(headings, [[row for row in rows if not _not_run(row)] for rows in (ours, released)])
    left_out = dict.fromkeys(found[0] for heading in headings if (found := MACHINE.match(heading)))
    changes = []
    for name in (name for name in here if name in there):
        if found := MACHINE.match(here[name].get("Measure", "")):
            left_out[f"claims about {found[0]}"] = None
            continue
        cells = ((heading, here[name][heading], there[name][heading]) for heading in headings)
        changes += [Change(name, *cell) for cell in cells if cell[1] != cell[2] and not MACHINE.match(cell[0])]
    only_ours = [*_only(here, there), *(f"column {each}" for each in _only(ours[0], released[0]))]
    only_released = [*_only(there, here), *(f"column {each}" for each in _only(released[0], ours[0]))]
    return Difference(changes, only_ours, only_released, list(left_out))


def _not_run(row: Cells) -> bool:
    return any(cell.startswith(NOT_RUN) for cell in row.values())


def _known(headings: Sequence[str], tables: Sequence[Sequence[Cells]]) -> list[dict[str, Cells]]:
    """The rows of each table by their names."""
    known: list[dict[str, Cells]] = [{} for _ in tables]
    for count in range(1, len(headings) + 1):
        known = [{_name(row, headings[:count]): row for row in rows} for rows in tables]
        if list(map(len, known)) == list(map(len, tables)):
            break
    return known


def _name(row: Cells, headings: Iterable[str]) -> str:
    """These cells of a row. A number follows its heading."""
    cells = ((heading, row[heading]) for heading in headings)
    return ", ".join(f"{heading} {cell}" if cell[:1].isdigit() else cell for heading, cell in cells if cell)


def _only(these: Iterable[str], others: Iterable[str]) -> list[str]:
    others = set(others)
    return [each for each in these if each not in others]


def compare_tables(ours: Path, released: Path, names: Iterable[str]) -> str:
    """What differs between the tables of these names in two folders, and where they may be from."""
    tables = {name: (read(ours / f"{name}.csv"), read(released / f"{name}.csv")) for name in names}
    both = {name: difference(*pair) for name, pair in tables.items() if all(pair)}
    if not both:
        return f"Nothing to compare with the released results: {released} has no table that {ours} has."
    lines = [
        (name, both[name] if all(pair) else "only here" if pair[0] else "only released")
        for name, pair in tables.items()
        if any(pair)
    ]
    made = [("here", ours, *_made(ours)), ("released", released, *_made(released))]
    return "\n\n".join(
        [
            tabulate(made, ["Compared", "tables", "made on", "at commit"], disable_numparse=True),
            tabulate(lines, tablefmt="plain", disable_numparse=True),
            _ending(list(both.values()), _machines(ours) == _machines(released)),
        ]
    )


def _made(folder: Path) -> tuple[str, ...]:
    """The devices and the commits of the runs, as the table `runs` has them."""
    runs = read(folder / "runs.csv")
    return tuple(few(dict.fromkeys(run.get(heading, "") for run in runs)) for heading in ("Device", "Commit"))


def _machines(folder: Path) -> set[tuple[str, ...]]:
    """The devices of the runs and their precision."""
    return {tuple(run.get(heading, "") for heading in ("Device", "Precision")) for run in read(folder / "runs.csv")}


def _ending(differences: Sequence[Difference], same_machines: bool) -> str:
    """What was not compared, and what to think of the differences."""
    left_out = dict.fromkeys(what for each in differences for what in each.left_out)
    sentences = [f"Not compared, because it is never the same: {'; '.join(left_out)}."] if left_out else []
    if not any(each.changes for each in differences):
        sentences.append("All other numbers that both have are equal to the last digit.")
    else:
        if other := sum(len(each.of("Config")) for each in differences):
            sentences.append(f"Runs with another config than the released ones: {other}. Their scores differ anyway.")
        sentences.append(SAME if same_machines else USUAL)
    return "\n".join(fill(sentence, WIDTH) for sentence in sentences)
