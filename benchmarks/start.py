"""Measure how long commands take to start, and what a finished experiment's jobs took beside their work.

    python -m benchmarks.start
    python -m benchmarks.start --results results/quick

The commands take turns, so that noise of the machine affects all alike. With `--results`, none runs: the table is about
the jobs of a finished experiment. A training's work is what its training.json counts; the rest is start and end.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.measuring import print_head, print_row
from transformer.evaluation.turns import in_turns

PACKAGE = "models/ende/big/6/average-5/package"
COMMANDS = {  # with the seconds that each should take at most on an idle machine
    "python -m transformer --help": 0.1,
    f"python -m transformer translate --package {PACKAGE}": 1.2,
    "python -m workflow plan": 0.6,
    "snakemake --dry-run": 2.5,
}
SCORING = ("average_checkpoints", "translate", "score", "gather_parses")


def start(rounds: int) -> None:
    """Print the least and the median seconds of each command. A text of one line is its standard input."""

    def run(command: str, _: int) -> None:
        words = [str(Path(sys.executable).parent / command.split()[0]), *command.split()[1:]]
        subprocess.run(words, input=b"A man rides a bicycle.\n", capture_output=True, check=True)

    times = in_turns([partial(run, command) for command in COMMANDS], rounds)
    print_head("Command", "Least, s", "Median, s", "At most, s")
    for (command, most), taken in zip(COMMANDS.items(), times.T.tolist(), strict=True):
        print_row(command, f"{min(taken):.2f}", f"{median(taken):.2f}", str(most))


def jobs(results: Path) -> None:
    """Print the seconds that the jobs of a finished experiment took, by rule, and those of the trainings' steps."""
    spans = {}  # of a job, by its rule and its log: of several outputs, each has a record
    for path in Path(".snakemake/metadata").rglob("*"):
        record = json.loads(path.read_text()) if path.is_file() else {}
        if record.get("endtime") and any(str(log).startswith(f"{results}/") for log in record.get("log", [])):
            spans[record["rule"], *record["log"]] = record["starttime"], record["endtime"]
    seconds: dict[str, list[float]] = defaultdict(list)
    for (rule, *_), (begin, end) in sorted(spans.items()):
        seconds[rule].append(end - begin)
    print_head("Rule", "Jobs", "Seconds", "Of them work")
    for rule, taken in sorted(seconds.items(), key=lambda each: -sum(each[1])):
        work = ""
        if rule == "train":
            work = f"{sum(json.loads(path.read_text())['seconds'] for path in results.rglob('training.json')):.0f}"
        print_row(rule, str(len(taken)), f"{sum(taken):.0f}", work)
    begin, end = min(begin for begin, _ in spans.values()), max(end for _, end in spans.values())
    parts = {"trainings": ("train",), "averaging, translating, scoring": SCORING}
    sums = {part: sum(sum(seconds[rule]) for rule in rules) for part, rules in parts.items()}
    sums["others"] = sum(map(sum, seconds.values())) - sum(sums.values())
    told = ", ".join(f"{total:.0f} s of {part}" for part, total in sums.items())
    print(f"\n{end - begin:.0f} s from the first start to the last end; {told}, two at a time or more on several cores")


def main() -> None:
    """Print one of the two tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often each command runs (default: %(default)s)")
    parser.add_argument("--results", type=Path, help="folder of a finished experiment, such as results/quick")
    arguments = parser.parse_args()
    if arguments.results:
        jobs(arguments.results)
    else:
        start(arguments.rounds)


if __name__ == "__main__":
    main()
