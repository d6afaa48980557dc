"""The released tables, cell by cell."""

import csv

from tests.pages import ROOT


def rows_of(table):
    """The rows of a released table, named EXPERIMENT/TABLE."""
    experiment, name = table.split("/")
    with (ROOT / f"results/released/{experiment}/tables/{name}.csv").open() as stream:
        return list(csv.DictReader(stream))
