import tarfile

import pytest
import yaml

from transformer.support.faults import ConfigError
from transformer.support.files import InputError
from workflow.dag.checks import sources_of
from workflow.experiment.config import read_experiment, read_sources
from workflow.results.ideas.check import SMALL, check_trial
from workflow.results.ideas.released import archives, released

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
    assert list(found) == list(range(1, 16))
    assert [each.scores["seed"] for each in found.values()] == list(found)
    assert {each.package["training"]["steps"] for each in found.values()} == {5000}
    assert found[1].scores["perplexity"] == pytest.approx(8.4787, abs=1e-4)


def test_a_new_row_with_the_seeds_of_small_passes(check):
    assert check(**MINE) == ""
    assert check(**MINE | {"trial": {"row": "mine", "against": "A-h1"}, "seeds": [2, 3, 4]}) == ""
    assert check() == ""  # no trial
    assert check(**MINE | {"models": {"mine": {"idea": "ideas/placebo.py"}}}) == ""  # it counts in the ledger
    assert check(**MINE | {"models": {"mine": {"positions": "learned", "max_length": 200}}}) == ""


SAME = {"checkpoint_every": 250, "average": 1}  # of base it changes no score


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"trial": {"row": "mime"}}, "line 5: trial.row: unknown model mime; did you mean mine?"),
        (
            {"models": {"mine": SAME}},
            "line 6: trial.row: mine is the same model as base at this scale; change a value of it",
        ),
        (
            {"models": {"mine": {"steps": 6000}}},
            "line 3: models.mine.steps: 6000, but base has 5000; a trial needs rows that learn from the same batches: "
            "write 5000",
        ),
        (
            {"models": {"mine": {"N": 7} | SAME}},
            "line 7: trial.row: mine is C-N8 at this scale, which is released; change a value",
        ),
        ({"seeds": [1, 2]}, "line 6: seeds: 2 are too few; a trial needs 3 or more"),
        ({"seeds": [1, 2, 6, 7]}, "line 6: seeds: 6, 7: seeds 6 to 15 are kept for a confirmation"),
        (
            {"seeds": [1, 2, 3, 16]},
            "line 6: seeds: 16: base is not released with this seed; choose from 1, 2, 3, 4, 5",
        ),
        (
            {"trial": {"row": "mine", "against": "big-enfr"}},
            "line 6: trial.against: big-enfr is released with no scores for the values, text and decoding of small; "
            "name another row, or train a base of your own (docs/own-idea.md)",
        ),
        (
            {"packages": "given"},
            "line 6: packages: with given packages nothing is trained, and a trial trains; remove this key",
        ),
    ],
)
def test_an_idea_that_cannot_be_judged_is_refused_with_its_line_and_the_remedy(check, changes, said):
    assert check(**MINE | changes) == said


def test_scores_of_another_experiment_or_decoding_do_not_count(check):
    for before, changes in (
        ([SMALL.with_name("multi30k.yaml")], {"seeds": [1, 2, 3]}),
        ([], {"experiment": "mine", "tasks": {"ende": {"decoding": {"alpha": 0.6}}}}),
    ):
        assert "base is released with no scores for the values, text and decoding of m" in check(
            *before, **MINE | changes
        )


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


# The file of an idea becomes a row.


def merged(*overlays, given=("idea=ideas/mine.py",)):
    """What --config and overlays say of the tried row, and which experiment it is one of."""
    sources, _ = sources_of(overlays, given)
    values = {}
    for each in sources.values():
        values |= {"experiment": each.get("experiment", values.get("experiment"))}
        values |= {"trial": values.get("trial", {}) | each.get("trial", {})}
        values |= {"mine": values.get("mine", {}) | each.get("models", {}).get("mine", {})}
    return values


def test_a_file_is_a_row_of_small_that_has_its_name_and_may_have_values_of_an_overlay(tmp_path):
    row = {"idea": "ideas/mine.py"}
    assert merged() == {"experiment": "small", "trial": {"row": "mine"}, "mine": row}
    (overlay := tmp_path / "wide.yaml").write_text("{models: {mine: {d_ff: 1368}}, trial: {row: x, against: A-h1}}")
    trial = {"row": "mine", "against": "A-h1"}
    assert merged(overlay) == {"experiment": "small", "trial": trial, "mine": {"d_ff": 1368} | row}
    (own := tmp_path / "own.yaml").write_text("{experiment: own, idea: ideas/mine.py}")
    assert merged(own, given=()) == {"experiment": "own", "trial": {"row": "mine"}, "mine": row}
    assert merged(given=())["experiment"] == "quick"


@pytest.mark.parametrize("path", ["ideas/base.py", "C-N8.py", "ideas/mine.yaml", "5"])
def test_a_file_that_has_the_name_of_a_row_or_is_no_code_is_refused(path):
    with pytest.raises(InputError, match=rf"--config: idea: {path}: must be NAME.py, and NAME no row of "):
        sources_of([], [f"idea={path}"])
