import re
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.model.config import AttentionOverParametersConfig
from transformer.package.config import SECTION_6_1
from transformer.support.files import InputError
from transformer.support.strict import ConfigError, load, plain, read_config, read_yaml, write_config
from transformer.training.config import RunConfig
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
    assert experiment().searched() == translating(4, searches=None).searched() == []


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


TEXTS = {part: [{"en": "a", "de": "b"}] for part in ("train", "dev", "test")}
TRANSLATION = TASK | {"kind": "translation", "source": "en", "target": "de", "models": ["base", "big"]}
OTHER = {"recurrent": {"network": "recurrent", "N": 9, "h": 4}}
SUB_LAYER = {"h_p": 8, "d_pk": 63, "d_pv": 64, "n_p": 512}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": []}, ["seeds: Tuple should have at least 1 item"]),
        ({"seeds": [1, 2, 1]}, ["seeds: 1 comes twice"]),
        ({"seeds": [2**63]}, ["seeds[0]: Input should be less than or equal to 9223372036854775807"]),
        ({"searches": {"beams": [0, 4], "alphas": [0.6, 11]}}, ["searches.beams[0]: ", "searches.alphas[1]: "]),
        ({"scale": {"width": 1, "dept": 1}}, ["scale.depth: Field required", "scale.dept: unknown key dept; did you"]),
        ({"experiment": "my quick"}, ["experiment: 'my quick' cannot name a folder"]),
        ({"experiment": "x" * 101}, ["is too long for a folder"]),
        ({"experiment": "Downloads"}, ["experiment: `Downloads` is the folder that all experiments share; choose"]),
        ({"results": "~/results"}, ["results: '~/results': ~ is not your home here"]),
        ({"results": "a {b}", "mirror": "${HOME}/m"}, ["{, }, < and > are special", "variables are not replaced here"]),
        (
            {"downloads": {"http://a/b": {"bytes": 1, "sha256": "abc"}}},
            ["downloads.http://a/b.sha256: String should match"],
        ),
        ({"replicates": "smal"}, ["replicates: unknown released experiment smal; did you mean small?"]),
        ({"trial": {"row": "mime", "against": "bas"}}, ["trial.row: unknown model mime", "trial.against: unknown"]),
        # models
        (with_models(mine={}, Mine={}), ["tasks.more.models: mine and Mine are one folder where a file system"]),
        (with_models(**{"a/b": {}}), ["tasks.more.models[0]: 'a/b' cannot name a folder"]),
        (with_models(odd={"d_model": 511}), ["models.odd.d_model: 511 is odd; sines and cosines come in pairs"]),
        (with_models(none=3), ["models.none: Input should be "]),
        (
            with_models(wide={"d_modell": 8, "N": "6"}),
            ["models.wide.N: ", "unknown key d_modell; did you mean d_model?"],
        ),
        (
            with_models(odd={"positions": "rotary", "d_k": 12}) | {"scale": {"width": "1/4", "depth": 1}},
            ["models.odd.d_k: 3 is odd; rotary positions need pairs, so choose an even number (d_k is 12 before it"],
        ),
        (
            with_models(odd={"attention_over_parameters": SUB_LAYER}) | {"scale": {"width": "1/2", "depth": 1}},
            ["models.odd.attention_over_parameters.d_pk: 63 x width 1/2 is 63/2, not a whole number; write 62 or 64"],
        ),
        (
            with_models(mine={"d_ff": 9, "attention_over_parameters": SUB_LAYER}),
            ["models.mine.d_ff: attention over parameters takes the place of d_ff; remove it"],
        ),
        ({"models": {"parser": {}}}, ["models: base is missing; every row is an override of it"]),
        (with_base(network="recurrent", N=9), ["models.base.network: must be transformer, not recurrent"]),
        (with_base(steps=6000), ["models.base.average: 5 checkpoints that are 1500 steps apart do not fit into 6000"]),
        (
            with_base(positions="learned", max_length=24),
            ["models.base.longest_pair: 256 subwords (longest_pair) are more than the 24 learned positions"],
        ),
        (
            with_base(N=0, P_drop=1, warmup=10**13, learning_rate=1e999),
            ["base.N", "base.P_drop", "base.warmup", "_rate"],
        ),
        ({"table3_average": 6}, ["must be from 1 to 5 (the average of base), not 6", "the average of parser"]),
        (
            with_task(models=["parser", "recurrent"])
            | {"models": MODELS | OTHER, "figures": {"task": "wsj", "model": "recurrent"}},
            [
                "figures.model: recurrent is recurrent and has no self-attention; name another",
                "models.recurrent.h: a recurrent network does not have this key; remove it",
            ],
        ),
        # tasks and corpora
        (with_task(vocabulary=3), ["tasks.wsj.vocabulary: Input should be greater than or equal to 4 (got 3)"]),
        (with_task(target="words"), ["tasks.wsj.target: source and target are both words; name two sides"]),
        (with_task(models=["parser", "parser"]), ["tasks.wsj.models: parser comes twice"]),
        ({"tasks": {"wsj": TASK, "WSJ": TASK}}, ["tasks: wsj and WSJ are one folder where a file system"]),
        ({"tasks": {"wsj": TASK | {"models": []}}}, ["tasks: no task that is run has models; name a model in one"]),
        ({"only": ["wjs"]}, ["only[0]: unknown task wjs; did you mean wsj?"]),
        (
            {
                "tasks": {"wsj": TASK | {"models": ["bas"], "corpus": "slef"}},
                "figures": {"task": "ende", "model": None},
            },
            [
                "tasks.wsj.corpus: unknown corpus slef; did you mean self?",
                "tasks.wsj.models[0]: unknown model bas; did you mean base?",
                "figures.task: unknown task ende",
            ],
        ),
        (
            {
                "figures": {"task": "wsj", "model": "base"},
                "corpora": VALUES["corpora"] | {"self": SELF | {"parser": "x"}},
            },
            [
                "figures.model: base is not among tasks.wsj.models; name a model of it in `figures`",
                "corpora.self.parser: x is not among tasks.wsj.models; name one of these, or add it",
            ],
        ),
        ({"only": ["semi"], "figures": {"task": "semi", "model": None}}, ["only: semi learns from what wsj parses"]),
        (
            {"corpora": {"grammar": GRAMMAR, "self": SELF | {"gold": "wjs"}}},
            ["corpora.self.gold: unknown task wjs; did"],
        ),
        (
            {"corpora": {"grammar": GRAMMAR, "self": SELF | {"gold": "semi"}}},
            ["self.gold: the corpus of task semi has no"],
        ),
        (
            {
                "tasks": {"wsj": TASK | {"corpus": "text", "target": "de", "source": "en"}},
                "corpora": {"text": {"origin": "files"} | TEXTS},
            },
            ["tasks.wsj.corpus: text has no trees, from which a parser learns; name another"],
        ),
        (
            {"tasks": {"wsj": TRANSLATION | {"source": "fr CA", "target": "Germn"}}},
            ["tasks.wsj.source: 'fr CA' is not a language", "tasks.wsj.target: 'Germn' is not a language"],
        ),
    ],
)
def test_an_experiment_that_cannot_be_run_is_refused_with_each_key_and_its_value(changes, said):
    reported = faults(**changes)
    assert len(reported) >= len(said)
    for text in said:
        assert any(text in fault for fault in reported), (text, reported)


