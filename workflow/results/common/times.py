"""The measured times of training steps, and how they were measured."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workflow.results.common.provenance import short_commit, versions
from workflow.results.common.records import read_json


def read_times(paths: Iterable[str]) -> dict[str, Sequence[float]]:
    """The seconds of a step in each round, of each run (task/model)."""
    records = map(read_json, paths)
    return {f"{row['task']}/{row['model']}": row["seconds"] for record in records for row in record["rows"]}


def circumstances(record: Mapping[str, Any]) -> str:
    """How the times of a record were measured, and how busy the machine was."""
    rows = record["rows"]
    used = [number for row in rows for number in row["others"] if number is not None]
    load = f"{np.mean(used):.1f}, at most {max(used):.1f}" if used else "unknown"
    [*precisions] = dict.fromkeys(row["precision"] for row in rows)
    eager = ", ".join(row["model"] for row in rows if not row["compiled"])
    compiled = f"compiled{' but for ' * bool(eager)}{eager}" if any(row["compiled"] for row in rows) else "not compiled"
    return (
        f"Times of steps: {record['rounds']} rounds of {record['steps']}, on {record['device']} with "
        f"{record['threads']} CPU thread{'s' * (record['threads'] != 1)}, in {' and '.join(precisions)}, {compiled}. "
        f"Cores that other programs used: {load}. Commit {short_commit(record['software'])}, "
        f"{versions(record['software'])}."
    )
