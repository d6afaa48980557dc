"""Which runs each result shows, and what it reads."""

from types import SimpleNamespace

import pytest
from overlays import only, plans

from workflow.dag.inputs import Inputs
from workflow.experiment.downloads import downloads_of
from workflow.results import load
from workflow.results.claims.plan import planned
from workflow.results.common.against_base import BASE
from workflow.results.common.result import EVERY
from workflow.results.tables import decoding
from workflow.results.tables.marks import marks
from workflow.results.tables.table4 import trees


def claims_of(selection):
    """The claims of an experiment, by name."""
    return {each.name: each for each in planned(selection.experiment.claims, selection.runs)}


def scores_of(selection):
    """The scores that its table of claims reads."""
    return plans(selection)["write_claims"].input["scores"]


def test_curves_are_grouped_by_the_papers_select(select):
    found = select(tasks=only(ende=["base", "A-h1"], enfr=["base", "big-enfr"], wsj=["parser"]))
    assert found.curves == {
        "Table 3 (A)": [BASE, ("ende", "A-h1")],
        "Table 2": [BASE, ("enfr", "base"), ("enfr", "big-enfr")],
        "Table 4": [("wsj", "parser")],
    }


def test_every_row_of_the_paper_has_a_curve_and_every_run_has_a_score(select):
    found = select()
    rows = {(task, model) for task, models in found.runs.rows.items() for model in models}
    assert {run for group in found.curves.values() for run in group} == rows
    assert len(found.all_scores) == sum(len(models) for models in found.runs.trained.values())
    assert found.own == {}


def test_a_table_without_tasks_is_not_made(select):
    always = {"write_corpora", "write_runs", "draw_attention", "write_explore", "draw_training_curves"}
    always |= {"write_length", "draw_length"}
    decoding, claims = {"write_decoding", "draw_decoding"}, {"write_claims", "draw_claims"}
    compared = {"write_table1", "draw_table1", "draw_table3", "draw_dot_products", "write_scaling"}
    depends = decoding | claims | compared | {"draw_trees", "write_positions", "draw_positions", "write_marks"}
    depends |= {f"write_{name}" for name in ("table2", "table3", "table4", "appendix")}

    def made(**models):
        [(task, [first, *_])] = models.items()
        found = select(tasks=only(**models), figures={"task": task, "model": first})
        assert always <= plans(found).keys()
        return plans(found).keys() & depends, found.in_full

    assert made(ende=["base"]) == ({"write_table3", "write_table2", *decoding}, [])
    assert made(enfr=["base", "big-enfr"]) == ({"write_table2", *claims, *decoding}, ["enfr"])
    assert made(wsj=["parser"]) == ({"write_table4", "draw_trees"}, ["wsj"])
    tables = {"write_table2", "write_table3", "write_appendix"}
    assert made(ende=["base", "aop1"]) == (tables | claims | decoding | compared, ["ende"])


def test_no_steps_are_timed_without_two_models_or_with_given_packages(select):
    for found in (select(tasks=only(ende=["base", "C-N2"])), select(packages="given")):
        assert found.runs.timed == {}
        assert "write_step_time" not in plans(found)
        claims = claims_of(found)
        assert not claims["heads-cost"].judged
    assert "write_claims" in plans(found)


def test_the_table_positions_exists_if_a_row_that_table_3_lacks_is_run(select):
    found = select(tasks=only(ende=["base", "E-learned", "E-t5"]), models={"base": {"longest_pair": 30}})
    planned = plans(found)
    assert found.curves["Positions"] == [BASE, ("ende", "E-learned"), ("ende", "E-t5")]
    assert {"draw_claims", "draw_table1", "draw_dot_products", "draw_table3", "draw_positions"} <= planned.keys()
    assert found.own == {}
    folders = [f"results/quick/runs/ende/{model}/1/average-1" for model in ("base", "E-learned", "E-t5")]
    assert planned["write_positions"].input["scores"] == [f"{folder}/dev.scores.json" for folder in folders]
    assert planned["write_positions"].input["lengths"] == [f"{folder}/lengths.csv" for folder in folders]
    assert found.lengths == [8, 15, 23, 30, 38, 45, 53, 60, 75, 90, 120, 150]
    assert "write_positions" not in plans(select(tasks=only(ende=["base", "E-learned"])))


