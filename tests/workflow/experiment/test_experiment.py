import math
import re
import subprocess
import sys
import textwrap
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.model.config import AttentionOverParametersConfig, ModelConfig
from transformer.package.config import SECTION_6_1
from transformer.support.files import InputError
from transformer.support.strict import ConfigError, load, plain, read_config, read_yaml, write_config
from transformer.training.config import RunConfig, TrainingConfig
from workflow.experiment.config import Experiment, read_experiment

ROOT = Path(__file__).parents[3]
MODELS = read_yaml(ROOT / "config" / "models.yaml")["models"]
TEXT = {"description": "text", "licence": "CC0-1.0"}
GRAMMAR = {
    "origin": "grammar",
    **TEXT,
    "sentences": {"train": 9, "dev": 3, "test": 3, "plain": 9},
    "words": [3, 9],
    "seed": 1,
}
SELF = {"origin": "self-training", **TEXT, "gold": "wsj", "parser": "parser", "copies": 2, "keep": 1}
PARSED = {"origin": "parsed-text", **TEXT, "gold": "wsj", "copies": 2, "trees": ["own.mrg"]}
TASK = {
    "kind": "parsing",
    "corpus": "grammar",
    "source": "words",
    "target": "trees",
    "vocabulary": 100,
    "decoding": {"beam": 4, "alpha": 0.6, "extra": 50},
    "models": ["parser"],
}
LENGTH = read_yaml(ROOT / "config" / "length.yaml")["length"]
VALUES = {
    "experiment": "quick",
    "results": "results/quick",
    "mirror": None,
    "packages": None,
    "notes": [],
    "seeds": [1],
    "scale": {"width": 1, "depth": 1},
    "subwords": {"pairs": 9, "seed": 1},
    "table3_average": 1,
    "table1": {"n": [16, 32, 64], "d": [64, 128, 256], "k": 3, "r": 32, "d_k": 64},
    "figures": {"task": "wsj", "model": "parser"},
    "searches": {"beams": [1, 4], "alphas": [0, 1]},
    "tasks": {"wsj": TASK, "semi": TASK | {"corpus": "self"}},
    "models": MODELS,
    "corpora": {"grammar": GRAMMAR, "self": SELF},
    "downloads": {},
    "length": LENGTH,
    "claims": {},
}


def experiment(**changes):
    return load(Experiment, VALUES | changes, "config")


def translating(beam, **changes):
    """A task that translates with this beam, and that the figures show."""
    decoding = {"beam": beam, "alpha": 0.6, "extra": 50}
    task = TASK | {"kind": "translation", "source": "en", "target": "de", "decoding": decoding, "models": ["base"]}
    return experiment(tasks={"mine": task}, figures={"task": "mine", "model": "base"}, **changes)


@pytest.mark.parametrize(
    ("beam", "searches"),
    [
        (4, [(4, 0.6), (1, 0.6), (2, 0), (2, 0.6), (4, 0)]),
        (1, [(1, 0.6), (2, 0), (2, 0.6), (4, 0), (4, 0.6)]),
        (5, [(5, 0.6), (1, 0.6), (2, 0), (2, 0.6), (4, 0), (4, 0.6)]),
    ],
)
def test_searches_combine_each_beam_with_each_alpha_after_the_task_s_own_decoding(beam, searches):
    searched = translating(beam, searches={"beams": [1, 2, 4], "alphas": [0, 0.6]}).searched()
    assert [(each.beam, each.alpha) for each in searched] == searches
    assert {each.extra for each in searched} == {50}


def test_parsers_and_experiments_with_null_searches_search_nothing():
    assert experiment().searched() == []
    assert translating(4, searches=None).searched() == []


@pytest.mark.parametrize(
    ("searches", "fault"),
    [
        ({"beams": [0, 4], "alphas": [0]}, "searches.beams[0]: 0 is not at least 1"),
        ({"beams": [4, 4], "alphas": [0]}, "searches.beams: 4 comes twice; name it once"),
        ({"beams": [4], "alphas": [0.6, -1]}, "searches.alphas[1]: -1 is not at least 0"),
        ({"beams": [4], "alphas": [11]}, "searches.alphas[0]: 11 is not at most 10"),
        ({"beams": [4], "alphas": [math.nan]}, "searches.alphas[0]: nan is not a finite number"),
        ({"beams": [4], "alphas": []}, "searches.alphas: is empty; give at least one"),
        ({"beams": 4, "alphas": [0]}, "searches.beams: 4 is not a list; write [4]"),
    ],
)
def test_faults_of_searches_are_reported(searches, fault):
    assert faults(searches=searches) == [fault]


def faults(**changes):
    with pytest.raises(ConfigError) as error:
        experiment(**changes)
    return list(map(str, error.value.faults))


def with_models(**rows):
    """A config whose task trains these rows too."""
    return {"models": MODELS | rows, "tasks": VALUES["tasks"] | {"more": TASK | {"models": list(rows)}}}


def with_task(**changes):
    """A config whose first task is changed."""
    return {"tasks": VALUES["tasks"] | {"wsj": TASK | changes}}


def with_base(**changes):
    return {"models": MODELS | {"base": MODELS["base"] | changes}}


