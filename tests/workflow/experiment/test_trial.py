import io
import json
import tarfile
from pathlib import Path

import pytest
import yaml

from transformer.support.faults import ConfigError
from transformer.support.files import InputError
from workflow.experiment.config import read_experiment, read_sources
from workflow.experiment.trial import archives, check_trial, released

SMALL = Path(__file__).parents[3] / "config/small.yaml"
MINE = {"models": {"mine": {"d_ff": 3072}}, "trial": {"row": "mine"}}


@pytest.fixture
def check(tmp_path):
    """Check the trial of `small`, or of another experiment, with an overlay; returns what is wrong."""

    def run(*before, paths=None, **overlay):
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump(overlay, sort_keys=False))
        files = [*(before or [SMALL]), path]
        try:
            check_trial(read_experiment(files), read_sources(files), archives() if paths is None else paths)
        except ConfigError as error:
            return str(error).replace(f"{path}, ", "")
        return ""

    return run


def test_the_released_seeds_of_a_row_are_found_with_their_scores_and_their_training():
    found = released(read_experiment([SMALL]), "base", archives())
    assert list(found)[:5] == [1, 2, 3, 4, 5]
    assert [each.scores["seed"] for each in found.values()] == list(found)
    assert {each.package["training"]["steps"] for each in found.values()} == {5000}
    assert found[1].scores["perplexity"] == pytest.approx(8.4787, abs=1e-4)


def test_a_trial_of_a_new_row_with_the_seeds_of_small_passes(check):
    assert check(**MINE) == ""
    assert check(**MINE | {"trial": {"row": "mine", "against": "A-h1"}, "seeds": [2, 3, 4]}) == ""
    assert check() == ""  # no trial
    assert check(**MINE | {"models": {"mine": {"positions": "learned", "max_length": 200}}}) == ""
    assert check(**MINE | {"models": {"mine": {"checkpoint_every": 250}}, "table3_average": 5}) == ""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial": {"row": "mime"}}, "line 5: trial.row: unknown model mime; did you mean mine?"),
        (
            {"models": {"mine": {"d_ff": 2048}}},
            "line 5: trial.row: mine is the same model as base at this scale; change a value of it",
        ),
        (
            {"models": {"mine": {"steps": 6000}}},
            "line 3: models.mine.steps: 6000, but base has 5000; a trial needs rows that learn from the same batches: "
            "write 5000",
        ),
        (
            {"models": {"mine": {"N": 7}}},
            "line 5: trial.row: mine: C-N8, the same model at this scale, has released scores (Table 3, "
            "docs/results.md); change a value",
        ),
        ({"seeds": [1, 2]}, "line 6: seeds: 2 are too few; a trial needs 3 or more"),
        (
            {"trial": {"row": "mine", "against": "big-enfr"}},
            "line 6: trial.against: big-enfr has no released scores with the values, text and decoding of small; "
            "give --configfile config/small.yaml first, name another row, or train a base of your own "
            "(docs/own-idea.md)",
        ),
        (
            {"packages": "given"},
            "line 6: packages: with given packages nothing is trained, and a trial trains; remove this key",
        ),
    ],
)
def test_a_trial_that_cannot_be_judged_is_refused_with_its_line_and_the_remedy(check, changes, said):
    assert check(**MINE | changes) == said


def test_seeds_that_are_not_released_are_named_beside_those_that_are(check):
    path = archives()[[path.parent.name for path in archives()].index("small")]
    said = "line 6: seeds: 7: base is not released with this seed; choose from 1, 2, 3, 4, 5"
    assert check(paths=[path], **MINE | {"seeds": [1, 2, 7]}) == said


def test_a_new_key_that_changes_the_configs_of_old_rows_is_named(check, tmp_path):
    run, config = "results/small/runs/ende/base/1/average-1", "package/config.json"
    with tarfile.open(archives()[[path.parent.name for path in archives()].index("small")]) as archive:
        record = json.load(archive.extractfile(f"{run}/{config}"))
        scores = archive.extractfile(f"{run}/dev.scores.json").read()
    del record["architecture"]["d_v"]
    record["training"]["config_sha256"] = "of older code"
    with tarfile.open(path := tmp_path / "scores.tar.gz", "w:gz") as archive:
        for name, content in ((config, json.dumps(record).encode()), ("dev.scores.json", scores)):
            member = tarfile.TarInfo(f"{run}/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert "its released configs have no d_v; declare a new key with `added`" in check(paths=[path], **MINE)


def test_scores_of_another_experiment_or_decoding_do_not_count(check):
    assert "base has no released scores with the values, text and decoding of multi30k" in check(
        SMALL.with_name("multi30k.yaml"), **MINE | {"seeds": [1, 2, 3]}
    )
    other = MINE | {"experiment": "mine", "tasks": {"ende": {"decoding": {"alpha": 0.6}}}}
    assert "base has no released scores with the values, text and decoding of mine" in check(**other)


def test_a_changed_byte_of_an_archive_is_named(tmp_path):
    """Without the check, tarfile would take some damages for the end of the archive, and runs would be missing."""
    path, experiment = tmp_path / "scores.tar.gz", read_experiment([SMALL])
    with tarfile.open(path, "w:gz") as archive:
        archive.add(SMALL, "small.yaml")
    whole = path.read_bytes()
    for place in range(30, len(whole), 20):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(InputError, match=r"scores.tar.gz: cannot be read"):
            released(experiment, "base", [path])