def test_decoding_is_compared_for_the_run_of_the_figures_with_the_options_of_each_search(select):
    searches = {"beams": [1, 4], "alphas": [0, 0.6]}
    found = select(tasks=only(ende=["C-N4", "C-N2"]), figures={"model": "C-N4"}, searches=searches)
    others = [path.split("/C-N4/1/")[1] for path in decoding.searches(found)["others"]]
    assert others == [f"average-{each}/dev.scores.json" for each in ("5/beam-1", "5/beam-4.alpha-0", "1")]
    inputs = Inputs(found.experiment, found.runs, downloads_of(found.experiment))
    options = [inputs.search(SimpleNamespace(search=folder)) for folder in ("", *found.runs.searches)]
    assert options == ["", "--beam 1 --alpha 0.6", "--beam 4 --alpha 0.0"]


@pytest.mark.parametrize(
    "overlay",
    [{"searches": None}, {"tasks": only(wsj=["parser"]), "figures": {"task": "wsj", "model": "parser"}}],
    ids=["null", "parsing"],
)
def test_the_table_decoding_does_not_exist_without_searches_or_for_a_parser(select, overlay):
    found = select(**overlay)
    assert not {"write_decoding", "draw_decoding"} & plans(found).keys()
    assert found.runs.searches == {}


def test_the_table_of_published_marks_exists_if_their_text_and_model_are_run(select):
    tasks = {task: {"corpus": "multi30k-tokenised", "models": ["base"]} for task in ("ende", "enfr")}
    assert marks(select(tasks=only(ende=["base"]))) == []
    found = select(tasks=tasks, seeds=[1, 2])
    sets = ("test_2016_flickr", "test_2017_flickr", "test_2017_mscoco")
    assert [(row["task"], row["test"]) for row in marks(found)] == [(task, test) for task in tasks for test in sets]
    read = plans(found)["write_marks"].input
    assert read["translations"][2:4] == [
        f"results/quick/runs/ende/base/{seed}/average-5/test_2017_flickr.translation" for seed in (1, 2)
    ]
    assert read["references"][0] == "results/quick/corpora/ende/test.target"
    assert found.runs.further_tests(*tasks) == ["test_2017_flickr", "test_2017_mscoco"]


def test_a_user_s_own_model_is_a_row_of_its_task_s_table(select):
    overlay = {"models": {"mine": {"d_ff": 1024, "warmup": 7}}}
    overlay["tasks"] = only(ende=["base", "mine"], enfr=["base", "mine"], wsj=["parser", "mine"])
    found = select(**overlay)
    assert found.own_rows["table3"] == [{"group": "own", "model": "mine", "changes": {"d_ff": 1024, "warmup": 7}}]
    assert found.own_rows["table2"] == [{"name": "mine", "model": {"enfr": "mine"}, "bleu": {}}]
    assert found.own_rows["table4"] == [{"name": "mine", "model": "mine", "task": "wsj", "training": "own"}]
    of_enfr = select(tasks=only(ende=["base", "big-enfr"]))  # a model of the paper's, but of another task
    assert [row["model"] for row in of_enfr.own_rows["table3"]] == ["big-enfr"]
    assert found.curves["Your own models"] == [BASE, ("ende", "mine")]
    planned = plans(found)
    for name, score in (
        ("table3", "ende/mine/1/average-1/dev.scores.json"),
        ("table2", "enfr/mine/1/average-5/test.scores.json"),
        ("table4", "wsj/mine/1/average-5/test.scores.json"),
    ):
        assert f"results/quick/runs/{score}" in planned[f"write_{name}"].input["scores"]
    assert (
        "results/quick/runs/ende/mine/1/average-1/dev.comparison.json" in planned["write_table3"].input["comparisons"]
    )