def test_faults_of_a_row_that_no_task_trains_do_not_matter():
    experiment(models=MODELS | {"odd": {"d_model": 511}})


def test_a_fault_of_base_is_reported_once():
    base = {key: value for key, value in MODELS["base"].items() if key != "warmup"} | {"d_model": 511}
    assert faults(**with_models(base=base, odd={"h": 4})) == [
        "models.base.d_model: 511 is odd; sines and cosines come in pairs, so choose an even number",
        "models.base.warmup: Field required",
    ]


def test_self_training_needs_sentences_to_parse():
    bank = {"origin": "treebank", "trees": "bank", "train": [1, 2], "dev": [3, 3], "test": [4, 4]}
    [reported] = faults(corpora={"grammar": bank, "self": SELF})
    assert "corpora.self.parser: the corpus of task wsj has no `plain`: sentences for" in reported
    plain = {"task": "wsj", "sentences": 5, "words": [1, 9], "seed": 1}
    experiment(corpora={"grammar": bank | {"plain": plain}, "self": SELF})


def test_parsed_text_needs_a_task_with_trees_and_no_parser():
    corpora = {"grammar": GRAMMAR, "self": PARSED}
    assert faults(corpora=corpora | {"self": PARSED | {"gold": "wjs"}}) == [
        "corpora.self.gold: unknown task wjs; did you mean wsj?"
    ]
    assert experiment(corpora=corpora, tasks={"wsj": TASK, "semi": TASK | {"corpus": "self"}})


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


