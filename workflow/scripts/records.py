"""What the scripts know of the runs: scores and training costs, read from the files that each run leaves."""

import json
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from transformer.evaluation import metrics

COLUMNS = [
    *["task", "model", "seed", "average", "part", "sentences", "beam", "alpha"],
    *metrics.keys(),
    *["bootstrap.p", "bootstrap.signature", "randomisation.p", "randomisation.signature"],
    *["pairs", "left_out", "longest_pair", "parameters", "steps", "published_steps"],
    *["seconds", "devices", "device", "sustained_flops", "flops"],
]


def logged(main: Callable[[Any], None], snakemake: Any) -> None:
    """Run `main`; the traceback of a failure goes to the rule's log, too."""
    log = Path(snakemake.log[0])
    log.write_text("")
    try:
        main(snakemake)
    except Exception:
        log.write_text(traceback.format_exc())
        raise


def read_yaml(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text())


def read_json(path: str) -> Any:
    return json.loads(Path(path).read_text())


def read_training(package: str) -> Any:
    """What the config.json of a package says of its training."""
    return read_json(package)["training"]


def read_runs(scores: Iterable[str], packages: Iterable[str], comparisons: Iterable[str] = ()) -> pd.DataFrame:
    """A row a run: its scores beside its training and its comparison with base; nested keys are joined by a dot.

    A comparison stands in the folder of the scores that it belongs to.
    `estimated_flops` is the training cost as the paper estimates it (section 6.1, footnote 5): seconds x
    devices x sustained single-precision FLOP/s. `millions` are of parameters.
    """
    trained = {(each["task"], each["model"], each["seed"]): each for each in map(read_training, packages)}
    compared = {Path(path).parent: read_json(path) for path in comparisons}
    runs = pd.json_normalize(
        [
            {**trained[each["task"], each["model"], each["seed"]], **compared.get(Path(path).parent, {}), **each}
            for path, each in ((path, read_json(path)) for path in scores)
        ]
    ).reindex(columns=COLUMNS)
    return runs.assign(
        estimated_flops=runs["seconds"] * runs["devices"] * runs["sustained_flops"], millions=runs["parameters"] / 1e6
    )


def over_seeds(runs: pd.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """The numbers of each (task, model): means over its seeds, and as `key.sd` the standard deviations; 0 of one seed.

    Of the p-values it is the largest.
    """
    models = runs.groupby(["task", "model"])
    means, deviations = models.mean(numeric_only=True), models.std(numeric_only=True).fillna(0).add_suffix(".sd")
    tests = [name for name in means if name.endswith(".p")]
    return means.assign(**models[tests].max()).join(deviations).to_dict("index")