def test_a_parser_that_learns_from_a_user_s_own_trees_is_a_row_with_the_name_of_the_corpus(select):
    trees = {"origin": "treebank", "trees": "bank", "train": [1, 2], "dev": [3, 3], "test": [4, 4]}
    plain = {"task": "ende", "sentences": 9, "words": [1, 9], "seed": 1}
    overlay = {"tasks": only(wsj=["parser"], semi=["parser"]), "corpora": {"mine": {**trees, "plain": plain}}}
    assert select(**overlay).own_rows["table4"] == []
    overlay["tasks"]["wsj"]["corpus"] = "mine"
    rows = [(row["task"], row["model"], row["training"]) for row in select(**overlay).own_rows["table4"]]
    assert rows == [("wsj", "parser", "mine"), ("semi", "parser", "self-parsed-english")]


def test_notes_name_models_that_are_equal_at_a_scale(select):
    def noted(found):
        return {
            rule: " ".join(plan.params.get("notes", ())).count("C-N2 and C-N4 are one")
            for rule, plan in plans(found).items()
        }

    found = noted(select(scale={"depth": "1/3"}))
    assert {rule for rule in found if found[rule] and rule.startswith("write_")} == {"write_table3", "write_claims"}
    twice = {"corpus": "multi30k", "source": "en", "target": "fr", "vocabulary": 99, "models": ["C-N2", "C-N4"]}
    assert noted(select(scale={"depth": "1/3"}, tasks={"mine": twice, "other": twice}))["write_own"] == 1
    assert not any(noted(select(scale={"depth": 1})).values())


def test_scores_of_claims_are_among_those_that_readmes_have(select):
    mine = {"claim": "c", "section": "own", "metric": "bleu", "part": "test", "rows": ["ende/A-h1", "ende/base"]}
    found = select(claims={"mine": mine})
    assert "results/quick/runs/ende/A-h1/1/average-5/test.scores.json" in found.scored
    assert set(scores_of(found)) <= set(found.scored)


def test_quick_has_every_result_but_marks_and_a_replication_and_claims_come_first(select):
    results = [result for _, result in load()]
    planned = plans(select())
    missing = {"write_marks", "write_own", "write_replication"}
    assert {result.rule for result in results} - planned.keys() == missing
    whole = {"claims", "replication", "ideas", "one_run"}
    assert {result.name for result in results if result.section == EVERY} == whole
    assert len({result.rule for result in results}) == len(results)


def test_notes_tell_the_sizes_and_the_dropout_of_the_models_that_a_table_shows(select):
    found = select()
    tables = {rule.removeprefix("write_"): plan.params for rule, plan in plans(found).items()}
    notes = {name: tables[name]["notes"][0] for name in found.tables if "notes" in tables.get(name, ())}
    sizes = "N 2, d_model 128, d_ff 512, d_k 16, d_v 16"
    base = ("table3", "positions", "appendix", "table2", "scaling", "step_time", "decoding")
    assert {name for name in notes if f"Here base has {sizes}" in notes[name]} == {*base}
    assert f"Here base and parser have {sizes}; big has P_drop 0.1 (the paper's P_drop 0.3)" in notes["claims"]
    assert [name for name in notes if "big has" in notes[name]] == ["claims", "table3", "table2"]
    assert f"Here parser has {sizes}." in notes["table4"]
    whole = select(tasks=only(ende=["base", "big"]), scale={"width": 1, "depth": 1}, models={"big": {"P_drop": 0.3}})
    assert not [plan for plan in plans(whole).values() if "Here " in " ".join(plan.params.get("notes", ()))]


