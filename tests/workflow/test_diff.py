"""What a config would destroy in its folder of results: the runs that would be lost, and the keys that differ."""

import json
import shutil
from types import SimpleNamespace

import pytest
from calls import SMOKE, snakemake

from transformer.support.files import InputError
from transformer.support.strict import plain, write_config
from workflow.dag.diff import Diff
from workflow.dag.inputs import Inputs

TASKS = {"ende": ["base", "A-h1", "C-N2"], "enfr": ["base"], "wsj": ["parser"], "semi": ["parser"]}
TASKS = {task: {"models": models} for task, models in TASKS.items()}
ENDE = ["ende base 1", "ende A-h1 1", "ende C-N2 1"]
PARSERS = ["wsj parser 1", "semi parser 1"]
ALL = [*ENDE, "enfr base 1", *PARSERS]


@pytest.fixture
def diff(select, tmp_path):
    """The diff of an experiment `mine` with an overlay."""

    def make(tasks=None, **overlay):
        merged = {task: {**given, **(tasks or {}).get(task, {})} for task, given in TASKS.items()}
        others = {name: given for name, given in (tasks or {}).items() if name not in TASKS}
        own = {"experiment": "mine", "results": str(tmp_path / "results"), "tasks": merged | others}
        found = select(**(own | overlay))
        return Diff(Inputs(found.experiment, found.runs, {}))

    return make


def record(diff):
    """Write what the finished runs of an experiment leave."""
    results = diff.results
    for task in diff.experiment.tasks:
        wildcards = SimpleNamespace(task=task)
        write_config(results / f"corpora/{task}/config.yaml", diff.inputs.task_corpus(wildcards))
        write_config(results / f"subwords/{task}.yaml", diff.inputs.vocabulary_config(wildcards))
    rows = [(task, model) for task, models in diff.runs.trained.items() for model in models]
    for task, model in [*rows, *((diff.experiment.drawn[0], row) for row in diff.runs.tried)]:
        run, folder = diff.experiment.run(task, model, 1), results / f"runs/{task}/{model}/1"
        write_config(folder / "config.yaml", run)
        (folder / "training.json").write_text(json.dumps({"config_sha256": run.sha256()}))
        package = folder / f"average-{run.training.average}/package/config.json"
        package.parent.mkdir(parents=True, exist_ok=True)
        settings = plain(diff.experiment.tasks[task])
        package.write_text(json.dumps(settings | {"corpus": {"corpus": settings["corpus"]}}))


def lost(diff, *asked, **how):
    """The runs that would be lost, each with the keys that differ. Empty if nothing is refused."""
    rows = [(task, model) for task, models in diff.runs.trained.items() for model in models]
    rows += [(diff.experiment.drawn[0], row) for row in diff.runs.tried]
    for what, task, model in asked or [("run", *row) for row in rows]:
        try:
            wildcards = SimpleNamespace(task=task, model=model, seed="1")
            if told := diff.told(what, wildcards, **{"allowed": False, "dry": False} | how):
                return told
        except InputError as error:
            lines = [line.strip().split(": ", 1) for line in str(error).splitlines()[1:-1]]
            return {name: keys for names, keys in lines for name in names.split(", ")}
    return {}


@pytest.mark.parametrize(
    ("overlay", "runs", "key"),
    [
        ({"tasks": {"ende": {"corpus": "multi30k"}}}, ENDE, "text of ende (name, corpus.origin, corpus.description"),
        ({"tasks": {"enfr": {"target": "de"}}}, ["enfr base 1"], "text of enfr (target)"),
        ({"tasks": {"enfr": {"vocabulary": 500}}}, ["enfr base 1"], "vocabulary of enfr (vocabulary)"),
        ({"subwords": {"pairs": 1000}}, ALL, "(pairs)"),
        ({"models": {"A-h1": {"h": 2}}}, ["ende A-h1 1"], "config (architecture.h)"),
        ({"models": {"base": {"steps": 700}}}, [*ENDE, "enfr base 1"], "config (training.steps)"),
        ({"models": {"C-N2": {"average": 2}}}, ["ende C-N2 1"], "config (training.average)"),
        ({"scale": {"width": "1/8"}}, ALL, "architecture.d_model"),
        ({"corpora": {"libreoffice-help": {"cleaning": {"words": [1, 9]}}}}, [*ENDE, "enfr base 1"], "cleaning.words"),
        ({"corpora": {"generated-english": {"seed": 7}}}, PARSERS, "text of wsj (corpus.seed)"),
        ({"corpora": {"self-parsed-english": {"keep": 0.5}}}, ["semi parser 1"], "text of semi (corpus.keep)"),
        ({"models": {"parser": {"P_drop": 0.4}}}, PARSERS, "config (architecture.P_drop)"),
        ({"tasks": {"wsj": {"vocabulary": 700}}}, PARSERS, "vocabulary of wsj (vocabulary)"),
        ({"tasks": {"wsj": {"decoding": {"beam": 2}}}}, ["semi parser 1"], "decoding of wsj (beam)"),
    ],
    ids=str,
)
def test_finished_runs_that_a_config_would_replace_are_named_with_the_keys_that_differ(diff, overlay, runs, key):
    record(diff())
    found = lost(diff(**overlay))
    assert sorted(found) == sorted(runs)
    assert all(key in keys for keys in found.values())


