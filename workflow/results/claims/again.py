"""Train one released run again and say whether it is equal, or where it departs.

python -m workflow.results.claims.again EXPERIMENT TASK/MODEL/SEED, such as replication ende/base/11
"""

import csv
import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

from transformer.support.files import InputError
from workflow.experiment.sources import RELEASED

ENDINGS = (".scores.json", "/history.csv", "package/config.json")
USAGE = "give an experiment whose scores are released, and one of its runs, such as: replication ende/base/11"


def released(archive: Path, runs: str) -> dict[str, bytes]:
    """The files of a run in an archive of scores, by their path in the folder `runs`. Raises InputError without any."""
    found = {}
    if archive.exists():
        with tarfile.open(archive) as stream:
            for member in stream:
                if member.name.startswith(f"{runs}/") and member.name.endswith(ENDINGS):
                    found[member.name.removeprefix(f"{runs}/")] = stream.extractfile(member).read()  # type: ignore[union-attr]
    if not found:
        raise InputError(f"{archive}: has no {runs}; {USAGE}")
    return found


def departure(name: str, there: bytes, here: bytes) -> str:
    """Where a file departs from the released one: the first line of a history, or the keys of others. Empty if not."""
    if name.endswith(".csv"):
        pairs = zip_longest(*(csv.DictReader(text.decode().splitlines()) for text in (there, here)), fillvalue={})
        speed = {"tokens_per_second": ""}  # which no two trainings share
        steps = (old.get("step", "the end") for old, new in pairs if old | speed != new | speed)
        return f"{name}: from step {step}" if (step := next(steps, None)) else ""
    old, new = (_told(json.loads(text, parse_float=lambda number: f"{float(number):.5g}")) for text in (there, here))
    keys = [key for key in old if old[key] != new.get(key)]
    return f"{name}: {', '.join(keys)}" if keys else ""


def _told(record: Mapping[str, Any]) -> dict[str, Any]:
    """What must be equal of a package's config, or of a score file."""
    if "training" in record:
        data = {key: record["training"][key] for key in ("config_sha256", "data_sha256")}
        return {**data, "weights": record["sha256"]["model.safetensors"]}
    scores = {key: value for key, value in record.items() if key != "decoding"}
    return {**scores, "translations": record["decoding"]["translations"]}


def main(experiment: str, run: str) -> str:
    """Train and score the run in results/again-EXPERIMENT, and compare. Raises as `released` and Snakemake do."""
    there = released(RELEASED / f"{experiment}/scores.tar.gz", f"results/{experiment}/runs/{run}")
    folder, overlay = Path(f"results/again-{experiment}/runs/{run}"), Path(f"config/{experiment}.yaml")
    config = ["--configfile", str(overlay)] * overlay.exists() + ["--config", f"experiment=again-{experiment}"]
    targets = [str(folder / name) for name in there]
    subprocess.run([sys.executable, "-m", "snakemake", "--cores", "all", *config, "--", *targets], check=True)
    found = [departure(name, content, (folder / name).read_bytes()) for name, content in there.items()]
    return "\n".join(filter(None, found)) or f"{run}: weights, history and translations are equal to the bit"


if __name__ == "__main__":
    try:
        if len(sys.argv) != 3:
            raise InputError(USAGE)
        print(main(*sys.argv[1:]))
    except InputError as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
