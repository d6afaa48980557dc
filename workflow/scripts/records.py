"""Helpers of the scripts: logs, files of runs, and means over seeds."""

import contextlib
import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml


def logged(main: Callable[[Any], None], snakemake: Any) -> None:
    """Run `main`; if it fails, write the traceback to the rule's log, too."""
    log = Path(snakemake.log[0])
    log.write_text("")
    try:
        main(snakemake)
    except Exception:
        with contextlib.suppress(OSError):  # the failure itself tells of a full disk
            log.write_text(traceback.format_exc())
        raise


def read_yaml(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text())


def read_json(path: str) -> Any:
    return json.loads(Path(path).read_text())


def read_training(package: str) -> Any:
    """The record of the training in the config.json of a package."""
    return read_json(package)["training"]


def over_seeds(runs: pd.DataFrame, names: Sequence[str] = ("task", "model")) -> dict[Any, dict[str, float]]:
    """The means over seeds of each (task, model), or of other `names`, and the standard deviations as `key.sd`.

    The standard deviation of one seed is 0. A p-value is the largest of the seeds.
    """
    models = runs.groupby(list(names))
    means, deviations = models.mean(numeric_only=True), models.std(numeric_only=True).fillna(0).add_suffix(".sd")
    tests = [name for name in means if name.endswith(".p")]
    return means.assign(**models[tests].max()).join(deviations).to_dict("index")