@pytest.mark.parametrize("model", MODELS)
def test_every_row_gives_a_config_that_is_read_back_unchanged(tmp_path, model):
    run = experiment().run("wsj", model, 3)
    assert (run.task, run.model, run.seed) == ("wsj", model, 3)
    write_config(tmp_path / "config.yaml", run)
    assert read_config(RunConfig, tmp_path / "config.yaml") == run


def test_a_row_changes_only_the_keys_of_base_that_it_overrides():
    base, row = (experiment().run("wsj", model, 1) for model in ("base", "A-h4"))
    assert (row.architecture.h, row.architecture.d_k, row.architecture.d_v) == (4, 128, 128)
    assert row.architecture.d_model == base.architecture.d_model
    assert row.training == base.training


@pytest.mark.parametrize("model", MODELS)
def test_the_scale_shrinks_every_row_in_the_same_way(model):
    full = experiment().run("", model, 1).architecture
    small = experiment(scale={"width": "1/8", "depth": "1/2"}).run("", model, 1).architecture
    for name in ("d_model", "d_ff", "d_k", "d_v"):
        assert 8 * getattr(small, name) == getattr(full, name)
    assert round(full.N / 2) == small.N
    assert (small.h, small.P_drop, small.max_length) == (full.h, full.P_drop, full.max_length)
    if full.attention_over_parameters is not None:
        sizes = full.attention_over_parameters
        expected = AttentionOverParametersConfig(sizes.h_p, sizes.d_pk // 8, sizes.d_pv // 8, sizes.n_p // 8)
        assert small.attention_over_parameters == expected


def test_every_row_keeps_at_least_one_layer():
    small = experiment(scale={"width": 1, "depth": "1/6"})
    assert [small.run("", model, 1).architecture.N for model in ("C-N2", "base")] == [1, 1]


def test_a_scale_without_whole_numbers_is_refused_for_each_size():
    reported = faults(scale={"width": "1/24", "depth": 1}, models={"base": MODELS["base"]}, tasks={}, corpora={})
    assert (
        "models.base.d_model: 512 x width 1/24 is 64/3, not a whole number; write 504 or 528, or change scale.width"
        in reported
    )
    assert [fault.split(":")[0] for fault in reported if "whole number" in fault] == [
        f"models.base.{name}" for name in ("d_model", "d_ff", "d_k", "d_v")
    ]


def test_a_sub_layer_that_cannot_be_scaled_is_named():
    row = {"attention_over_parameters": {"h_p": 8, "d_pk": 63, "d_pv": 64, "n_p": 512}}
    reported = faults(scale={"width": "1/2", "depth": 1}, **with_models(odd=row))
    assert reported == [
        "models.odd.attention_over_parameters.d_pk: 63 x width 1/2 is 63/2, not a whole number; write 62 or 64, or "
        "change scale.width"
    ]


def test_a_fault_of_a_scaled_size_gives_the_value_in_the_config():
    over = {"attention_over_parameters": {"h_p": 8, "d_pk": -4, "d_pv": 64, "n_p": 512}}
    assert faults(**with_models(over=over)) == ["models.over.attention_over_parameters.d_pk: -4 is not at least 1"]
    rows = {"odd": {"positions": "rotary", "d_k": 12}, "flat": {"network": "recurrent", "N": 2}}
    assert faults(scale={"width": "1/4", "depth": "1/3"}, **with_models(**rows)) == [
        "models.odd.d_k: 3 (12 x scale.width 1/4) is odd; rotary positions need pairs, so choose an even number",
        "models.flat.N: 1 (2 x scale.depth 1/3, rounded) is too few layers; a recurrent network needs 2 or more",
    ]


def test_an_odd_width_is_refused():
    assert faults(**with_models(odd={"d_model": 511})) == [
        "models.odd.d_model: 511 is odd; sines and cosines come in pairs, so choose an even number"
    ]


def test_all_unknown_and_ill_typed_keys_are_reported_together():
    rows = {"base": MODELS["base"] | {"warmpu": 1, "d_ff": True}, "wide": {"d_modell": 8, "N": "6"}, "none": 3}
    rows["over"] = {"attention_over_parameters": {"h_p": 8, "d_pk": 64.5, "d_pv": 64}}
    assert faults(models=MODELS | rows, scale={"width": 1, "dept": 1}, seeds=["a"]) == [
        "seeds[0]: 'a' is not a whole number; write digits, without point or quotes",
        "scale.depth: missing",
        "scale.dept: unknown key dept; did you mean depth?",
        "models.base.d_ff: true is not a whole number; write digits, without point or quotes",
        "models.base.warmpu: unknown key warmpu; did you mean warmup?",
        "models.wide.N: '6' is not a whole number; write digits, without point or quotes",
        "models.wide.d_modell: unknown key d_modell; did you mean d_model?",
        "models.none: 3 is not a mapping; write keys with values, as {key: value}",
        "models.over.attention_over_parameters.d_pk: 64.5 is not a whole number; write digits, without point or quotes",
        "models.over.attention_over_parameters.n_p: missing",
    ]


def test_faults_of_a_row_that_no_task_trains_do_not_matter():
    experiment(models=MODELS | {"odd": {"d_model": 511}})


def test_a_fault_of_base_is_reported_once():
    base = {key: value for key, value in MODELS["base"].items() if key != "warmup"} | {"d_model": 511}
    assert faults(**with_models(base=base, odd={"positions": "rotary", "d_k": 9})) == [
        "models.base.d_model: 511 is odd; sines and cosines come in pairs, so choose an even number",
        "models.base.warmup: missing",
        "models.odd.d_k: 9 is odd; rotary positions need pairs, so choose an even number",
    ]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("N", 0, "0 is not at least 1"),
        ("d_ff", 99999999999, "99999999999 is not at most 10000000"),
        ("P_drop", 1, "1 is not below 1"),
        ("eps_ls", -0.1, "-0.1 is not at least 0"),
        ("learning_rate", math.nan, "nan is not a finite number"),
        ("learning_rate", 10**400, "is not a number"),
        ("epsilon", "small", "'small' is not a number; write one such as 0.1"),
        ("batch_tokens", 2.5, "2.5 is not a whole number"),
        ("positions", "wavelets", "'wavelets' is not one of none, sinusoidal, learned, t5, alibi, rotary"),
        ("steps", 6000, "5 checkpoints"),
        ("warmup", 10**400, "is more than any machine can do; write at most 1,000,000,000,000"),
    ],
)
def test_an_impossible_value_is_refused(key, value, said):
    [reported] = faults(**with_base(**{key: value}))
    assert reported.startswith("models.base.")
    assert said in reported