CLAIM = {"claim": "One is better", "section": "own", "metric": "f1", "part": "test"}
CLAIM |= {"rows": ["wsj/parser", "semi/parser"], "differ": ["text"]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rows": ["wsj/parser", "semi/parsr"]}, "rows: unknown model parsr; did you mean parser?"),
        ({"rows": ["wsj/parser", "sem/parser"]}, "rows: unknown task sem; did you mean semi?"),
        ({"rows": ["wsj/parser", "wsj/parser/averaged"]}, "rows: wsj/parser/averaged is measured on dev, or on both"),
        ({"metric": "longer", "part": "dev", "rows": ["ende/base", "ende/base/beam-1"]}, "longer does not depend on"),
        ({"metric": "perplexity", "rows": ["ende/base", "ende/base/beam-1"]}, "perplexity does not depend on beam-1"),
        (
            {"metric": "step_time", "part": None, "rows": ["a/b", "a/b/averaged"]},
            "step_time does not depend on averaged",
        ),
        (
            {"metric": "step_time", "rows": ["ende/base", "ende/big"]},
            "part: step_time is that of training; remove part",
        ),
        ({"metric": "step_time", "part": None}, "rows: wsj, semi: step_time compares rows of one task"),
        ({"part": None}, "part: missing; write dev or test"),
        *(
            ({"rows": ["wsj/parser", row]}, f"rows: {row} is not a row; write one like")
            for row in ("parser", "a/b/beam-4", "a/b/beam-1.alpha-0.6", "a/b/beam-4.alpha-1.0", "a/b/beam-04.alpha-1")
        ),
        ({"rows": ["wsj/parser"]}, "rows: must name at least two rows (task/model), not ['wsj/parser']"),
        ({"rows": ["wsj/parser"] * 2}, "rows: wsj/parser comes twice"),
        ({"section": 6.1}, "section: Input should be"),
        ({"metric": "f2"}, "metric: Input should be"),
        ({"metric": "bleu"}, "metric: bleu is not measured for wsj (parsing); name another metric"),
        ({"margin": 1, "rows": ["a/b", "a/c", "a/d"]}, "margin: needs exactly two rows, not 3; name two"),
        (
            {"differ": []},
            "rows: differ in text (grammar words-trees in 100 subwords, self words-trees in 100 subwords)",
        ),
        (
            {"differ": [], "rows": ["wsj/base", "wsj/big"]},
            "rows: differ in steps (100000, 300000); if you intend that,",
        ),
        ({"seeds": 3}, "seeds: 3 are needed, but the experiment has 1; add some to `seeds`"),
        ({"further_seeds": [1, 2]}, "further_seeds: 1 is one of the experiment's `seeds`; remove it here"),
        ({"margin": 1, "least": 1}, "least: rows are alike or apart; remove margin or least"),
        ({"steps": 9}, "steps: unknown key steps; did you mean seeds?"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(changes, said):
    [reported] = faults(claims={"mine": CLAIM | changes}, **with_task(models=["parser", "base", "big"]))
    assert reported.startswith("claims.mine.")
    assert said in reported


def test_a_claim_may_compare_what_this_experiment_does_not_run_and_different_steps_if_it_says_so():
    rows = CLAIM | {"rows": ["wsj/base", "wsj/big"]}
    assert experiment(claims={"big": rows})
    assert experiment(claims={"big": rows | {"differ": ["steps"]}}, **with_task(models=["base", "big", "parser"]))


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("wsj/base/beam-7.alpha-0.6", "dev is not decoded so; add its beam and alpha to `searches`"),
        ("wsj/big/beam-4.alpha-0", "only wsj/base is decoded with other beams and alphas; name it in"),
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


@pytest.mark.parametrize(("width", "precision"), [("1/16", "float32"), ("1/8", "auto"), (1, "auto")])
def test_the_width_of_base_decides_auto_precision_for_all_rows(width, precision):
    models = MODELS | {"narrow": {"d_model": 64}, "mine": {"precision": "bfloat16"}}
    one = experiment(models=models, scale={"width": width, "depth": 1})
    precisions = {model: one.run("wsj", model, 1).training.precision for model in models}
    assert precisions == dict.fromkeys(models, precision) | {"mine": "bfloat16"}


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
    ("overlay", "said"),
    [
        ("- models", ": has no keys; write lines such as `key: value`"),
        ("seeds: 1", "seeds: Input should be a valid array (got 1)"),
        ("tasks: {ende: {models+: [bas]}}", "tasks.ende.models[28]: unknown model bas; did you mean base?"),
        ("tasks: {ende: {models+: base}}", "tasks.ende.models+: 'base' cannot be added to ["),
        ("tasks+: {ende: {vocabulary: 9}}", "tasks+: unknown key tasks+; did you mean tasks?"),
        ("tasks: {ende: {target: no}}", "readers of YAML disagree about no; write 'no' in quotes"),
        (
            "corpora: {libreoffice-hlep: {licence: x}}",
            "origin: Field required; or did you mean corpora.libreoffice-help?",
        ),
        ("seeds+: [6, 7, 6]", "seeds: 6 comes twice"),
        ("only: wsj", "only: Input should be a valid array (got 'wsj')"),
        ("{only: [ende], models: {base: {steps: 5}}}", "models.base.steps: 5 checkpoints"),
        ("{only: [ende], models: {base: {checkpoint_every: 5000}}}", "models.base.checkpoint_every: 5 checkpoints"),
        (
            "{only: [ende], models: {base: {positions: learned, max_length: 5}}, tasks: {ende: {models: [base]}}}",
            "models.base.max_length: 20 subwords (longest_pair) are more than the 5 learned positions",
        ),
        ("tasks: {ende: {source: de}}", "tasks.ende.source: source and target are both de"),
        ("corpora: {libreoffice-help: {shares: {dev: 1}}}", "shares.dev: 1.0 for dev and 0.09 for test leave nothing"),
        ("corpora: {penn-treebank: {train: [2200, 2250]}}", "train and dev both have file 2200"),
        ("length: {recipe: {trained: [5]}}", "length.recipe.trained[1]: Field required"),
    ],
)
def test_a_fault_of_an_overlay_is_one_line_that_begins_with_its_name_and_line(tmp_path, monkeypatch, overlay, said):
    monkeypatch.chdir(tmp_path)
    Path("odd.yaml").write_text(overlay)
    Path("last.yaml").write_text("{experiment: fine, seeds: [2]}" if "seeds" not in overlay else "experiment: fine")
    with pytest.raises(InputError) as error:
        read_experiment([tmp_path / "odd.yaml", Path("last.yaml")])
    assert re.match(r"odd\.yaml(, line 1)?: ", str(error.value))
    assert "\n" not in str(error.value)
    assert said in str(error.value)


def test_each_fault_names_the_file_whose_value_is_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("first.yaml").write_text("models:\n  D-drop0.0: {P_drop: 2}\n  base: {warmup: 0}\n")
    Path("second.yaml").write_text("models:\n  D-drop0.0:\n    h: 0\n  base: {warmup: -1}\nseeds:\n- 1\n- -1\n")
    with pytest.raises(ConfigError) as error:
        read_experiment([Path("first.yaml"), Path("second.yaml")])
    assert [fault.split(": ")[:2] for fault in map(str, error.value.faults)] == [
        ["second.yaml, line 7", "seeds[1]"],
        ["second.yaml, line 4", "models.base.warmup"],
        ["second.yaml, line 3", "models.D-drop0.0.h"],
        ["first.yaml, line 2", "models.D-drop0.0.P_drop"],
    ]


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


def test_the_documentation_s_experiment_with_table_4_only_is_valid(tmp_path):
    page = (ROOT / "config/README.md").read_text()
    block = page.partition("Give it after `config/paper.yaml`, whose `wsj` reads `penn-treebank`:\n\n")[2]
    (tmp_path / "own.yaml").write_text(textwrap.dedent(block.partition("\n\n")[0]))
    own = read_experiment([ROOT / "config/paper.yaml", tmp_path / "own.yaml"])
    assert {task for task, settings in own.tasks.items() if settings.models} == {"wsj"}
    assert own.tasks["wsj"].corpus == "penn-treebank"
    assert own.drawn == ("wsj", "parser")


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
