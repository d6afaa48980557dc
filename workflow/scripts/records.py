"""What the scripts share: logs, files that runs leave, and means over seeds."""

import contextlib
import json
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml


def logged(main: Callable[[Any], None], snakemake: Any) -> None:
    """Run `main`; the traceback of a failure goes to the rule's log, too."""
    log = Path(snakemake.log[0])
    log.write_text("")
    try:
        main(snakemake)
    except Exception:
        with contextlib.suppress(OSError):  # of a full disk the failure itself tells
            log.write_text(traceback.format_exc())
        raise


def read_yaml(path: str) -> Any:
    return yaml.safe_load(Path(path).read_text())


def read_json(path: str) -> Any:
    return json.loads(Path(path).read_text())


def read_training(package: str) -> Any:
    """What the config.json of a package says of its training."""
    return read_json(package)["training"]


def over_seeds(runs: pd.DataFrame, names: Sequence[str] = ("task", "model")) -> dict[Any, dict[str, float]]:
    """The numbers of each (task, model), or what else `names` a run but for its seed.

    They are means over its seeds, and as `key.sd` the standard deviations; 0 of one seed. Of
    the p-values it is the largest.
    """
    models = runs.groupby(list(names))
    means, deviations = models.mean(numeric_only=True), models.std(numeric_only=True).fillna(0).add_suffix(".sd")
    tests = [name for name in means if name.endswith(".p")]
    return means.assign(**models[tests].max()).join(deviations).to_dict("index")