def test_the_checkpoints_kept_are_the_last_ones():
    assert experiment().run("", "base", 1).training.checkpoint_steps() == [100000, 98500, 97000, 95500, 94000]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"seeds": [1, 2, 1]}, "seeds: 1 comes twice; name it once"),
        ({"seeds": [2**63]}, "seeds[0]: 9223372036854775808 is not at most 9223372036854775807"),
        (
            with_models(mine={}, Mine={}),
            "tasks.more.models: mine and Mine are one folder where a file system ignores case; rename one of them",
        ),
        ({"tasks": {"wsj": TASK, "WSJ": TASK}}, "tasks: wsj and WSJ are one folder where a file system ignores case"),
        ({"experiment": "my quick"}, "experiment: 'my quick' cannot name a folder; use letters"),
        (
            with_models(**{"a/b": {}}),
            "tasks.more.models[0]: 'a/b' cannot name a folder; use letters, digits, then ., - and _, too",
        ),
        (
            with_models(_mine={}),
            "tasks.more.models[0]: '_mine' cannot name a folder; use letters, digits, then ., - and _, too",
        ),
        ({"results": "~/results"}, "results: '~/results': ~ is not your home here; use another name"),
        ({"results": "$HOME/results"}, "results: '$HOME/results': variables are not replaced here; use another name"),
        ({"mirror": "${HOME}/m"}, "mirror: '${HOME}/m': variables are not replaced here; use another name"),
        (
            with_models(mine={"d_ff": 9, "attention_over_parameters": {"h_p": 1, "d_pk": 8, "d_pv": 8, "n_p": 8}}),
            "models.mine.d_ff: attention over parameters takes the place of d_ff; remove it",
        ),
        ({"experiment": "downloads"}, "experiment: `downloads` is the folder that all experiments share; choose"),
        (
            {"downloads": {"http://a/b": {"bytes": 1, "sha256": "abc"}}},
            "downloads.http://a/b.sha256: 'abc' is not 64 digits of 0-9 and a-f",
        ),
        (with_task(models=["parser", "parser"]), "tasks.wsj.models: parser comes twice; name it once"),
        (
            with_task(vocabulary=3),
            "tasks.wsj.vocabulary: 3 is too few; padding, end and unknown need room, so give more",
        ),
        (with_task(target="words"), "tasks.wsj.target: source and target are both words; name two sides"),
        ({"tasks": {"my task": TASK}}, "tasks.my task: 'my task' cannot name a folder; use letters"),
        ({"tasks": {"wsj": TASK | {"models": []}}}, "tasks: no task has models, so nothing would be trained; name a"),
        (
            {"tasks": {"wsj": TASK | {"models": []}, "semi": TASK}, "only": ["wsj"]},
            "only: none of these tasks has models, so nothing would be trained; name a model in one of them",
        ),
    ],
)
def test_what_would_be_trained_twice_or_not_at_all_is_refused(changes, fault):
    [reported] = faults(**changes)
    assert reported.startswith(fault)


def test_all_unknown_names_are_reported_together():
    tasks = {
        "wsj": TASK | {"models": ["parser", "bas"]},
        "semi": TASK | {"corpus": "slef"},
        "two": TASK | {"corpus": "self"},
    }
    reported = faults(
        seeds=[-1],
        results="my {results}",
        mirror="<mirror>",
        tasks=tasks,
        figures={"task": "ende", "model": "base"},
        corpora={"grammar": GRAMMAR, "self": SELF | {"gold": "wjs"}},
        table3_average=6,
        models={name: MODELS[name] for name in ("base", "parser", "big")},
    )
    assert reported == [
        "tasks.wsj.models: unknown model bas; did you mean base?",
        "tasks.semi.corpus: unknown corpus slef; did you mean self?",
        "results: 'my {results}': {, }, < and > are special to Snakemake; use another name",
        "mirror: '<mirror>': {, }, < and > are special to Snakemake; use another name",
        "seeds[0]: -1 is not at least 0",
        "figures.task: unknown task ende; known: wsj, semi, two",
        "table3_average: must be from 1 to 5 (the average of base), not 6",
        "table3_average: must be from 1 to 5 (the average of parser), not 6",
        "corpora.self.gold: unknown task wjs; did you mean wsj?",
    ]


