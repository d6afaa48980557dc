"""The released tables, cell by cell."""

import csv
from fnmatch import fnmatchcase

from tests.pages import ROOT


def rows_of(table):
    """The rows of a released table, named EXPERIMENT/TABLE."""
    experiment, name = table.split("/")
    with (ROOT / f"results/released/{experiment}/tables/{name}.csv").open() as stream:
        return list(csv.DictReader(stream))


def cell(table, column, **where):
    """The one cell of a column in the rows whose columns match the given patterns, without its deviation."""
    rows = [row for row in rows_of(table) if all(fnmatchcase(row[key], value) for key, value in where.items())]
    [found] = {row[column].split(" ± ")[0].split(" %")[0] for row in rows}
    return found
