"""Measurements of a run in CSV files: its history, its scores by length."""

from pathlib import Path

import pandas as pd

from transformer.support import files


def read_csv(path: str | Path, *columns: str) -> pd.DataFrame:
    """The content of a CSV file. Raises InputError if it is not CSV or lacks numbers in one of these columns."""
    try:
        read = pd.read_csv(path)
        for name in columns:
            read[name] = pd.to_numeric(read[name])
    except (OSError, ValueError, KeyError) as error:
        told = f"has no column {error.args[0]}" if isinstance(error, KeyError) else files.one_line(error)
        raise files.InputError(f"{path}: not CSV with numbers: {told}; make it again") from error
    return read