def test_no_other_fault_hides_an_unknown_name():
    tasks = {"wsj": TASK | {"models": ["bas", 1], "corpus": "slef"}, "semi": 3, "more": {"models": None}}
    for more in (with_base(P_drop=2), {"corpora": {"self": 3}}, {"experiment": "a b"}, {}):
        assert {
            "tasks.wsj.models: unknown model bas; did you mean base?",
            "tasks.wsj.corpus: unknown corpus slef; did you mean self?",
        } < set(faults(**{"tasks": tasks} | more))
    assert any(fault.startswith("experiment: 'a b' cannot") for fault in faults(experiment="a b", tasks=tasks))
    assert "models: 3 is not a mapping; write keys with values, as {key: value}" in faults(models=3, tasks=tasks)


@pytest.mark.parametrize("gold", ["ende", "semi"])
def test_gold_trees_are_of_a_task_that_has_trees_of_its_own(gold):
    text = {"origin": "files"} | {part: [{"en": "a", "de": "b"}] for part in ("train", "dev", "test")}
    ende = TASK | {"kind": "translation", "source": "en", "target": "de", "corpus": "text", "models": []}
    reported = faults(
        tasks={**VALUES["tasks"], "ende": ende},
        corpora={"grammar": GRAMMAR, "self": SELF | {"gold": gold}, "text": text},
    )
    assert f"corpora.self.gold: the corpus of task {gold} has no trees of its own; name a task that has" in reported


def test_self_training_needs_sentences_to_parse():
    bank = {"origin": "treebank", "trees": "bank", "train": [1, 2], "dev": [3, 3], "test": [4, 4]}
    [reported] = faults(corpora={"grammar": bank, "self": SELF})
    assert "corpora.self.parser: the corpus of task wsj has no `plain`: sentences for" in reported
    plain = {"task": "wsj", "sentences": 5, "words": [1, 9], "seed": 1}
    experiment(corpora={"grammar": bank | {"plain": plain}, "self": SELF})


def test_a_parser_needs_a_corpus_with_trees():
    text = {"origin": "files"} | {part: [{"words": "a", "trees": "b"}] for part in ("train", "dev", "test")}
    reported = faults(tasks={"wsj": TASK | {"corpus": "text"}}, corpora={"text": text})
    assert "tasks.wsj.corpus: text has no trees, from which a parser learns; name another" in reported


def test_parsed_text_needs_a_task_with_trees_and_no_parser():
    corpora = {"grammar": GRAMMAR, "self": PARSED}
    assert faults(corpora=corpora | {"self": PARSED | {"gold": "wjs"}}) == [
        "corpora.self.gold: unknown task wjs; did you mean wsj?"
    ]
    assert experiment(corpora=corpora, tasks={"wsj": TASK, "semi": TASK | {"corpus": "self"}})


def test_models_that_a_task_does_not_train_cannot_be_used():
    reported = faults(
        figures={"task": "wsj", "model": "base"}, corpora={"grammar": GRAMMAR, "self": SELF | {"parser": "base"}}
    )
    assert reported == [
        "figures.model: base is not among tasks.wsj.models; name a model of it in `figures`",
        "corpora.self.parser: base is not among tasks.wsj.models; name one of these, or add it",
    ]


def test_a_recurrent_network_takes_neither_the_transformer_s_sizes_nor_its_figures():
    recurrent = {"network": "recurrent", "N": 9, "h": 4}
    task = TASK | {"models": ["parser", "recurrent"]}
    reported = faults(
        models=MODELS | {"recurrent": recurrent}, tasks={"wsj": task}, figures={"task": "wsj", "model": "recurrent"}
    )
    assert reported == [
        "figures.model: recurrent is recurrent and has no self-attention; name another",
        "models.recurrent.h: a recurrent network does not have this key; remove it",
    ]


def test_a_convolutional_network_takes_neither_other_positions_nor_figures():
    row = {"network": "convolutional", "N": 12, "max_length": 300, "positions": "sinusoidal"}
    task = TASK | {"models": ["parser", "convolutional"]}
    reported = faults(
        models=MODELS | {"convolutional": row}, tasks={"wsj": task}, figures={"task": "wsj", "model": "convolutional"}
    )
    assert reported == [
        "figures.model: convolutional is convolutional and has no self-attention; name another",
        "models.convolutional.positions: a convolutional network does not have this key; remove it",
    ]


@pytest.mark.parametrize("model", ["recurrent", "convolutional"])
def test_other_networks_ignore_inherited_keys_that_they_do_not_have(model):
    base = {
        "positions": "rotary",
        "attention": "additive",
        "attention_over_parameters": {"h_p": 8, "d_pk": 64, "d_pv": 64, "n_p": 512},
    }
    tasks = with_task(models=["parser", model])
    [plain, changed] = (experiment(**tasks, **with_base(**given)).run("wsj", model, 1) for given in ({}, base))
    assert changed == plain


@pytest.mark.parametrize("network", ["recurrent", "convolutional"])
def test_base_has_to_be_a_transformer(network):
    figures = {"figures": {"task": "wsj", "model": "base"}}
    assert faults(**with_base(network=network, N=9), **with_task(models=["base", "parser"]), **figures) == [
        f"models.base.network: must be transformer, not {network}; add a row of your own for it"
    ]


