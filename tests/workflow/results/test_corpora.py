from types import SimpleNamespace

from transformer.corpora.hold_out import SHARED
from transformer.support.files import write_json
from workflow.results.tables.corpora import HELD_OUT, NOTES, content

RECORD = {"corpus": "own", "read": 40, "pairs": {"train": 30, "dev": 4}, "removed": {"ratio": 6}}


def table(tmp_path, record):
    write_json(tmp_path / "corpus.json", record)
    inputs = SimpleNamespace(corpora=[tmp_path / "corpus.json"])
    return content(SimpleNamespace(input=inputs, params=SimpleNamespace(tasks=["ende"])))


def test_each_step_and_part_has_a_row_and_what_is_held_out_is_a_step_with_a_note(tmp_path):
    held_out = RECORD | {"removed": {"ratio": 4, "held out for dev": 4, SHARED: 2}}
    made = table(tmp_path, held_out)
    assert [list(row.values())[2:] for row in made.rows] == [
        ["read", "", "40"],
        *[["ratio", "4", "36"], ["held out for dev", "4", "32"], [SHARED, "2", "30"]],
        *[["train", "", "30"], ["dev", "", "4"]],
    ]
    assert made.notes == [*NOTES, HELD_OUT]
    assert table(tmp_path, RECORD).notes == NOTES
