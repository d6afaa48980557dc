from pathlib import Path

import pytest

from transformer.support.files import InputError
from transformer.support.strict import read_keys
from workflow.experiment.advice import warnings_of
from workflow.experiment.config import read_experiment
from workflow.experiment.sources import AFTER, BEFORE, OWN_FILES, read_sources

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
        ("models: {A-h3: {h: 4}}", "own.yaml, line 1: models.A-h3: nothing uses it; did you mean A-h"),
        ("seeds: [1]\nmodels:\n  zzz: {h: 4}", "own.yaml, line 3: models.zzz: nothing uses it; name it in the models"),
        ("downloads: {'http://a/b': {bytes: 1, sha256: '" + "a" * 64 + "'}}", "downloads.http://a/b: nothing uses it"),
        (
            "corpora: {multi3k: {origin: files, train: &a [{en: a, de: b}], dev: *a, test: *a}}",
            "own.yaml, line 1: corpora.multi3k: nothing uses it; did you mean multi30k?",
        ),
        (
            "experiment: x\nmodels: {base: {warmup: 700}}",
            "models.base.warmup: a warmup of 700 steps does not end in 640",
        ),
        (
            "experiment: x\nmodels: {A-h1: {warmup: 700}}",
            "models.A-h1.warmup: a warmup of 700 steps does not end in 640",
        ),
        (
            "experiment: x\nlength: {recipe: {warmup: 700}}",
            "length.steps.copy-one: a warmup of 700 steps does not end in 600",
        ),
    ],
)
def test_what_does_nothing_and_a_warmup_that_does_not_end_are_told(given, overlay, warning):
    [told] = given(overlay)
    assert warning in told


@pytest.mark.parametrize(
    "overlays", [("models: [base, mine]",), ("models+: [base]", "models: [base, mine]"), ("models: [mine]",)]
)
def test_a_list_of_models_that_names_a_new_one_and_loses_others_is_told(tmp_path, monkeypatch, overlays):
    monkeypatch.chdir(tmp_path)
    files = [tmp_path / f"{number}.yaml" for number in range(len(overlays))]
    for file, overlay in zip(files, overlays, strict=True):
        file.write_text(f"experiment: x\nmodels: {{mine: {{P_drop: 0.3}}}}\ntasks:\n  ende:\n    {overlay}\n")
    [told] = warnings_of(read_experiment(files), read_sources(files))
    lost = 27 if "base" in overlays[-1] else 28
    remedy = f"leaves out {lost} of 28 rows; to keep them, write models+: [mine]"
    assert told == f"{files[-1].name}, line 5: tasks.ende.models: {remedy}"


def test_a_task_of_ones_own_beside_tasks_that_no_overlay_names_is_told(given):
    remedy = "enfr, wsj, semi will be run, too; if you do not want that, write only: [mine]"
    [told] = given(f"experiment: mine\n{MINE[:-1]}, ende: {{models: [base]}}}}")
    assert told == f"own.yaml, line 2: tasks.mine: {remedy}"
    [told] = given("small", f"experiment: mine\n{MINE}")
    assert told == "own.yaml, line 2: tasks.mine: ende will be run, too; if you do not want that, write only: [mine]"
    assert given("small", f"experiment: mine\nonly: [mine]\n{MINE}") == []


def test_tasks_that_are_run_too_are_told_before_the_faults_of_their_models(given):
    faulty = "models: {base: {longest_pair: 128}}"
    with pytest.raises(InputError) as error:
        given(f"experiment: mine\n{MINE}\n{faulty}")
    _, first, *others = str(error.value).splitlines()
    remedy = "ende, enfr, wsj, semi will be run, too; if you do not want that, write only: [mine]"
    assert first == f"  own.yaml, line 2: tasks.mine: {remedy}"
    assert "own.yaml, line 3: models.base.longest_pair: E-learned: 128 subwords " in others[0]
    with pytest.raises(InputError, match=r"^own.yaml, line 4: only: 'mine' is not a list; write \[mine\]$"):
        given(f"experiment: mine\n{MINE}\n{faulty}\nonly: mine")
    with pytest.raises(InputError, match=r"^own.yaml, line 3: models.base.longest_pair: 0 is not at least 1$"):
        given(f"experiment: mine\n{MINE}\nmodels: {{base: {{longest_pair: 0}}}}")
    assert given(f"experiment: mine\n{MINE}\n{faulty}\nonly: [mine]") == []


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
        with pytest.raises(
            InputError, match=f"{overlays[0].name}: is no experiment by itself; give --configfile {right}$"
        ):
            read_sources(overlays)
    for overlays in ([CONFIG / "paper.yaml", stage], [mine, stage], [CONFIG / "small.yaml", tables], [recipes, mine]):
        read_sources(overlays)
    nameless = {path for path in CONFIG.glob("*.yaml") if "experiment" not in read_keys(path)}
    expected = {*(nameless - {*OWN_FILES, CONFIG / "published.yaml"}), *(CONFIG.parent / "models").glob("*.yaml")}
    assert expected == {CONFIG.parent / part for part in (*AFTER, *BEFORE)}


@pytest.mark.parametrize("folder", [f"{CONFIG}", "../config", "link"])
def test_what_the_project_s_own_file_names_is_not_told_however_its_path_is_written(tmp_path, monkeypatch, folder):
    monkeypatch.chdir(CONFIG.parent / "docs" if folder == "../config" else tmp_path)
    (tmp_path / "link").symlink_to(CONFIG)
    (mine := tmp_path / "mine.yaml").write_text(f"experiment: mine\nonly: [mine]\n{MINE}")
    files = [Path(folder, "own-text.yaml"), mine]
    assert warnings_of(read_experiment(files), read_sources(files)) == []


@pytest.mark.parametrize("name", ["downloads", "site", "gpu"])
def test_no_experiment_has_the_name_of_a_shared_folder(given, name):
    with pytest.raises(InputError, match=rf"experiment: `{name}` is the folder .*; choose another name"):
        given(f"experiment: {name}")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", ".doctrees", "a b", "x" * 101, "'a\\nb'", "-a"])
def test_a_name_that_is_no_folder_is_refused(given, name):
    with pytest.raises(InputError, match=r"experiment: .* (cannot name|is too long for|is not a text)"):
        given(f"experiment: {name}")


def test_a_misspelt_name_whose_keys_are_missing_is_told(given):
    with pytest.raises(InputError, match=r"tasks\.edne\.source: missing; or did you mean tasks\.ende\?"):
        given("tasks: {edne: {corpus: multi30k}}")
    with pytest.raises(InputError, match=r"libreoffice-hlep\.origin: missing; or did you mean corpora\.libre"):
        given("corpora: {libreoffice-hlep: {licence: x}}")


def test_the_code_of_a_language_that_may_be_a_slip_is_told(given):
    texts = ", ".join(f"{part}: [{{en: a, frn: b}}]" for part in ("train", "dev", "test"))
    task = "tasks: {enfr: {corpus: own, target: frn}}"
    [warning] = given(f"experiment: mine\n{task}\ncorpora: {{own: {{origin: files, {texts}}}}}")
    assert warning.startswith(
        "own.yaml, line 2: tasks.enfr.target: frn has no two-letter code, so BLEU takes English's"
    )