CLAIM = {"claim": "One is better", "section": "own", "metric": "f1", "part": "test"}
CLAIM |= {"rows": ["wsj/parser", "semi/parser"], "differ": ["text"]}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"rows": ["wsj/parser", "semi/parsr"]}, "rows: unknown model parsr; did you mean parser?"),
        ({"rows": ["wsj/parser", "sem/parser"]}, "rows: unknown task sem; did you mean semi?"),
        ({"rows": ["wsj/parser", "parser"]}, "rows: parser is not a row; write one like ende/base"),
        ({"rows": ["wsj/parser", "wsj/parser/averaged"]}, "rows: wsj/parser/averaged is measured on dev, or on both"),
        (
            {"metric": "longer", "part": "dev", "rows": ["ende/base", "ende/base/beam-1"]},
            "rows: ende/base/beam-1: longer does not depend on the search; write task/model",
        ),
        (
            {"metric": "step_time", "part": None, "rows": ["ende/base", "ende/base/averaged"]},
            "rows: ende/base/averaged: step_time is that of task/model; write it so",
        ),
        (
            {"metric": "step_time", "rows": ["ende/base", "ende/big"]},
            "part: step_time is that of training; remove part",
        ),
        (
            {"metric": "step_time", "part": None},
            "rows: wsj, semi: step_time compares rows of one task; name only such rows",
        ),
        ({"part": None}, "part: missing; write dev or test"),
        *(
            ({"rows": ["wsj/parser", f"wsj/parser/{way}"]}, f"rows: wsj/parser/{way} is not a row; write one like")
            for way in ("beam-4", "beam-1.alpha-0.6", "beam-4.alpha-1.0", "beam-04.alpha-1", "beam-4.alpha-.5")
        ),
        ({"rows": ["wsj/parser"]}, "rows: must name at least two rows (task/model), not ['wsj/parser']"),
        ({"rows": ["wsj/parser"] * 2}, "rows: wsj/parser comes twice; name it once"),
        ({"section": 6.1}, "section: 6.1 is not a text; write it in quotes"),
        ({"section": "6.4"}, "section: '6.4' is not one of 3.1, 3.2.1"),
        ({"metric": "f2"}, "metric: 'f2' is not one of bleu, perplexity, f1, step_time"),
        ({"metric": "bleu"}, "metric: bleu is not measured for wsj (parsing); name another metric"),
        ({"part": "train"}, "part: 'train' is not one of dev, test"),
        ({"margin": 0}, "margin: 0 is not above 0"),
        (
            {"margin": 1, "rows": ["wsj/parser", "semi/parser", "wsj/base"]},
            "margin: needs exactly two rows, not 3; name two",
        ),
        (
            {"differ": []},
            "rows: differ in text (grammar words-trees in 100 subwords, self words-trees in 100 subwords); "
            "if you intend that, write differ: [text]",
        ),
        ({"seeds": 3}, "seeds: 3 are needed, but the experiment has 1; add some to `seeds`"),
        ({"seeds": 0}, "seeds: 0 is not at least 1"),
        ({"further_seeds": [1, 2]}, "further_seeds: 1 is one of the experiment's `seeds`; remove it here"),
        ({"margin": 1, "least": 1}, "least: rows are alike or apart; remove margin or least"),
        ({"steps": 9}, "steps: unknown key steps; did you mean seeds?"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(changes, fault):
    [reported] = faults(claims={"mine": CLAIM | changes})
    assert reported.startswith(f"claims.mine.{fault}")


def test_a_claim_about_rows_with_different_steps_has_to_say_so():
    tasks = {"wsj": TASK | {"models": ["base", "big", "parser"]}, "semi": TASK | {"corpus": "self"}}
    rows = CLAIM | {"rows": ["wsj/base", "wsj/big"]}
    assert faults(tasks=tasks, claims={"big": rows}) == [
        "claims.big.rows: differ in steps (100000, 300000); if you intend that, write differ: [steps]"
    ]
    assert experiment(tasks=tasks, claims={"big": rows | {"differ": ["steps"]}})
    assert experiment(claims={"big": rows})  # this experiment runs neither


TRANSLATION = TASK | {
    "kind": "translation",
    "source": "en",
    "target": "de",
    "models": ["base", "big"],
}


def test_rows_of_one_corpus_but_other_languages_or_subwords_are_of_different_texts():
    tasks = {"wsj": TRANSLATION, "semi": TRANSLATION | {"target": "fr"}, "more": TRANSLATION | {"vocabulary": 99}}
    for other, other_text in (("semi", "grammar en-fr in 100"), ("more", "grammar en-de in 99")):
        rows = CLAIM | {"metric": "bleu", "rows": ["wsj/base", f"{other}/base"], "differ": []}
        [reported] = faults(tasks=tasks, figures={"task": "wsj", "model": "base"}, claims={"mine": rows})
        assert reported.startswith("claims.mine.rows: differ in text (")
        assert f"{other_text} subwords" in reported
        assert "grammar en-de in 100 subwords" in reported


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("wsj/base/beam-7.alpha-0.6", "dev is not decoded so; add its beam and alpha to `searches`"),
        ("wsj/big/beam-4.alpha-0", "only wsj/base is decoded with other beams and alphas; name it, or "),
        ("wsj/base/beam-4.alpha-0", None),
        ("wsj/big/averaged", None),
    ],
)
def test_a_claim_of_ones_own_names_a_search_that_is_made(row, fault):
    given = {
        "tasks": {"wsj": TRANSLATION},
        "figures": {"task": "wsj", "model": "base"},
        "searches": {"beams": [4], "alphas": [0.0]},
    }
    claim = CLAIM | {"metric": "bleu", "part": "dev", "rows": ["wsj/base", row], "differ": ["steps"]}
    if fault:
        [reported] = faults(**given, claims={"mine": claim})
        assert reported.startswith(f"claims.mine.rows: {row}: {fault}")
    else:
        assert experiment(**given, claims={"mine": claim})
    assert experiment(**given, claims={"theirs": claim | {"section": "6.1"}})  # the paper's claims are then not run


