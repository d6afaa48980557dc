from pathlib import Path

import pytest

from transformer.support.files import InputError
from transformer.support.strict import read_keys
from workflow.experiment.advice import warnings_of
from workflow.experiment.config import read_experiment
from workflow.experiment.sources import OWN_FILES, PARTS, read_sources

CONFIG = OWN_FILES[0].parent
MINE = "tasks: {mine: {corpus: multi30k, source: de, target: en, vocabulary: 3000, models: [base]}}"


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Check an experiment of overlays: names of files in config/, or texts, which become own.yaml."""
    monkeypatch.chdir(tmp_path)

    def check(*overlays):
        Path("own.yaml").write_text(overlays[-1])
        files = [*(CONFIG / f"{name}.yaml" for name in overlays[:-1]), Path("own.yaml")]
        return warnings_of(read_experiment(files), read_sources(files))

    return check


@pytest.mark.parametrize(
    "overlays",
    [
        ("seeds: [1, 2]\nnotes: [Mine.]\nmirror: null\nsearches: null\ntable3_average: 1",),
        ("tasks: {ende: {models+: [mine]}}\nmodels: {mine: {h: 2, d_k: 256, d_v: 256}}",),
        ("experiment: mine\nonly: [ende, mine]\n" + MINE,),
        ("paper", "corpora: {penn-treebank: {trees: /data/wsj}}"),
    ],
)
def test_what_is_used_is_not_told(given, overlays):
    assert given(*overlays) == []


@pytest.mark.parametrize(
    ("overlay", "warning"),
    [
        ("models: {bsae: {steps: 400}}", "own.yaml, line 1: models.bsae: nothing uses it; did you mean base?"),
        ("seeds: [1]\nmodels:\n  zzz: {h: 4}", "own.yaml, line 3: models.zzz: nothing uses it; name it in a task, or"),
        ("downloads: {'http://a/b': {bytes: 1, sha256: '" + "a" * 64 + "'}}", "downloads.http://a/b: nothing uses it"),
        (
            "corpora: {multi3k: {origin: files, train: &a [{en: a, de: b}], dev: *a, test: *a}}",
            "did you mean multi30k?",
        ),
    ],
)
def test_what_nothing_uses_is_told(given, overlay, warning):
    [told] = given(overlay)
    assert warning in told


def test_a_file_that_is_no_experiment_by_itself_names_its_companion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (mine := tmp_path / "mine.yaml").write_text("experiment: mine\n")
    (tmp_path / "link.yaml").symlink_to(CONFIG / "paper-base.yaml")
    stage, tables, recipes = CONFIG / "paper-base.yaml", CONFIG.parent / "models/tables.yaml", CONFIG / "own-text.yaml"
    for overlays, right in (
        ([stage], "config/paper.yaml config/paper-base.yaml"),
        ([tmp_path / "link.yaml"], "config/paper.yaml config/paper-base.yaml"),
        ([stage, CONFIG / "paper.yaml"], "config/paper.yaml config/paper-base.yaml"),
        ([tables], "config/small.yaml models/tables.yaml"),
        ([recipes], "config/own-text.yaml mine.yaml"),
    ):
        with pytest.raises(InputError, match=f"{overlays[0].name}: is no experiment .*; give --configfile {right}$"):
            read_sources(overlays)
    for overlays in ([CONFIG / "paper.yaml", stage], [mine, stage], [CONFIG / "small.yaml", tables], [recipes, mine]):
        read_sources(overlays)
    nameless = {path for path in CONFIG.glob("*.yaml") if "experiment" not in read_keys(path)}
    expected = {*(nameless - {*OWN_FILES, CONFIG / "published.yaml"}), *(CONFIG.parent / "models").glob("*.yaml")}
    assert expected == {CONFIG.parent / part for part in PARTS}
