"""Tables beside the released ones."""

import csv
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.released_tables import cell
from workflow.results import load
from workflow.results.common.result import Table
from workflow.results.released import MACHINE, SAME, USUAL, Change, compare_tables, difference, read

ROOT = Path(__file__).parents[3]
RELEASED = sorted(ROOT.glob("docs/*/tables/*.csv"))
NAMES = [result.name for _, result in load() if isinstance(result, Table)]
QUICK = ROOT / "docs/quick/tables"

numbers = st.decimals(0, 99, places=1, allow_nan=False).map(str)
names = st.text("abc ,1", min_size=1)


@st.composite
def tables(draw):
    """A table: rows with names of their own, a score, and a time."""
    rows = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    return [{"Row": row, "BLEU, ours": draw(numbers), "Perplexity, ours": draw(numbers), "Hours": "1"} for row in rows]


def names_of(table):
    return {row["Row"] for row in table}


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: f"{path.parts[-3]} {path.stem}")
def test_a_released_table_is_equal_to_itself(path):
    table = read(path)
    assert str(difference(table, table)) == "equal to the last digit"


@given(tables(), st.randoms())
def test_neither_the_order_of_rows_nor_times_make_tables_differ(table, random):
    other = [{**row, "Hours": "2"} for row in table]
    random.shuffle(other)
    found = difference(table, other)
    assert not found.changes
    assert found.left_out == ["Hours"]


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


@given(tables(), tables())
def test_exchanging_the_tables_exchanges_what_is_found(ours, released):
    found, other = difference(ours, released), difference(released, ours)
    assert (found.only_ours, found.only_released) == (other.only_released, other.only_ours)
    swapped = {Change(each.row, each.heading, each.released, each.ours) for each in other.changes}
    assert set(found.changes) == swapped


@given(tables(), tables())
def test_the_largest_difference_of_bleu_is_shown(ours, released):
    found = difference(ours, released)
    sizes = [abs(each.size) for each in found.changes if each.heading == "BLEU, ours"]
    shown = re.findall(r"largest difference: BLEU ([+-][\d.]+) \(", str(found))
    assert [abs(float(size)) for size in shown] == ([round(max(sizes), 1)] if sizes else [])


def test_perplexity_differs_in_percent_and_means_are_compared_without_their_deviations():
    assert Change("base", "Perplexity, ours", "5.50 ± 0.10", "5.00").size == pytest.approx(10)
    assert Change("base", "F1, ours", "86.0", "87.5 ± 0.2").size == -1.5
    assert Change("base", "BLEU, ours", "20.1 ± 0.1", "20.1 ± 0.3").size == 0
    assert Change("base", "BLEU, ours", "", "20.1").size == 0


def test_a_row_that_was_not_run_is_no_row():
    ours = [{"Model": "base", "BLEU, ours": "20.1"}, {"Model": "convolutional", "BLEU, ours": "19.0"}]
    found = difference(ours, [ours[0], {"Model": "convolutional", "BLEU, ours": "not run"}])
    assert str(found) == "equal to the last digit\nonly here: convolutional"


def test_rows_are_named_by_as_few_columns_as_tell_them_apart_and_numbers_follow_their_heading():
    ours = [{"Beam": beam, "Alpha": alpha, "BLEU, ours": "1.0"} for beam in "14" for alpha in ("0", "0.6")]
    assert difference(ours, ours[1:]).only_ours == ["Beam 1, Alpha 0"]


def test_a_new_column_is_named():
    assert difference([{"Model": "base", "chrF": "50"}], [{"Model": "base"}]).only_ours == ["column chrF"]


def test_verdicts_that_changed_are_shown_and_claims_about_time_are_left_out():
    ours = [["More layers", "BLEU", "reproduced", "+1.0"], ["Faster", "hours", "contrary", "-1 %"]]
    released = [["More layers", "BLEU", "undecided", "+1.0"], ["Faster", "hours", "undecided", "+2 %"]]
    ours, released = (
        [dict(zip(["Claim", "Measure", "Verdict", "Ours"], row, strict=True)) for row in rows]
        for rows in (ours, released)
    )
    found = difference(ours, released)
    assert str(found) == "cells that differ: 1 (Verdict)\nVerdict (More layers: undecided released, reproduced here)"
    assert found.left_out == ["claims about hours"]


def test_columns_of_times_and_of_what_made_a_run_are_left_out_and_no_others():
    left_out = {(path.stem, heading) for path in RELEASED for heading in read(path)[0] if MACHINE.match(heading)}
    table1 = {heading for table, heading in left_out if table == "table1"}
    assert {heading.partition(",")[0] for heading in table1} == {"Time", "Milliseconds", "seconds"}
    others = {(table, heading) for table, heading in left_out if table not in ("table1", "step_time")}
    timed = {heading for table, heading in left_out if table == "step_time"}
    kept = {"Task", "Model", "FLOPs, a step", "FLOPs, x base", "Parameters", "Target subwords a step"}
    assert timed == set(read(ROOT / "docs/small/tables/step_time.csv")[0]) - kept
    assert others == {
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


def test_equal_tables_need_no_sentence_on_what_is_usual():
    said = compare_tables(QUICK, QUICK, NAMES)
    assert said.count("equal to the last digit") == len(list(QUICK.glob("*.csv"))) + 1
    assert "What is usual" not in said


def test_both_devices_and_commits_are_named(altered):
    folder, alter = altered
    alter("runs", "Device", lambda _: "1 x Intel Xeon")
    alter("runs", "Commit", lambda _: "123456789e12")
    said = compare_tables(folder, QUICK, NAMES)
    here, released = (re.split(r"  +", line)[1:] for line in said.splitlines()[2:4])
    assert here == [str(folder), "1 x Intel Xeon", "123456789e12"]
    first = read(QUICK / "runs.csv")[0]
    assert released[0] == str(QUICK)
    assert released[1].startswith(first["Device"])
    assert released[2].startswith(first["Commit"])
    assert lines_of("runs", said) == ["equal to the last digit"]


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


def test_another_config_is_told_because_scores_then_differ_on_every_cpu(altered):
    folder, alter = altered
    alter("runs", "Config", lambda _: "0123456789ab", slice(2))
    assert "Runs with another config than the released ones: 2." in compare_tables(folder, QUICK, NAMES)


def test_a_table_that_only_one_folder_has_is_named(altered):
    folder, _ = altered
    (folder / "table4.csv").unlink()
    assert lines_of("table4", compare_tables(folder, QUICK, NAMES)) == ["only released"]
    assert lines_of("table4", compare_tables(QUICK, folder, NAMES)) == ["only here"]


@given(st.binary() | st.lists(st.lists(st.text())).map(lambda rows: "\n".join(map(",".join, rows)).encode()))
def test_a_damaged_table_does_not_fail(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("damaged")
    for name in ("table2", "claims", "runs"):
        (folder / f"{name}.csv").write_bytes(content)
    assert compare_tables(folder, QUICK, NAMES)
    assert compare_tables(QUICK, folder, NAMES)


def test_what_is_usual_is_what_the_page_of_results_says():
    page = " ".join((ROOT / "docs/results.md").read_text().split())
    assert (
        "had 20.3 and 28.6 BLEU in Table 2; in Table 3, BLEU moved by up to 1.8, and perplexity by up to 7.1 %" in page
    )
    french = cell("quick/table2", "BLEU, ours", Pair="en-fr", Model="Transformer (base*")
    assert re.findall(r"\d+\.\d", USUAL) == ["1.8", "7.1", french, "28.6"]