def test_without_base_or_seeds_there_is_no_experiment():
    reported = faults(models={"parser": {}}, seeds=[])
    assert reported == ["seeds: is empty; give at least one", "models: base is missing; every row is an override of it"]


def test_an_unknown_model_is_named():
    with pytest.raises(ConfigError, match="unknown model bigg; did you mean big"):
        experiment().run("wsj", "bigg", 1)


sizes = st.integers(1, 10**6)
shares = st.floats(0, 1, exclude_max=True)
positive = st.floats(0, exclude_min=True, allow_infinity=False)
architectures = st.builds(
    ModelConfig,
    **dict.fromkeys(("N", "d_ff", "h", "d_k", "d_v", "max_length"), sizes),
    d_model=sizes.map(lambda half: 2 * half),
    P_drop=shares,
    positions=st.sampled_from(["sinusoidal", "learned"]),
    attention_over_parameters=st.none()
    | st.builds(AttentionOverParametersConfig, **dict.fromkeys(("h_p", "d_pk", "d_pv", "n_p"), sizes)),
)
trainings = st.builds(
    TrainingConfig,
    **dict.fromkeys(("warmup", "batch_tokens"), sizes),
    **dict.fromkeys(("beta1", "beta2", "eps_ls"), shares),
    **dict.fromkeys(("learning_rate", "epsilon"), positive),
    steps=st.integers(100, 10**6),
    longest_pair=st.just(1),
    checkpoint_every=st.integers(1, 10),
    average=st.integers(1, 10),
    precision=st.sampled_from(["auto", "float32", "bfloat16"]),
)


runs = {"task": st.text("abc-"), "model": st.text("abc-"), "seed": st.integers(0, 2**63 - 1)}


@given(st.builds(RunConfig, **runs, architecture=architectures, training=trainings))
def test_a_run_is_written_and_read_without_a_change(tmp_path_factory, run):
    path = tmp_path_factory.getbasetemp() / "run.yaml"
    write_config(path, run)
    assert read_config(RunConfig, path) == run


@pytest.mark.parametrize("width", ["1_0/4", "1_0", "\u0661/4", "1:4", "1/0"])
def test_a_fraction_is_written_in_plain_digits(width):
    assert faults(scale={"width": width, "depth": 1}) == [
        f"scale.width: {width!r} is not a number or a fraction such as 1/4"
    ]


def test_a_fraction_scales_exactly():
    assert experiment(scale={"width": "3/8", "depth": 0.5}).scale.width == Fraction(3, 8)
    assert experiment(scale={"width": "3/8", "depth": 0.5}).run("", "base", 1).architecture.d_model == 192


@pytest.mark.parametrize(("width", "precision"), [("1/16", "float32"), ("1/8", "auto"), (1, "auto")])
def test_the_width_of_base_decides_auto_precision_for_all_rows(width, precision):
    models = MODELS | {"narrow": {"d_model": 64}, "mine": {"precision": "bfloat16"}}
    one = experiment(models=models, scale={"width": width, "depth": 1})
    precisions = {model: one.run("wsj", model, 1).training.precision for model in models}
    assert precisions == dict.fromkeys(models, precision) | {"mine": "bfloat16"}


def test_the_paper_s_runs_are_computed_without_importing_pytorch():
    resolve = "read_experiment([Path('config/paper.yaml')]).run('wsj', 'parser', 1)"
    code = f"import sys; from pathlib import Path; from workflow.experiment.config import read_experiment; {resolve}; "
    subprocess.run([sys.executable, "-c", f"{code}assert 'torch' not in sys.modules"], cwd=ROOT, check=True)


@pytest.mark.agreement(witness="numbers of the paper")
def test_the_paper_s_experiment_trains_every_row_with_the_paper_s_own_numbers():
    paper = read_experiment([ROOT / "config/paper.yaml"])
    published = read_yaml(ROOT / "config/published.yaml")
    rows = {row["model"] for row in published["table3"] + published["appendix"]}
    assert set(paper.tasks["ende"].models) == rows
    for model in rows | {"big-enfr"}:
        run = paper.run("ende", model, 1)
        values = plain(run.architecture) | plain(run.training)
        expected = MODELS["base"] | MODELS[model]
        assert {key: values[key] for key in expected} == expected