def test_captions_have_the_values_of_the_experiment(select):
    found = select(tasks=only(ende=["base", "A-h1", "E-t5"], wsj=["parser"], semi=["parser"]))
    params = {result.rule: result.params(plan) for _, result, plan in found.planned}
    captions = {rule: each["caption"] for rule, each in params.items()}
    title = "Table 3: variations on the architecture (English-German, development set)"
    assert (params["write_table3"]["title"], params["write_table1"]["title"]) == (
        title,
        "Table 1: complexity of layers",
    )
    assert not [rule for rule, text in captions.items() if set("{}") & set(text)]
    assert "The paper's rows stand beside 2 runs of ours." in captions["write_table3"]
    assert "There are 5 tasks and 90 runs." in captions["draw_length"]
    assert "They learn from lengths 2 to 8 and" in captions["write_length"].replace("\n", " ")
    of = trees(found)
    assert f"wsj on {of['wsj']}; semi on {of['semi']}.\nThe paper's" in captions["write_table4"]
    assert f"is trained on {of['wsj']}.\nTags" in captions["draw_trees"]


def own_task(*models, **more):
    """A task from Dutch to English on texts that are never read, beside those of `quick`."""
    texts = {part: [{"nl": f"{part}.nl", "en": f"{part}.en"}] for part in ("train", "dev", "test")}
    task = {"corpus": "mine", "source": "nl", "target": "en", "vocabulary": 4000, "models": list(models)}
    return {"tasks": {"nlen": task, **more}, "corpora": {"mine": {"origin": "files", **texts}}}


def test_a_task_of_ones_own_has_a_table_of_its_rows_and_rows_in_table_2(select):
    mine = {"A-h1": {}, "mine": {"d_ff": 1024}}
    found = select(only=["nlen"], models=mine, **own_task("A-h1", "base", "mine"))
    assert not [rule for rule in plans(found) if rule in ("write_table3", "write_table1", "write_claims", "draw_trees")]
    run = "results/quick/runs/nlen/{}/1/average-{}/{}.scores.json"
    own, tested = plans(found)["write_own"], plans(found)["write_table2"]
    assert own.input["scores"] == [run.format(model, 1, "dev") for model in ("A-h1", "base", "mine")]
    assert len(own.input["comparisons"]) == 2
    assert tested.input["scores"] == [run.format(model, 5, "test") for model in ("A-h1", "base", "mine")]
    assert [row["model"] for row in tested.params["own"]] == [{"nlen": each} for each in ("A-h1", "base", "mine")]
    [table] = [each for each in found.tables.values() if each.name == "own"]
    made = table.params(own)
    assert made["title"] == "Your own tasks (Dutch-English, development set)"
    assert "Each row of Dutch-English, measured on the development set as in Table 3: 3 runs" in made["caption"]
    assert found.curves == {"Task nlen": [("nlen", "base"), ("nlen", "A-h1"), ("nlen", "mine")]}
    assert plans(found)["draw_attention"].params == {"task": "nlen", "model": "base"}
    assert "/runs/nlen/base/1/" in plans(found)["draw_attention"].input["attention"]
    assert {path.split("/")[3] for path in plans(found)["write_decoding"].input["scores"]} == {"nlen"}


def test_a_task_of_ones_own_changes_no_table_of_the_others(select):
    with_it, without = select(**own_task("base")), select()
    assert {name: runs for name, runs in with_it.shown.items() if name not in ("own", "table2")} == {
        name: runs for name, runs in without.shown.items() if name not in ("own", "table2")
    }
    assert with_it.shown["table2"] == [*without.shown["table2"], ("nlen", "base")]
    assert with_it.shown["own"] == [("nlen", "base")]
    assert with_it.experiment.drawn == ("ende", "base")
    assert "write_own" not in plans(without)
    assert claims_of(with_it) == claims_of(without)


def test_a_parsing_task_of_ones_own_is_in_table_4(select):
    parsing = {"kind": "parsing", "corpus": "generated-english", "source": "words", "target": "brackets"}
    found = select(only=["mine"], tasks={"mine": parsing | {"vocabulary": 400, "models": ["parser"]}})
    assert found.own_rows["table4"] == [{"name": "parser", "model": "parser", "task": "mine", "training": "own"}]
    assert list(plans(found)["write_table4"].params["trained_on"]) == ["mine"]
    assert plans(found)["draw_trees"].params["task"] == "mine"
    assert found.experiment.drawn == ("mine", "parser")
