"""What the stages wrote about runs: trainings and scores, as data frames and means over seeds."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.decoding.record import in_words
from transformer.evaluation import metrics
from transformer.support import files, strict
from transformer.training.attempts import kept_attempts
from workflow.results.common.plan import Equal

Ours = Mapping[tuple[str, str], Mapping[str, float]]  # what `over_seeds` gives

COLUMNS = [
    *["task", "model", "seed", "average", "part", "sentences", "decoding"],
    *metrics.keys(),
    *["bootstrap.p", "bootstrap.signature", "randomisation.p", "randomisation.signature"],
    *["chrf.baseline", "chrf.system", "chrf.signature", "differences"],
    *["parameters", "steps", "target_tokens", "seconds", "sustained", "flops", "estimated_flops"],
]
# For each number that the paper prints, by its key in config/published.yaml, the key of ours in a score file.
KEYS = {column.published: column.key for metric in metrics.METRICS for column in metric.columns if column.published}


def read_yaml(path: str | Path) -> Any:
    """The content of a YAML file. Raises the errors of `strict.read_yaml`."""
    return strict.read_yaml(Path(path))


def read_json(path: str | Path) -> Any:
    """The content of a JSON file. Raises the InputErrors of `files.read_json`."""
    return files.read_json(Path(path))


def read_training(package: str) -> Any:
    """The record of the training in the config.json of a package."""
    return read_json(package)["training"]


def read_trained(packages: Iterable[str]) -> dict[tuple[str, str, int], Any]:
    """The record of the training of each (task, model, seed), from the packages."""
    return {(each["task"], each["model"], each["seed"]): each for each in map(read_training, packages)}


def read_runs(
    scores: Iterable[str], packages: Iterable[str], equal: Equal, comparisons: Iterable[str] = ()
) -> pd.DataFrame:
    """A row for each run: its scores, its training and its comparison with base. A dot joins nested keys.

    A run that is several rows of its table, by `equal`, appears under the name of each. A comparison is in the folder
    of its scores. `sustained` has the device and its FLOP/s of each attempt. `millions` counts parameters; `speed` is
    target subwords per second.
    """
    trained = read_trained(packages)
    compared = {Path(path).parent: read_json(path) for path in comparisons}
    runs = pd.json_normalize(
        [
            {
                **(training := trained[each["task"], each["model"], each["seed"]]),
                "estimated_flops": estimated_flops(training),
                "sustained": [(one["device"], one["sustained_flops"]) for one in kept_attempts(training)],
                **compared.get(Path(path).parent, {}),
                **each,
                "decoding": in_words(each["decoding"]),
                "model": name,
            }
            for path, each in ((path, read_json(path)) for path in scores)
            for name in equal[each["task"]][each["model"]]
        ]
    ).reindex(columns=COLUMNS)
    return runs.assign(
        millions=runs["parameters"] / 1e6,
        speed=runs["target_tokens"] / runs["seconds"],
    )


def estimated_flops(training: Mapping[str, Any]) -> float:
    """The training cost as the paper estimates it (section 6.1, footnote 5), summed over attempts.

    It is seconds x devices x sustained single-precision FLOP/s. The run's seconds, which are those of the steps that it
    kept, are divided among attempts in proportion to what each took for such steps. An attempt of an earlier version
    has no FLOP/s of its own; it counts with those of the last.
    """
    attempts = kept_attempts(training)
    taken = [one["seconds"] * (1 - one["steps_redone"] / (one["to"] - one["from"])) for one in attempts if "to" in one]
    shares = [each / sum(taken) for each in taken] or [1.0]
    costs = [
        training["seconds"] * share * one["devices"] * one["sustained_flops"]
        for share, one in zip(shares, attempts, strict=True)
    ]
    return float(sum(costs))


def over_seeds(runs: pd.DataFrame, names: Sequence[str] = ("task", "model")) -> dict[Any, dict[str, float]]:
    """The means over seeds of each (task, model), or of other `names`, and the standard deviations as `key.sd`.

    The standard deviation of one seed is 0. A p-value is the largest of the seeds. Another number that some seeds lack,
    because an earlier version scored them, is NaN.
    """
    models = runs.groupby(list(names))
    means, deviations = models.mean(numeric_only=True), models.std(numeric_only=True).fillna(0)
    known = models.count()[means.columns].eq(models.size(), axis=0)
    tests = models[[name for name in map(str, means) if name.endswith(".p")]].max()
    spreads = deviations.where(known, 0).add_suffix(".sd")
    numbers: Any = means.where(known).assign(**tests).join(spreads).to_dict("index")
    return numbers