@pytest.mark.agreement(witness="numbers of the paper")
def test_the_paper_s_experiment_has_the_settings_of_sections_5_and_6():
    paper = read_experiment([ROOT / "config/paper.yaml"])
    named = {"base": "ende", "big": "ende", "big-enfr": "enfr", "parser": "wsj"}
    base, big, french, _ = trained = [paper.run(task, model, 1).training for model, task in named.items()]
    for each in trained:
        assert (each.beta1, each.beta2, each.epsilon, each.warmup, each.learning_rate) == (0.9, 0.98, 1e-9, 4000, 1)
        assert (each.eps_ls, each.batch_tokens) == (0.1, 25_000)
    assert [each.steps for each in (base, big, french)] == [100_000, 300_000, 300_000]
    assert [each.average for each in (base, big, french)] == [5, 20, 20]
    assert (0.4 * base.checkpoint_every, 1.0 * big.checkpoint_every) == (600, 600)  # seconds: ten minutes
    assert [paper.run("ende", model, 1).architecture.P_drop for model in ("base", "big", "big-enfr")] == [0.1, 0.3, 0.1]
    parser = paper.run("wsj", "parser", 1).architecture
    assert (parser.N, parser.d_model) == (4, 1024)
    sizes = {name: task.vocabulary for name, task in paper.tasks.items()}
    assert sizes == {"ende": 37_000, "enfr": 32_000, "wsj": 16_000, "semi": 32_000}
    searches = {name: plain(task.decoding) for name, task in paper.tasks.items()}
    translation, parsing = {"beam": 4, "alpha": 0.6, "extra": 50}, {"beam": 21, "alpha": 0.3, "extra": 300}
    assert searches == {"ende": translation, "enfr": translation, "wsj": parsing, "semi": parsing}


