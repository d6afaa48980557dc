"""Tables beside the released ones."""

import csv
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflow.results import load
from workflow.results.common.result import Table
from workflow.results.released import MACHINE, SAME, USUAL, compare_tables, difference, read

ROOT = Path(__file__).parents[3]
RELEASED = sorted(ROOT.glob("results/released/*/tables/*.csv"))
NAMES = [result.name for _, result in load() if isinstance(result, Table)]
QUICK = ROOT / "results/released/quick/tables"
EQUAL = "equal to the last digit"

numbers = st.decimals(0, 99, places=1, allow_nan=False).map(str)
names = st.text("abc ,1", min_size=1)


@st.composite
def tables(draw):
    """A table: rows with names of their own, a score, and a time."""
    rows = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    return [{"Row": row, "BLEU, ours": draw(numbers), "Perplexity, ours": draw(numbers), "Hours": "1"} for row in rows]


def names_of(table):
    return {row["Row"] for row in table}


@given(tables(), st.randoms())
def test_neither_the_order_of_rows_nor_times_make_tables_differ(table, random):
    other = [{**row, "Hours": "2"} for row in table]
    random.shuffle(other)
    assert str(difference(table, other)) == EQUAL


@given(tables(), tables())
def test_every_cell_that_differs_is_found_and_every_row_that_only_one_table_has(ours, released):
    found = difference(ours, released)
    here, there = ({(row["Row"], key): row[key] for row in table for key in row} for table in (ours, released))
    both = {key for key in here.keys() & there.keys() if key[1] != "Hours" and here[key] != there[key]}
    assert len(found.changes) == len(both)
    assert sorted((each.ours, each.released) for each in found.changes) == sorted(
        (here[key], there[key]) for key in both
    )
    assert len(found.only_ours) == len(names_of(ours) - names_of(released))
    assert len(found.only_released) == len(names_of(released) - names_of(ours))


SCORED = [{"Model": "base", "BLEU, ours": "20.1"}, {"Model": "convolutional", "BLEU, ours": "19.0"}]
GRID = [{"Beam": beam, "Alpha": alpha, "BLEU, ours": "1.0"} for beam in "14" for alpha in ("0", "0.6")]
JUDGED = {"Claim": "More layers", "Measure": "BLEU", "Verdict": "reproduced"}
TIMED = {"Claim": "Faster", "Measure": "time of a step", "Verdict": "contrary"}


@pytest.mark.parametrize(
    ("ours", "released", "said"),
    [
        (
            SCORED,
            [SCORED[0], SCORED[1] | {"BLEU, ours": "not run"}],
            "equal to the last digit\nonly here: convolutional",
        ),
        (GRID, GRID[1:], "equal to the last digit\nonly here: Beam 1, Alpha 0"),
        (SCORED, [row | {"chrF": "50"} for row in SCORED], "equal to the last digit\nonly released: column chrF"),
        (
            [JUDGED, TIMED],
            [JUDGED | {"Verdict": "undecided"}, TIMED | {"Verdict": "undecided"}],
            "cells that differ: 1 (Verdict)\nVerdict (More layers: undecided released, reproduced here)",
        ),
    ],
    ids=["not run", "named by two columns", "a column", "verdicts, but for those about time"],
)
def test_what_only_one_has_and_verdicts_that_changed_are_told(ours, released, said):
    assert str(difference(ours, released)) == said


def test_columns_of_times_and_of_what_made_a_run_are_left_out_and_no_others():
    left_out = {(path.stem, heading) for path in RELEASED for heading in read(path)[0] if MACHINE.match(heading)}
    table1 = {heading.partition(",")[0] for table, heading in left_out if table == "table1"}
    assert table1 == {"Time", "Milliseconds", "seconds"}
    assert {each for each in left_out if each[0] not in ("table1", "step_time")} == {
        *(("appendix", f"Hours, {whose}") for whose in ("published", "ours")),
        *(("table2", f"Training, ours, {what}") for what in ("seconds", "subwords/s")),
        *(("table2", f"Training cost (FLOPs), {what}") for what in ("ours, estimated", "ratio")),
        *(("runs", heading) for heading in ("Commit", "Device", "Hours", "Resumed", "Steps again")),
    }


