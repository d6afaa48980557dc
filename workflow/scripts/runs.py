"""What the scripts know of the runs: scores and training costs, read from the files that each run leaves."""

import json
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

COLUMNS = [
    *["task", "model", "seed", "average", "part", "sentences", "beam", "alpha", "perplexity"],
    *["sacrebleu.score", "sacrebleu.signature", "paper_bleu.score", "paper_bleu.signature"],
    *["brackets.f1", "brackets.exact", "brackets.repaired"],
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


def read_runs(scores: Iterable[str], training: Iterable[str]) -> pd.DataFrame:
    """A row a run: its scores beside its training; nested keys are joined by a dot.

    `estimated_flops` is the training cost as the paper estimates it (section 6.1, footnote 5): seconds x
    devices x sustained single-precision FLOP/s.
    """
    trained = {(each["task"], each["model"], each["seed"]): each for each in map(read_json, training)}
    runs = pd.json_normalize(
        [{**trained[each["task"], each["model"], each["seed"]], **each} for each in map(read_json, scores)]
    ).reindex(columns=COLUMNS)
    return runs.assign(estimated_flops=runs["seconds"] * runs["devices"] * runs["sustained_flops"])


def mean_over_seeds(runs: pd.DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """The numbers of each (task, model), averaged over its seeds."""
    return runs.groupby(["task", "model"]).mean(numeric_only=True).to_dict("index")