def test_a_parser_decodes_as_in_section_6_3_where_its_task_does_not_say_otherwise():
    tasks = {name: {**TASK, "corpus": corpus} for name, corpus in (("wsj", "grammar"), ("semi", "self"))}
    tasks["wsj"]["decoding"] = {"beam": 4}
    del tasks["semi"]["decoding"]
    found = {name: plain(task.decoding) for name, task in experiment(tasks=tasks).tasks.items()}
    assert found == {"wsj": {"beam": 4, "alpha": 0.3, "extra": 300}, "semi": {"beam": 21, "alpha": 0.3, "extra": 300}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- models", "has no keys; write lines such as `key: value`"),
        ("", "has no keys; write lines such as `key: value`"),
        ("seeds: 1", "seeds: 1 is not a list; write [1]"),
        ("tasks: {ende: {models: [bas]}}", "tasks.ende.models: unknown model bas; did you mean base?"),
        ("tasks: {ende: {models+: [bas]}}", "tasks.ende.models+: unknown model bas; did you mean base?"),
        ("tasks: {ende: {models+: base}}", "tasks.ende.models+: 'base' is not a list; write [base]"),
        ("tasks+: {ende: {vocabulary: 9}}", "tasks+: unknown key tasks+; did you mean tasks?"),
        ("only: [enrf]", "only: unknown task enrf; did you mean enfr?"),
        ("only: wsj", "only: 'wsj' is not a list; write [wsj]"),
    ],
)
def test_a_fault_of_an_overlay_is_one_line_that_begins_with_its_name(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    Path("fine.yaml").write_text("{experiment: fine, seeds: [2]}")
    Path("odd.yaml").write_text(text)
    Path("last.yaml").write_text("{models: {base: {steps: 1300}}, figures: {task: wsj, model: parser}}")
    with pytest.raises(InputError) as error:
        read_experiment([Path("fine.yaml"), tmp_path / "odd.yaml", Path("last.yaml")])
    assert re.sub(", line 1:", ":", str(error.value)) == f"odd.yaml: {said}"


def test_only_the_tasks_that_are_named_are_run_and_figures_show_the_first(tmp_path):
    path = tmp_path / "mine.yaml"
    texts = ", ".join(f"{part}: [{{nl: a, en: b}}]" for part in ("train", "dev", "test"))
    task = "corpus: mine, source: nl, target: en, vocabulary: 4000"
    corpora = f"corpora: {{mine: {{origin: files, {texts}}}}}"
    path.write_text(f"experiment: mine\nonly: [nlen]\ntasks: {{nlen: {{{task}, models: [big, base]}}}}\n{corpora}\n")
    mine = read_experiment([path])
    assert [name for name, task in mine.tasks.items() if task.models] == ["nlen"]
    assert mine.drawn == ("nlen", "base")
    assert mine.tasks["nlen"].kind == "translation"
    assert mine.tasks["nlen"].decoding == SECTION_6_1
    path.write_text(path.read_text().replace("[big, base]", "[recurrent, big], decoding: {alpha: 1.0}"))
    mine = read_experiment([path])
    assert mine.drawn == ("nlen", "big")
    assert mine.tasks["nlen"].decoding == replace(SECTION_6_1, alpha=1.0)
    path.write_text(path.read_text() + "figures: {task: ende}\n")
    with pytest.raises(ConfigError, match=r"line 5: figures\.task: ende is not run; name a task that is"):
        read_experiment([path])
    path.write_text("only: [semi]\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml, line 1: only: semi learns from what wsj parses; name wsj, too"):
        read_experiment([path])


def test_rows_that_several_overlays_add_are_all_added(tmp_path):
    paths = [ROOT / "config/small.yaml", tmp_path / "one.yaml", tmp_path / "two.yaml"]
    paths[1].write_text("models: {one: {h: 2, d_k: 256, d_v: 256}}\ntasks: {ende: {models+: [one, base]}}\n")
    paths[2].write_text("models: {two: {P_drop: 0.2}}\ntasks: {ende: {models+: [two]}}\nseeds+: [6]\n")
    small, more = read_experiment(paths[:1]), read_experiment(paths)
    assert more.tasks["ende"].models == (*small.tasks["ende"].models, "one", "two")
    assert more.seeds == (*small.seeds, 6)


def test_a_file_that_is_given_again_counts_at_its_last_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path(f"{name}.yaml").write_text(f"experiment: {name}")
    assert read_experiment(map(Path, ("one.yaml", "two.yaml", "one.yaml"))).experiment == "one"


def test_a_fault_names_the_file_whose_value_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text("models:\n  D-drop0.0: {P_drop: 2}\n  base: {warmup: 0}\n")
    Path("second.yaml").write_text("models:\n  D-drop0.0:\n    h: 0\n  base: {warmup: -1}\nseeds:\n- 1\n- -1\n")
    with pytest.raises(ConfigError) as error:
        read_experiment([Path("first.yaml"), Path("second.yaml")])
    assert str(error.value).splitlines() == [
        "the config has 4 faults:",
        "  second.yaml, line 7: seeds[1]: -1 is not at least 0",
        "  second.yaml, line 4: models.base.warmup: -1 is not at least 1",
        "  second.yaml, line 3: models.D-drop0.0.h: 0 is not at least 1",
        "  first.yaml, line 2: models.D-drop0.0.P_drop: 2 is not below 1",
    ]


@pytest.mark.parametrize(
    "overlay",
    [
        "tasks: {ende: {source: de}}",
        "corpora: {libreoffice-help: {shares: {dev: 1}}}",
        "corpora: {penn-treebank: {train: [2200, 2250]}}",
        "length: {recipe: {trained: [5]}}",
        "seeds+: [6, 7, 6]",
        "tasks: {ende: {models+: [big, big]}}",
        "{only: [ende], models: {base: {steps: 5}}}",
        "{only: [ende], models: {base: {checkpoint_every: 5000}}}",
        "{only: [ende], models: {base: {positions: learned, max_length: 5}}, tasks: {ende: {models: [base]}}}",
        "models: {5: {d_ff: 1024}}",
        "corpora: {5: {origin: files}}",
    ],
)
def test_a_fault_names_the_overlay_that_causes_it(tmp_path, monkeypatch, overlay):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(overlay)
    with pytest.raises(ConfigError, match=r"\Amine\.yaml, line 1: [^\n]*\Z"):
        read_experiment([Path("mine.yaml")])


def test_the_documentation_s_experiment_with_table_4_only_is_valid(tmp_path):
    page = (ROOT / "config/README.md").read_text()
    block = page.partition("Give it after `config/paper.yaml`, whose `wsj` reads `penn-treebank`:\n\n")[2]
    (tmp_path / "own.yaml").write_text(textwrap.dedent(block.partition("\n\n")[0]))
    own = read_experiment([ROOT / "config/paper.yaml", tmp_path / "own.yaml"])
    assert {task for task, settings in own.tasks.items() if settings.models} == {"wsj"}
    assert own.tasks["wsj"].corpus == "penn-treebank"
    assert own.drawn == ("wsj", "parser")


def test_learned_positions_have_to_hold_the_longest_pair(run_config):
    values = plain(run_config(longest_pair=25))
    values["architecture"]["positions"] = "learned"
    with pytest.raises(ConfigError) as error:
        load(RunConfig, values)
    assert str(error.value) == (
        "training.longest_pair: 25 subwords (longest_pair) are more than the 24 learned positions (max_length); lower "
        "longest_pair, or raise max_length"
    )


@pytest.mark.parametrize(("models", "refused"), [(["base"], True), ([], False)])
def test_a_target_whose_tokeniser_is_missing_is_refused_if_it_is_scored(monkeypatch, models, refused):
    monkeypatch.setattr("transformer.evaluation.tokenisers.find_spec", lambda _: None)
    texts = {part: [{"en": "a", "ja": "b"}] for part in ("train", "dev", "test")}
    task = TASK | {"kind": "translation", "source": "en", "target": "ja", "models": models}
    reported = faults(tasks={"mine": task}, corpora={"grammar": {"origin": "files", **texts}})
    said = (
        "tasks.mine.target: BLEU of ja needs mecab, which is not installed; run python -m pip install 'sacrebleu[ja]'"
    )
    assert any(fault.startswith(said) for fault in reported) == refused


def test_the_sides_of_a_translation_are_languages():
    texts = {part: [{"en": "a", "de": "b"}] for part in ("train", "dev", "test")}
    task = TASK | {"kind": "translation", "source": "fr CA", "target": "Germn"}
    reported = faults(tasks={"mine": task}, corpora={"grammar": {"origin": "files", **texts}})
    assert any(fault.startswith("tasks.mine.source: 'fr CA' is not a language; did you mean fr?") for fault in reported)
    assert any(
        fault.startswith("tasks.mine.target: 'Germn' is not a language; did you mean de for German?")
        for fault in reported
    )