@pytest.fixture
def altered(tmp_path):
    """A folder with the tables of `quick`, and a function that alters cells of one: alter(table, heading, change)."""
    for path in QUICK.glob("*.csv"):
        shutil.copy(path, tmp_path)

    def alter(table, heading, change, row=slice(None)):
        path = tmp_path / f"{table}.csv"
        rows = read(path)
        for each in rows[row]:
            each[heading] = change(each[heading])
        with path.open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)

    return tmp_path, alter


def lines_of(table, said):
    """The lines of a table."""
    [lines] = re.findall(rf"^{table} +(.+\n(?: +.+\n)*)", said, re.MULTILINE)
    return [line.strip() for line in lines.splitlines()]


def test_both_devices_and_commits_are_named(altered):
    folder, alter = altered
    alter("runs", "Device", lambda _: "1 x Intel Xeon")
    alter("runs", "Commit", lambda _: "123456789e12")
    said = compare_tables(folder, QUICK, NAMES)
    here, released = (re.split(r"  +", line)[1:] for line in said.splitlines()[2:4])
    assert here == [str(folder), "1 x Intel Xeon", "123456789e12"]
    first = read(QUICK / "runs.csv")[0]
    assert released[0] == str(QUICK)
    assert (released[1].startswith(first["Device"]), released[2].startswith(first["Commit"])) == (True, True)
    assert said.count("equal to the last digit") == len(list(QUICK.glob("*.csv"))) + 1
    assert "What is usual" not in said


@pytest.mark.parametrize(("heading", "ending"), [("Device", USUAL), ("Precision", USUAL), ("Commit", SAME)])
def test_only_where_device_or_precision_differ_may_another_cpu_be_the_cause(altered, heading, ending):
    folder, alter = altered
    alter("table3", "BLEU, ours", lambda text: f"{float(text) + 0.3:.1f}", slice(2))
    alter("runs", heading, lambda _: "another", slice(1))
    assert " ".join(compare_tables(folder, QUICK, NAMES).split()).endswith(ending)


def test_a_table_that_differs_has_its_largest_differences(altered):
    folder, alter = altered
    alter("table3", "Perplexity, ours", lambda text: f"{float(text) * 1.05:.4f}", slice(1))
    alter("table3", "BLEU, ours", lambda text: f"{float(text) + 0.3:.1f}", slice(2))
    alter("table3", "BLEU, ours", lambda text: f"{float(text) - 1.0:.1f}", slice(1))
    alter("table2", "Model", lambda _: "Another", slice(1))
    base, *_ = read(QUICK / "table3.csv")
    said = compare_tables(folder, QUICK, NAMES)
    first, bleu, perplexity = lines_of("table3", said)
    assert first == "cells that differ: 3 (Perplexity, ours; BLEU, ours)"
    assert bleu.startswith(f"largest difference: BLEU -0.7 (base, base: {base['BLEU, ours']} released, ")
    assert perplexity.startswith(
        f"largest difference: Perplexity +5.0 % (base, base: {base['Perplexity, ours']} released, "
    )
    assert lines_of("table2", said) == [
        "equal to the last digit",
        "only here: en-de, Another",
        f"only released: en-de, {read(QUICK / 'table2.csv')[0]['Model']}",
    ]


@given(st.binary() | st.lists(st.lists(st.text())).map(lambda rows: "\n".join(map(",".join, rows)).encode()))
def test_a_damaged_table_does_not_fail(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("damaged")
    for name in ("table2", "claims", "runs"):
        (folder / f"{name}.csv").write_bytes(content)
    assert compare_tables(folder, QUICK, NAMES)
    assert compare_tables(QUICK, folder, NAMES)
