"""What `make reproduce` prints before it runs an experiment, and the results that it prints afterwards.

python -m workflow.results.summary before|after|compare [OVERLAY ...]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

from tabulate import tabulate

from transformer.evaluation.statistics import SEEDS
from transformer.support.files import InputError
from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import Experiment, read_experiment
from workflow.experiment.plan import costs, decoded, this_cpu
from workflow.results.common.overfitting import overfitting_notes
from workflow.results.overview import count_verdicts, printed_rows, shared, tables_of, verdicts_apart
from workflow.results.released import WIDTH, compare_tables
from workflow.results.selection import Selection

PUBLISHED = Path("config/published.yaml")


def before(selection: Selection) -> str:
    """What will be made, how long that takes and where to look meanwhile."""
    experiment, runs, paths = selection.experiment, selection.runs, selection.runs.paths
    planned = [result for _, result, _ in selection.planned]
    tables = sum(each.target == "tables" for each in planned)
    figures = sum(len(each.files("")) for each in planned if each.target == "figures")
    trained = [(task, model) for task, models in runs.trained.items() for model in models for _ in experiment.seeds]
    records = [path for task, models in runs.trained.items() for path in runs.files_of(task, models, "training.json")]
    left = [run for run, record in zip(trained, records, strict=True) if not Path(record).exists()]
    lines = [f"{experiment.experiment}: {len(trained)} models, {tables} tables, {figures} figures."]
    if experiment.packages:
        lines.append(f"Nothing is trained: the models are those in {paths.packages}.")
    else:
        if len(left) < len(trained):
            lines.append(f"Trainings finished: {len(trained) - len(left)}, left: {len(left)}.")
        if left:
            lines.append(_time(experiment, left, len(left) / len(trained)))
    lines += [
        f"Tables, figures and trained models appear in {paths.results}, what each job prints in {paths.results}/logs.",
        "Ctrl-C interrupts the run; the same command continues it.",
    ]
    return "\n".join(lines)


def _time(experiment: Experiment, left: Sequence[tuple[str, str]], share: float) -> str:
    """How long the trainings that are left take, and this share of decoding."""
    cpu = this_cpu(experiment)
    one = costs(experiment, [cpu])
    hours = sum(one[run].hours[0] for run in left) + share * sum(text.hours[0] for text in decoded(experiment, [cpu]))
    time = f"{hours:.1f} hours" if hours >= 2 else f"{60 * hours:.0f} minutes"
    return f"Estimated time: {time}, on {cpu.count} CPU cores as fast as these are now; a GPU is faster."


def after(selection: Selection) -> str:
    """The columns of tables that are `printed`, where all results are, and the comparison with the released tables."""
    results, texts = selection.runs.paths.results, []
    for table, rows in printed_rows(selection):
        texts.append(tabulate(rows, table.printed.values(), disable_numparse=True))
        if table.name == "claims":
            texts.append(_verdicts(selection.experiment, shared(selection), *verdicts_apart(rows)))
    texts += [fill(note, WIDTH) for note in _overfitting(selection)]
    places = f"Tables: {results}/tables\nFigures: {results}/figures\nTrained models: {selection.runs.paths.packages}"
    return "\n\n".join([*texts, places, compare(selection)])


def _verdicts(experiment: Experiment, leading: str, verdicts: Sequence[str], timed: Sequence[str]) -> str:
    """The `leading` sentences, how many claims have each verdict, and apart from them, how many of those about time.

    If some have too few seeds for one: what these are for, and the notes.
    """
    counts, few = count_verdicts(verdicts)
    texts = [leading] * bool(leading)
    for name, each in (("that were tested", counts), ("about the time of a step", count_verdicts(timed)[0])):
        if each:
            told = ", ".join(f"{count} {verdict}" for verdict, count in each.items())
            texts.append(f"Claims {name}: {each.total()} ({told}).")
    if few:
        texts.append(
            f"Claims that need at least {SEEDS} seeds for a verdict: {few}. What fewer seeds are for: they show "
            "that everything runs on this machine, and whether the numbers are the released ones (below)."
        )
        texts += experiment.notes
    return "\n".join(fill(text, WIDTH) for text in texts)


def _overfitting(selection: Selection) -> list[str]:
    """The models that overfit, of the runs that are made."""
    histories = map(Path, selection.runs.packages_behind(selection.all_scores, "history.csv"))
    made = [str(path) for path in histories if path.exists() and path.with_name("config.json").exists()]
    return overfitting_notes(made, selection.runs.equal)


def compare(selection: Selection) -> str:
    """The tables beside the released ones."""
    names = [table.name for table in tables_of(selection)]
    ours, released = Path(selection.runs.paths.results, "tables"), selection.released(selection.experiment.experiment)
    return compare_tables(ours, released, names)


WHEN = {"before": before, "after": after, "compare": compare}


def main(when: str, *overlays: str) -> None:
    """Print what `when` names for the experiment of the overlays. If the config has a fault, print it and end."""
    try:
        experiment = read_experiment(map(Path, overlays))
        print(WHEN[when](Selection(experiment, Runs(experiment, Paths.of(experiment)), PUBLISHED)), flush=True)
    except InputError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m workflow.results.summary", description=__doc__)
    parser.add_argument("when", choices=WHEN)
    parser.add_argument("overlays", nargs="*", help="files that override those of config/")
    arguments = parser.parse_args()
    main(arguments.when, *arguments.overlays)
