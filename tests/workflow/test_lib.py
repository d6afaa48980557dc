"""What workflow/dag computes from an experiment: its runs, their inputs and the requests of their jobs."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from overlays import only, plans
from snakemake.iocontainers import Wildcards
from snakemake.resources import Resource

from transformer.support.files import InputError
from workflow.dag.checks import check_writable, checked, sources_of
from workflow.dag.inputs import Inputs
from workflow.dag.paths import Paths
from workflow.dag.resources import Demands
from workflow.experiment.cost import CORE, cost
from workflow.experiment.downloads import downloads_of


def test_rows_that_are_equal_are_one_run(select):
    found = select()
    runs = found.runs
    assert runs.equal["ende"]["C-N2"] == ["C-N2", "C-N4"]
    assert "C-N4" not in runs.trained["ende"]
    assert runs.dev_scores({"ende": ["C-N4", "C-N2"]}) == ["results/quick/runs/ende/C-N2/1/average-1/dev.scores.json"]
    read = (path for plan in plans(found).values() for path in plan.input.get("packages", ()))
    assert not [path for path in read if "C-N4" in path]
    assert [row for row in found.curves["Table 3 (C)"] if row[1] in ("C-N2", "C-N4")] == [
        ("ende", "C-N2"),
        ("ende", "C-N4"),
    ]


def test_a_row_that_equals_base_uses_its_run_and_is_not_compared_with_it(select):
    tasks = only(ende=["C-N8", "C-N2", "base"], wsj=["first", "parser"], semi=["parser"])
    models = {"first": {"N": 6, "d_model": 512, "d_ff": 2048, "h": 8, "steps": 700}}
    models["first"] |= {"learning_rate": 0.5, "longest_pair": 60}
    found = select(scale={"depth": "1/6"}, tasks=tasks, models=models, figures={"model": "C-N8"})
    assert found.runs.trained == {"ende": ["base"], "wsj": ["first"], "semi": ["parser"]}
    assert found.runs.comparisons(found.some("table3")) == []
    assert "/ende/base/1/" in found.runs.attention()
    assert "/wsj/first/1/" in found.runs.parses_of(found.experiment.corpus_of("semi"))


def test_held_out_text_is_dev_test_and_longer_pairs(select):
    def of(task="ende", **overlay):
        found = select(**overlay)
        inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
        return [Path(path).name for path in inputs.held_out(SimpleNamespace(task=task))["target"]]

    assert of() == ["dev.target", "test.target", "longer.target"]
    assert of(tasks={"ende": {"corpus": "multi30k"}}) == ["dev.target", "test.target", "longer.target"]
    assert of("wsj") == ["dev.target", "test.target"]


def test_longer_pairs_are_longer_than_any_model_of_the_task_learns_from(select, tmp_path):
    models = {"base": {"longest_pair": 30}, "E-t5": {"longest_pair": 40}, "big": {"longest_pair": 50}}
    overlay, ende = {"tasks": only(ende=["base", "E-t5"]), "models": models}, SimpleNamespace(task="ende")
    trained, given = (select(**overlay), select(**overlay, packages=str(tmp_path)))
    inputs, of_packages = (
        Inputs(each.experiment, each.runs, downloads_of(each.experiment)) for each in (trained, given)
    )
    assert inputs.longest_pair(ende) == of_packages.longest_pair(ende) == 40
    assert inputs.vocabulary(ende) == "results/quick/subwords/ende.model"  # without waiting for a training
    assert of_packages.vocabulary(ende) == f"{tmp_path}/ende/base/1/average-1/package/subwords.model"


def test_the_row_with_the_fewest_positions_limits_the_parts_that_it_decodes(select):
    learned = {"positions": "learned", "longest_pair": 20}
    models = {"E-learned": {"max_length": 50, "longest_pair": 20}, "short": {"max_length": 30, **learned}}
    rows = only(ende=["base", "E-learned", "short"], wsj=["parser"], semi=["parser"])

    def limits(task="ende", **overlay):
        return select(**{"tasks": rows, "models": models} | overlay).limits(SimpleNamespace(task=task))

    assert limits() == "dev=short:30"
    assert limits("wsj") == limits(tasks=only(ende=["base"])) == ""
    assert limits(tasks=only(ende=["base", "E-learned"])) == "dev=E-learned:50"
    models["parser"] = {"max_length": 90, **learned}
    assert limits("wsj") == "test=parser:90"


def test_paths_are_those_of_the_results_and_of_given_packages(select, tmp_path):
    assert select(results="results/").runs.paths == select(results="./results").runs.paths == select().runs.paths
    paths = Paths.of(select(packages=str(tmp_path)).experiment)
    assert paths.package[0] == f"{tmp_path}/{{task}}/{{model}}/{{seed}}/average-{{average}}/package/config.json"
    assert paths.run.startswith("results/quick/runs/")


def test_runs_that_a_corpus_waits_for_start_first_and_then_the_costliest(select):
    runs = select(seeds=[1, 2]).runs
    places = {
        (task, model, seed): runs.priority(SimpleNamespace(task=task, model=model, seed=str(seed)))
        for task, models in runs.trained.items()
        for model in models
        for seed in (1, 2)
    }
    assert places["wsj", "parser", 1] == places["wsj", "parser", 2] == max(places.values())
    assert places["ende", "big", 1] > places["ende", "base", 1] > places["ende", "C-N2", 1] > places["ende", "big", 2]
    unlisted = runs.priority(SimpleNamespace(task="ende", model="C-N4", seed="1"))
    assert places["ende", "C-N2", 1] > unlisted > places["ende", "big", 2]
    assert max(places.values()) < 0  # below the jobs that use a finished run


def test_a_shard_requests_more_time_than_a_smaller_part(select):
    found = select(tasks={"wsj": {"decoding": {"beam": 84}}}, scale={"width": 1, "depth": 1})
    demands = Demands(found.experiment, found.runs, {"translate": {"gpu": 1}})
    run = {"task": "wsj", "model": "parser", "seed": "1"}
    part, shard = (SimpleNamespace(**run, part=part) for part in ("dev", "plain-1-of-3"))
    assert 60 < demands.translating_minutes(part) < demands.translating_minutes(shard) < 120


def test_without_a_gpu_jobs_request_the_hours_of_their_cpu_cores(select):
    found = select(scale={"width": 1, "depth": 1})
    training = SimpleNamespace(task="ende", model="base", seed="1", part="dev")
    asked = {}
    for gpu in (0, 1, Resource("gpu", 0), Resource("gpu", 2), Resource("gpu", eval, raw="2 * attempt")):
        demands = Demands(found.experiment, found.runs, {"train": {"gpu": gpu}, "translate": {"gpu": gpu}})
        minutes = [demands.training_minutes(training, threads) for threads in (1, 4)]
        asked.setdefault(str(getattr(gpu, "raw", gpu)), []).append((*minutes, demands.translating_minutes(training)))
    unset = Demands(found.experiment, found.runs, {}).training_minutes(training, 1)
    run, vocabulary = found.experiment.run("ende", "base", 1), found.experiment.tasks["ende"].vocabulary
    hours = cost(run, vocabulary, 1, [CORE]).hours[0]
    [cpu, of_snakemake], [gpu], [several], [computed] = asked.values()
    assert cpu == of_snakemake
    assert gpu == several == computed
    assert cpu[:2] == (pytest.approx(30 + 90 * hours, abs=1), pytest.approx(30 + 90 * hours / 4, abs=1))
    assert cpu[0] == unset > 3 * gpu[0]
    assert gpu[0] == gpu[1]
    assert cpu[2] > gpu[2]


def check(*words, overlays=()):
    """The experiment of a call with `--config WORDS`."""
    sources, _ = sources_of(overlays, words)
    return checked(sources, {})[0]


def test_faults_of_a_call_are_reported_before_anything_runs(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"^--config: mirror: nowhere: no such folder; correct it$"):
        check("mirror=nowhere")
    monkeypatch.setenv("TRANSFORMER_MIRROR", "nowhere")
    with pytest.raises(InputError, match=r"^nowhere: no such folder; correct .*, or TRANSFORMER_MIRROR$"):
        check()
    check(f"mirror={tmp_path}")  # it is used instead


def test_a_folder_of_results_that_cannot_be_written_is_refused_with_a_remedy(tmp_path):
    check_writable(tmp_path / "new/results")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^results: .*/file is not a folder that you may write to; name another"):
        check_writable(tmp_path / "file/quick")
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    with pytest.raises(InputError, match=r"^results: .*/link is not a folder that you may write to"):
        check_writable(tmp_path / "link/quick")


def test_a_package_averages_the_last_checkpoints(select):
    models = {"base": {"steps": 100, "checkpoint_every": 10, "average": 5}}
    runs = select(tasks=only(ende=["base"]), models=models).runs
    run = Wildcards(fromdict={"task": "ende", "model": "base", "seed": "1", "average": "2"})
    folder = "results/quick/runs/ende/base/1/checkpoints"
    assert runs.last_checkpoints(run) == [f"{folder}/step-{step}.safetensors" for step in (100, 90)]