@pytest.mark.parametrize(
    "overlay",
    [
        {},
        {"seeds": [1, 2]},
        {"only": ["ende"]},
        {"tasks": {"ende": {"models": ["base", "A-h1", "C-N2", "big"]}}},
        {"tasks": {"ende": {"models": ["base"]}}, "models": {"A-h1": {"h": 2}}},
        {"tasks": {"fren": {"corpus": "libreoffice-help", "source": "fr", "target": "en", "vocabulary": 300,
                            "models": ["base"]}}},
        {"tasks": {"ende": {"decoding": {"alpha": 1.0, "beam": 2}}}, "searches": None, "table3_average": 2},
        {"models": {"mine": {"h": 2}}, "notes": ["Mine."], "figures": {"task": "enfr"}},
        {"experiment": "other", "scale": {"width": "1/8"}},
        {"results": "elsewhere", "scale": {"width": "1/8"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_config_that_retrains_nothing_is_not_refused(diff, overlay):
    record(diff())
    assert lost(diff(**overlay)) == {}


CHANGED = {"models": {"base": {"steps": 700}}}


def test_packages_tell_of_a_text_and_a_vocabulary_whose_records_are_gone(diff):
    record(first := diff())
    shutil.rmtree(first.results / "corpora")  # which frees space
    shutil.rmtree(first.results / "subwords")  # which earlier versions did not write
    assert lost(diff()) == {}
    assert set(lost(diff(tasks={"ende": {"corpus": "multi30k"}})).values()) == {"text of ende (corpus)"}
    assert set(lost(diff(tasks={"ende": {"vocabulary": 500}})).values()) == {"vocabulary of ende (vocabulary)"}


def test_unfinished_runs_are_told_and_not_refused(diff):
    record(first := diff())
    shutil.rmtree(first.results / "runs/ende/A-h1")
    for path in first.results.glob("runs/*/*/*/training.json"):
        path.unlink()
    (first.results / "runs/ende/base/1/state").mkdir()
    assert "\n  ende base 1 (unfinished): config (training.steps)\n" in lost(diff(**CHANGED))


def test_a_text_or_a_vocabulary_is_not_replaced_under_runs_even_if_the_config_leaves_them_out(diff):
    record(diff())
    changed = diff(
        tasks={"ende": {"corpus": "multi30k", "vocabulary": 500, "models": ["big"]}}, models={"C-N2": {"N": 1}}
    )
    assert (
        sorted(lost(changed, ("text", "ende", ""))) == sorted(lost(changed, ("vocabulary", "ende", ""))) == sorted(ENDE)
    )
    assert not [keys for keys in changed.lost.values() if "config" in str(keys)]
    assert lost(changed, ("text", "enfr", ""), ("vocabulary", "enfr", ""), ("text", "wsj", "")) == {}


def test_an_allowed_or_dry_run_tells_the_same_once(diff):
    record(diff())
    for how in ({"allowed": True}, {"dry": True}):
        changed = diff(**CHANGED)
        assert "\n  ende A-h1 1, ende C-N2 1, ende base 1, enfr base 1: config (training.steps)" in lost(changed, **how)
        assert lost(changed, **how) == {}


def test_the_row_of_a_trial_is_a_run_too(diff):
    trial = {"models": {"tried": {"h": 2}}, "trial": {"row": "tried"}}
    record(diff(**trial))
    assert lost(diff(**trial)) == {}
    assert list(lost(diff(models={"tried": {"h": 4}}, trial={"row": "tried"}))) == ["ende tried 1"]
    assert lost(diff(models={"tried": {"idea": "ideas/placebo.py"}}, trial={"row": "tried"})) == {}


@pytest.mark.workflow
def test_snakemake_refuses_what_a_dry_run_only_tells_and_other_targets_never_ask(project):
    results, training = ("--config", "results=kept"), "kept/smoke/runs/ende/base/1/training.json"
    snakemake(project, training, *SMOKE, *results)
    (project / "changed.yaml").write_text("models: {base: {P_drop: 0.2}}")
    changed = (*SMOKE, "changed.yaml", *results)
    told = "  ende base 1: config (architecture.P_drop)\ngive what differs a name of its own"
    dry = snakemake(project, "--dry-run", *changed)
    assert (dry.stdout + dry.stderr).count(told) == 1
    assert told in snakemake(project, training, *changed, status=1).stderr
    assert (project / training).exists()
    record = "kept/smoke/corpora/ende/corpus.json"
    assert "P_drop" not in snakemake(project, record, *changed).stderr
    allowed = snakemake(project, training, *changed, "replace=true")
    assert "ende base 1: config (architecture.P_drop)\n" in allowed.stderr
    assert "P_drop: 0.2" in (project / training).with_name("config.yaml").read_text()
