"""What workflow/lib computes from an experiment: its runs, its tables and the requests of its jobs."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from jinja2 import Environment, StrictUndefined
from snakemake.iocontainers import Wildcards

from transformer.experiment.config import read_experiment, read_sources
from transformer.experiment.downloads import downloads_of
from transformer.support.files import InputError
from transformer.support.strict import merge
from workflow.lib.experiment import check_filled_in, check_writable, checked, missing_treebanks
from workflow.lib.inputs import Inputs
from workflow.lib.paths import Paths
from workflow.lib.resources import Demands, growing
from workflow.lib.runs import Runs
from workflow.lib.tables import BASE, Tables
from workflow.lib.titles import FIGURES, TABLES

ROOT = Path(__file__).parents[2]
NUMBERS = ROOT / "config/published.yaml"


@pytest.fixture
def tables(tmp_path):
    """The tables of the experiment `quick` with an overlay."""

    def make(**overlay):
        path = tmp_path / "overlay.yaml"
        path.write_text(yaml.safe_dump(overlay))
        experiment = read_experiment([path])
        return Tables(experiment, Runs(experiment, Paths.of(experiment)), NUMBERS)

    return make


def only(**models):
    """The tasks of `quick` with these models only."""
    return {task: {"models": models.get(task, [])} for task in ("ende", "enfr", "wsj", "semi")}


def test_curves_are_grouped_by_the_papers_tables(tables):
    found = tables(tasks=only(ende=["base", "A-h1"], enfr=["base", "big-enfr"], wsj=["parser"]))
    assert found.curves == {
        "Table 3 (A)": [BASE, ("ende", "A-h1")],
        "Table 2": [BASE, ("enfr", "base"), ("enfr", "big-enfr")],
        "Table 4": [("wsj", "parser")],
    }


def test_every_row_of_the_paper_has_a_curve_and_every_run_has_a_score(tables):
    found = tables()
    rows = {(task, model) for task, models in found.runs.rows.items() for model in models}
    assert {run for group in found.curves.values() for run in group} == rows
    assert len(found.all_scores) == sum(len(models) for models in found.runs.trained.values())
    assert found.own == {}


def test_rows_that_are_equal_are_one_run(tables):
    found = tables()
    runs = found.runs
    assert runs.equal["ende"]["C-N2"] == ["C-N2", "C-N4"]
    assert "C-N4" not in runs.trained["ende"]
    assert runs.dev_scores({"ende": ["C-N4", "C-N2"]}) == ["results/quick/runs/ende/C-N2/1/average-1/dev.scores.json"]
    assert not [path for table in found.all for path in map(str, table.input.get("packages", ())) if "C-N4" in path]
    assert [row for row in found.curves["Table 3 (C)"] if row[1] in ("C-N2", "C-N4")] == [
        ("ende", "C-N2"),
        ("ende", "C-N4"),
    ]
    assert (
        runs.priority(SimpleNamespace(task="ende", model="C-N4", seed="1")) < 0
    )  # a user may request the file of an equal row


def test_a_row_that_equals_base_uses_its_run_and_is_not_compared_with_it(tables):
    tasks = only(ende=["C-N8", "C-N2", "base"], wsj=["first", "parser"], semi=["parser"])
    models = {"first": {"N": 6, "d_model": 512, "d_ff": 2048, "h": 8, "steps": 700}}
    models["first"] |= {"learning_rate": 0.5, "longest_pair": 60}
    found = tables(scale={"depth": "1/6"}, tasks=tasks, models=models, figures={"model": "C-N8"})
    assert found.runs.trained == {"ende": ["base"], "wsj": ["first"], "semi": ["parser"]}
    assert found.runs.comparisons(found.some("table3")) == []
    assert "/ende/base/1/" in found.runs.attention()
    assert "/wsj/first/1/" in found.runs.parses_of(found.experiment.corpus_of("semi"))


def test_a_table_without_tasks_is_not_made(tables):
    def made(**models):
        [(task, [first, *_])] = models.items()
        found = tables(tasks=only(**models), figures={"task": task, "model": first})
        return [table.name for table in found.all], found.drawn, found.in_full

    assert made(ende=["base"]) == (
        ["table3", "table2", "decoding", "corpora", "runs"],
        ["training_curves", "decoding"],
        [],
    )
    assert made(enfr=["base", "big-enfr"]) == (
        ["claims", "table2", "decoding", "corpora", "runs"],
        ["claims", "training_curves", "decoding"],
        ["enfr"],
    )
    assert made(wsj=["parser"]) == (["table4", "corpora", "runs"], ["training_curves"], ["wsj"])
    assert made(ende=["base", "aop1"]) == (
        ["claims", "table1", "table3", "appendix", "table2", "scaling", "decoding", "corpora", "runs"],
        ["claims", "training_curves", "table1", "dot_products", "table3", "decoding"],
        ["ende"],
    )


def test_claims_are_judged_by_the_scores_that_tables_show(tables):
    found = tables(seeds=[1, 2])
    assert set(found.claims.scores) <= set(found.scored)
    claims = {claim["name"]: claim for claim in found.claims.all}
    layers = [f"results/quick/runs/ende/{model}/{{}}/average-1/dev.scores.json" for model in ("C-N2", "base", "C-N8")]
    seeds = [[path.format(seed) for seed in (1, 2)] for path in layers]
    assert claims["layers"]["scores"] == seeds  # C-N4 is C-N2 at this scale, and counts once
    assert [Path(path).parent.name for path in claims["big-en-de"]["scores"][1]] == ["average-20"] * 2
    assert claims["scaling"]["scores"] == [[]]  # neither row is run
    assert not claims["scaling"]["judged"]


def test_claims_about_decoding_are_judged_by_the_searches_of_the_run_of_figures(tables):
    claims = {claim["name"]: claim for claim in tables().claims.all}
    base = "results/quick/runs/ende/base/1"
    assert claims["averaging"]["scores"] == [
        [f"{base}/average-1/dev.scores.json"],
        [f"{base}/average-5/dev.scores.json"],
    ]
    assert claims["beam"]["scores"][0] == [f"{base}/average-5/beam-1/dev.scores.json"]
    assert tables().claims.lengths == [
        f"results/quick/runs/ende/{model}/1/average-1/lengths.csv" for model in ("E-learned", "base")
    ]
    without = tables(searches=None)
    assert {claim["name"]: claim for claim in without.claims.all}["beam"]["scores"][0] == []


def test_a_claim_may_name_the_tasks_own_decoding(tables):
    mine = {"claim": "alpha 0 is better", "section": "own", "metric": "bleu", "part": "dev"}
    mine["rows"] = ["ende/base/beam-4.alpha-0.6", "ende/base/beam-4.alpha-0"]
    [claim] = [claim for claim in tables(claims={"mine": mine}).claims.all if claim["name"] == "mine"]
    folder = "results/quick/runs/ende/base/1/average-5"
    assert claim["scores"] == [[f"{folder}/dev.scores.json"], [f"{folder}/beam-4.alpha-0/dev.scores.json"]]


def test_a_claim_between_equal_rows_is_not_judged(tables):
    mine = {"claim": "more layers", "section": "own", "metric": "bleu", "part": "dev"}
    mine["rows"] = ["ende/C-N2", "ende/C-N4"]
    found = tables(tasks=only(ende=["C-N2", "C-N4", "base"]), claims={"mine": mine})
    [claim] = [claim for claim in found.claims.all if claim["name"] == "mine"]
    assert not claim["judged"]


def test_one_model_alone_has_a_table_of_claims_only_if_the_user_claims_something(tables):
    mine = {"claim": "alpha 0 is better", "section": "own", "metric": "bleu", "part": "dev"}
    mine["rows"] = ["ende/base", "ende/base/beam-4.alpha-0"]
    assert not tables(tasks=only(ende=["base"])).claims.scores
    assert tables(tasks=only(ende=["base"]), claims={"mine": mine}).claims.scores


def test_the_table_positions_exists_if_a_row_that_table_3_lacks_is_run(tables):
    found = tables(tasks=only(ende=["base", "E-learned", "E-t5"]), models={"base": {"longest_pair": 30}})
    by_name = {table.name: table for table in found.all}
    assert found.curves["Positions"] == [BASE, ("ende", "E-learned"), ("ende", "E-t5")]
    assert found.drawn == ["claims", "training_curves", "table1", "dot_products", "table3", "positions", "decoding"]
    assert found.own == {}
    folders = [f"results/quick/runs/ende/{model}/1/average-1" for model in ("base", "E-learned", "E-t5")]
    assert by_name["positions"].input["scores"] == [f"{folder}/dev.scores.json" for folder in folders]
    assert by_name["positions"].input["lengths"] == [f"{folder}/lengths.csv" for folder in folders]
    assert found.lengths == [8, 15, 23, 30, 38, 45, 53, 60, 75, 90, 120, 150]
    assert "positions" not in [table.name for table in tables(tasks=only(ende=["base", "E-learned"])).all]


def test_decoding_is_compared_on_dev_for_the_run_of_the_figures(tables):
    searches = {"beams": [1, 4], "alphas": [0, 0.6]}
    found = tables(seeds=[1, 2], tasks=only(ende=["C-N4", "C-N2"]), figures={"model": "C-N4"}, searches=searches)
    folder = "results/quick/runs/ende/C-N4"
    assert found.decoding == {
        "scores": [f"{folder}/{seed}/average-5/dev.scores.json" for seed in (1, 2)],
        "others": [
            f"{folder}/{seed}/{name}/dev.scores.json"
            for name in ("average-5/beam-1", "average-5/beam-4.alpha-0", "average-1")
            for seed in (1, 2)
        ],
    }
    [table] = [table for table in found.all if table.name == "decoding"]
    assert table.params["equal"] == {"ende": {"C-N4": ["C-N4"]}}
    packages = found.runs.packages_behind(found.decoding["others"])
    assert packages == [f"{folder}/{seed}/average-{n}/package/config.json" for n in (5, 1) for seed in (1, 2)]
    inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
    options = [inputs.search(SimpleNamespace(search=folder)) for folder in ("", *found.runs.searches)]
    assert options == ["", "--beam 1 --alpha 0.6", "--beam 4 --alpha 0.0"]


def test_a_task_without_averaging_decodes_its_last_checkpoint(tables):
    found = tables(tasks=only(ende=["base"]), models={"base": {"average": 1}}, searches={"beams": [4], "alphas": [0.6]})
    assert found.decoding == {"scores": ["results/quick/runs/ende/base/1/average-1/dev.scores.json"], "others": []}


@pytest.mark.parametrize(
    "overlay",
    [{"searches": None}, {"tasks": only(wsj=["parser"]), "figures": {"task": "wsj", "model": "parser"}}],
    ids=["null", "parsing"],
)
def test_the_table_decoding_does_not_exist_without_searches_or_for_a_parser(tables, overlay):
    found = tables(**overlay)
    assert "decoding" not in [*found.drawn, *(table.name for table in found.all)]
    assert found.runs.searches == {}


def test_held_out_text_is_dev_test_and_longer_pairs(tables):
    def of(task="ende", **overlay):
        found = tables(**overlay)
        inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
        return [Path(path).name for path in inputs.held_out(SimpleNamespace(task=task))["target"]]

    assert of() == ["dev.target", "test.target", "longer.target"]
    assert of(tasks={"ende": {"corpus": "multi30k"}}) == ["dev.target", "test.target", "longer.target"]
    assert of("wsj") == ["dev.target", "test.target"]
    assert "longer sentences from the pages of dev and test" in tables().held_out
    assert "pairs of train that are too long for training" in tables(tasks={"ende": {"corpus": "multi30k"}}).held_out


def test_longer_pairs_are_longer_than_any_model_of_the_task_learns_from(tables, tmp_path):
    models = {"base": {"longest_pair": 30}, "E-t5": {"longest_pair": 40}, "big": {"longest_pair": 50}}
    overlay, ende = {"tasks": only(ende=["base", "E-t5"]), "models": models}, SimpleNamespace(task="ende")
    trained, given = (tables(**overlay), tables(**overlay, packages=str(tmp_path)))
    inputs, of_packages = (
        Inputs(each.experiment, each.runs, downloads_of(each.experiment)) for each in (trained, given)
    )
    assert inputs.longest_pair(ende) == of_packages.longest_pair(ende) == 40
    assert inputs.vocabulary(ende) == "results/quick/subwords/ende.model"  # without waiting for a training
    assert of_packages.vocabulary(ende) == f"{tmp_path}/ende/base/1/average-1/package/subwords.model"


def test_the_table_of_published_marks_exists_if_their_text_and_model_are_run(tables):
    tasks = {task: {"corpus": "multi30k-tokenised", "models": ["base"]} for task in ("ende", "enfr")}
    assert tables(tasks=only(ende=["base"])).marks == []
    found = tables(tasks=tasks, seeds=[1, 2])
    sets = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    assert [(row["task"], row["test"]) for row in found.marks] == [(task, test) for task in tasks for test in sets]
    [marks] = [table for table in found.all if table.name == "marks"]
    assert marks.input["translations"][2:4] == [
        f"results/quick/runs/ende/base/{seed}/average-5/test_2017_flickr.translation" for seed in (1, 2)
    ]
    assert marks.input["references"][0] == "results/quick/corpora/ende/test.target"
    assert found.runs.further_tests(*tasks) == ["test_2017_flickr", "test_2017_mscoco"]


def test_a_user_s_own_model_with_a_published_mark_keeps_its_row(tables, tmp_path, monkeypatch):
    numbers = yaml.safe_load(NUMBERS.read_text())
    numbers["marks"][1:] = []
    numbers["marks"][0] |= {"corpus": "libreoffice-help", "model": "mine"}
    (tmp_path / "published.yaml").write_text(yaml.safe_dump(numbers))
    monkeypatch.setattr(sys.modules[__name__], "NUMBERS", tmp_path / "published.yaml")
    found = tables(tasks=only(ende=["base", "mine"]), models={"mine": {"d_ff": 1024}})
    assert [row["model"] for row in found.marks] == ["mine"]
    assert [row["model"] for row in found.own_rows("table3")] == ["mine"]
    assert "results/quick/runs/ende/mine/1/average-5/test.scores.json" in found.scored


def test_a_user_s_own_model_is_a_row_of_its_task_s_table(tables):
    overlay = {"models": {"mine": {"d_ff": 1024, "warmup": 7}}}
    overlay["tasks"] = only(ende=["base", "mine"], enfr=["base", "mine"], wsj=["parser", "mine"])
    found = tables(**overlay)
    assert found.own_rows("table3") == [{"group": "own", "model": "mine", "changes": {"d_ff": 1024, "warmup": 7}}]
    assert found.own_rows("table2") == [{"name": "mine", "model": {"enfr": "mine"}, "bleu": {}}]
    assert found.own_rows("table4") == [{"name": "mine", "model": "mine", "task": "wsj", "training": "own"}]
    assert found.curves["Your own models"] == [BASE, ("ende", "mine")]
    by_name = {table.name: table for table in found.all}
    for name, score in (
        ("table3", "ende/mine/1/average-1/dev.scores.json"),
        ("table2", "enfr/mine/1/average-5/test.scores.json"),
        ("table4", "wsj/mine/1/average-5/test.scores.json"),
    ):
        assert f"results/quick/runs/{score}" in by_name[name].input["scores"]
    assert "results/quick/runs/ende/mine/1/average-1/dev.comparison.json" in by_name["table3"].input["comparisons"]


def test_a_model_of_the_paper_in_another_table_s_task_is_a_row_there(tables):
    found = tables(tasks=only(ende=["base", "big-enfr"]))
    assert [row["model"] for row in found.own_rows("table3")] == ["big-enfr"]


def test_every_table_has_a_script_a_caption_and_a_rule_of_its_name(tables):
    for table in tables().all:
        assert (ROOT / f"workflow/scripts/{table.name}.py").is_file()
        assert (ROOT / f"workflow/report/{table.name}.rst").is_file()


def test_the_start_page_of_the_report_names_every_table_and_figure():
    page = " ".join((ROOT / "workflow/report/workflow.rst").read_text().split())
    titles = {entry.title for entry in (*TABLES.values(), *FIGURES.values())}
    assert [title for title in titles if f"*{title}*" not in page] == []


def test_notes_name_models_that_are_equal_at_a_scale(tables):
    one = "At this scale C-N2 and C-N4 are the same model, trained once."
    small = tables(scale={"depth": "1/3"})
    assert {table.name for table in small.all if one in table.params.get("notes", ())} == {"table3", "claims"}
    whole = tables(scale={"depth": 1})
    assert not any("same model" in note for table in whole.all for note in table.params.get("notes", ()))


def test_rows_of_section_3_2_1_have_their_own_table_and_curves(tables):
    assert "Section 3.2.1" not in tables().curves  # quick runs only those of Table 3
    found = tables(tasks=only(ende=["base", "additive-dk64"]))
    assert found.curves["Section 3.2.1"] == [BASE, ("ende", "additive-dk64")]
    assert found.own == {}
    [scaling] = [table for table in found.all if table.name == "scaling"]
    assert scaling.input["scores"] == [
        f"results/quick/runs/ende/{model}/1/average-1/dev.scores.json" for model in ("base", "additive-dk64")
    ]


def test_a_single_row_of_section_3_2_1_is_in_its_table(tables):
    found = tables(tasks=only(ende=["unscaled-dk64"]), figures={"model": "unscaled-dk64"})
    assert "scaling" in [table.name for table in found.all]


def test_a_slash_at_the_end_of_results_changes_nothing(tables):
    assert tables(results="results/").runs.paths == tables(results="./results").runs.paths == tables().runs.paths


def test_scores_of_claims_are_among_those_that_readmes_have(tables):
    mine = {"claim": "c", "section": "own", "metric": "bleu", "part": "test", "rows": ["ende/A-h1", "ende/base"]}
    found = tables(claims={"mine": mine})
    assert "results/quick/runs/ende/A-h1/1/average-5/test.scores.json" in found.scored
    assert set(found.claims.scores) <= set(found.scored)


def test_a_known_row_that_the_task_does_not_list_comes_after_the_others(tables):
    runs = tables(tasks=only(ende=["base", "C-N2"])).runs
    places = [runs.priority(SimpleNamespace(task="ende", model=model, seed="1")) for model in ("C-N2", "A-h1")]
    assert places[0] > places[1] > runs.priority(SimpleNamespace(task="ende", model="base", seed="2"))


def test_the_packages_behind_files_are_found(tables):
    runs = tables().runs
    files = runs.dev_scores({"ende": ["base", "big", "none such"]})
    assert runs.packages_behind([*files, files[0]], "README.md") == [
        f"results/quick/runs/ende/{model}/1/average-1/package/README.md" for model in ("base", "big")
    ]


def test_given_packages_replace_those_of_the_runs(tables, tmp_path):
    paths = Paths.of(tables(packages=str(tmp_path)).experiment)
    assert paths.package[0] == f"{tmp_path}/{{task}}/{{model}}/{{seed}}/average-{{average}}/package/config.json"
    assert paths.run.startswith("results/quick/runs/")


def test_runs_that_a_corpus_waits_for_start_first_and_then_the_costliest(tables):
    runs = tables(seeds=[1, 2]).runs
    places = {
        (task, model, seed): runs.priority(SimpleNamespace(task=task, model=model, seed=str(seed)))
        for task, models in runs.trained.items()
        for model in models
        for seed in (1, 2)
    }
    assert places["wsj", "parser", 1] == places["wsj", "parser", 2] == max(places.values())
    assert places["ende", "big", 1] > places["ende", "base", 1] > places["ende", "C-N2", 1] > places["ende", "big", 2]
    assert max(places.values()) < 0  # below the jobs that use a finished run


def test_a_task_reads_the_files_of_its_corpus(tables):
    found = tables()
    inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
    assert inputs.tasks_of(type(found.experiment.corpus_of("ende"))) == ["ende", "enfr"]
    assert inputs.pages(SimpleNamespace(task="enfr")) == "results/quick/corpora/origin/libreoffice-help.tsv"
    assert inputs.gold(SimpleNamespace(task="semi"))["gold_record"] == "results/quick/corpora/wsj/corpus.json"
    parses = inputs.parses(SimpleNamespace(task="semi"))
    assert parses["log_probabilities"] == parses["parses"].replace(".translation", ".logp")
    assert inputs.reference(SimpleNamespace(task="wsj", part="dev")) == "results/quick/corpora/wsj/dev.trees"
    assert inputs.reference(SimpleNamespace(task="ende", part="dev")) == "results/quick/corpora/ende/dev.target"


def test_plain_sentences_are_parsed_in_shards_which_are_gathered_in_order(tables):
    found = tables(corpora={"generated-english": {"sentences": {"plain": 20_001}}})
    inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
    run = {"task": "wsj", "model": "parser", "seed": "1", "average": "5"}
    shards = found.runs.plain_shards("wsj")
    assert shards == ["plain-1-of-3", "plain-2-of-3", "plain-3-of-3"]
    folder = "results/quick/runs/wsj/parser/1/average-5"
    assert inputs.shards(Wildcards(fromdict=run)) == {
        "translations": [f"{folder}/{shard}.translation" for shard in shards],
        "log_probabilities": [f"{folder}/{shard}.logp" for shard in shards],
    }
    parts = [SimpleNamespace(**run, part=part) for part in ("dev", "test_2017", *shards)]
    assert [inputs.chunk(part) for part in parts] == ["1/1", "1/1", "1/3", "2/3", "3/3"]
    assert {inputs.source(part) for part in parts[2:]} == {"results/quick/corpora/wsj/plain.source"}
    assert [inputs.source(part) for part in parts[:2]] == [
        f"results/quick/corpora/wsj/{part}.source" for part in ("dev", "test_2017")
    ]


def test_jobs_request_more_for_larger_texts_and_later_attempts(tables):
    found = tables()
    demands = Demands(found.experiment, found.runs)
    ende, semi = SimpleNamespace(task="ende", part="dev"), SimpleNamespace(task="semi", part="plain")
    assert demands.pairs(ende) == 1_000_000  # unknown, so assumed
    assert demands.pairs(semi) == 2 * 2500 + 0.6 * 6000
    assert demands.reading_minutes(ende) > demands.reading_minutes(semi)
    assert [growing(demands.reading_megabytes)(semi, attempt) for attempt in (1, 2, 9)] == [2001, 4002, 6003]
    assert growing(10)(semi, 2) == 20


def test_only_large_texts_ask_for_several_threads(tables):
    for corpus, learning, encoding in (("libreoffice-help", 1, 1), ("wmt14-en-de", 2, 3)):
        found = tables(tasks={"ende": {"corpus": corpus}})
        demands = Demands(found.experiment, found.runs)
        train, dev = (SimpleNamespace(task="ende", part=part) for part in ("train", "dev"))
        assert demands.learning_threads(train) == learning
        assert (demands.encoding_threads(train), demands.encoding_threads(dev)) == (encoding, 1)


def test_a_shard_requests_more_time_than_a_smaller_part(tables):
    found = tables(tasks={"wsj": {"decoding": {"beam": 84}}}, scale={"width": 1, "depth": 1})
    demands = Demands(found.experiment, found.runs)
    run = {"task": "wsj", "model": "parser", "seed": "1"}
    part, shard = (SimpleNamespace(**run, part=part) for part in ("dev", "plain-1-of-3"))
    assert 60 < demands.translating_minutes(part) < demands.translating_minutes(shard) < 120


def test_faults_of_a_call_are_reported_before_anything_runs(tmp_path):
    values: dict = {}
    for source in read_sources([]).values():
        merge(values, source)
    with pytest.raises(InputError, match="mirror: nowhere: no such folder; correct mirror"):
        checked(values | {"mirror": "nowhere"}, [], {})
    with pytest.raises(InputError, match=r"^--config: seeds: 1 is not a list; write \[1\]$"):
        checked(values | {"seeds": 1}, [], {"seeds": 1})
    (tmp_path / "twice.yaml").write_text("seeds: [1]\nseeds: [2]\n")
    with pytest.raises(InputError, match="seeds comes twice"):
        checked(values, [tmp_path / "twice.yaml"], {})
    empty, filled = ({"slurm_account": SimpleNamespace(raw=raw), "gpu": 0} for raw in ("'FILL_IN'", "mine"))
    for some in ((empty,), (filled, empty)):
        with pytest.raises(InputError, match="account or partition is not filled in; copy profiles/slurm to my-slurm"):
            check_filled_in(*some)
    check_filled_in(filled, filled)


def test_an_overlay_of_one_task_changes_only_this_task(tmp_path):
    """In config.yaml the tasks share their decoding by a YAML alias. Snakemake merges overlays into a copy of it."""
    path = tmp_path / "overlay.yaml"
    path.write_text("tasks: {ende: {decoding: {alpha: 1.0}}}")
    values: dict = {}
    for source in read_sources([path]).values():
        merge(values, source)
    for experiment in (read_experiment([path]), checked(values, [path], {})):
        shown = {task: settings.decoding.alpha for task, settings in experiment.tasks.items()}
        assert shown == {"ende": 1.0, "enfr": 0.6, "wsj": 0.3, "semi": 0.3}
        assert experiment.tasks["ende"].decoding.beam == 4


def test_a_folder_of_results_that_cannot_be_written_is_refused_with_a_remedy(tmp_path, monkeypatch):
    check_writable(tmp_path / "new/results")
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"^results: .*/file is not a folder that you may write to; name another"):
        check_writable(tmp_path / "file/quick")
    (tmp_path / "link").symlink_to(tmp_path / "unmounted")
    with pytest.raises(InputError, match=r"^results: .*/link is not a folder that you may write to"):
        check_writable(tmp_path / "link/quick")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write to every folder
    with pytest.raises(InputError, match=f"^results: {tmp_path} is not a folder that you may write to"):
        check_writable(tmp_path / "results")


def test_a_missing_treebank_gives_a_warning_that_names_it(tables):
    overlay = {"tasks": only(ende=["base"], wsj=["parser"])}
    overlay["tasks"]["wsj"]["corpus"] = "penn-treebank"
    [warning] = missing_treebanks(tables(**overlay).experiment)
    assert warning.startswith("corpora.penn-treebank.trees: treebank_3/parsed/mrg/wsj: no such folder")
    assert missing_treebanks(tables().experiment) == []


def test_every_table_and_figure_has_a_title_and_claims_come_first(tables):
    found = tables()
    names = {table.name for table in found.all}
    assert names == set(TABLES) - {"length", "marks"}
    assert set(found.drawn) | {"trees", "length", "figure3", "figure4", "figure5", "attention"} == set(FIGURES)
    assert min(TABLES.values()) == TABLES["claims"]
    assert min(FIGURES.values()) == FIGURES["claims"]


def test_notes_tell_the_sizes_and_the_dropout_of_the_models_that_a_table_shows(tables):
    found = tables()
    notes = {table.name: table.params["notes"] for table in found.all if "notes" in table.params}
    base = "Our base has N 2, d_model 128, d_ff 512, h 8, d_k 16, d_v 16, P_drop 0.1, eps_ls 0.1. The config's widths"
    big = "Our big has P_drop 0.1; the paper's has P_drop 0.3."
    assert [name for name in notes if any(note.startswith(base) for note in notes[name])] == [
        *("claims", "table3", "positions", "appendix", "table2", "scaling", "decoding")
    ]
    assert [name for name in notes if big in notes[name]] == ["claims", "table3", "table2"]
    [parser] = [note for note in notes["table4"] if note.startswith("Our ")][1:]
    assert parser.startswith("Our parser has N 2, d_model 128")
    whole = tables(tasks=only(ende=["base", "big"]), scale={"width": 1, "depth": 1}, models={"big": {"P_drop": 0.3}})
    for table in whole.all:
        assert not [note for note in table.params.get("notes", ()) if note.startswith(("Our base", "Our big"))]


def test_the_caption_of_a_table_names_the_languages_of_the_text(tables):
    ende = tables().experiment.tasks["ende"]
    title = "Table 3: variations on the architecture"
    assert TABLES["table3"].caption(ende) == f"{title} (English-German, development set)"
    assert TABLES["table3"].caption(replace(ende, source="nl", target="en")) == f"{title} (nl-English, development set)"
    assert TABLES["table1"].caption(ende) == "Table 1: complexity of layers"


def test_a_package_averages_the_last_checkpoints(tables):
    models = {"base": {"steps": 100, "checkpoint_every": 10, "average": 5}}
    runs = tables(tasks=only(ende=["base"]), models=models).runs
    run = Wildcards(fromdict={"task": "ende", "model": "base", "seed": "1", "average": "2"})
    folder = "results/quick/runs/ende/base/1/checkpoints"
    assert runs.last_checkpoints(run) == [f"{folder}/step-{step}.safetensors" for step in (100, 90)]


def test_the_captions_of_tables_name_only_what_their_rules_have(tables):
    for table in tables().all:
        caption = (ROOT / f"workflow/report/{table.name}.rst").read_text()
        snakemake = SimpleNamespace(input=SimpleNamespace(**table.input), params=SimpleNamespace(**table.params))
        Environment(undefined=StrictUndefined).from_string(caption).render(snakemake=snakemake)
