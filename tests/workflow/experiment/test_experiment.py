import re
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.model.config import AttentionOverParametersConfig
from transformer.package.config import SECTION_6_1
from transformer.support.files import InputError
from transformer.support.strict import plain, read_config, read_yaml, write_config
from transformer.training.config import RunConfig
from workflow.experiment.config import read_experiment

ROOT = Path(__file__).parents[3]
MODELS = read_yaml(ROOT / "config" / "models.yaml")["models"]


@pytest.fixture
def read(tmp_path, monkeypatch):
    """The experiment of overlays, which are given as their contents: the last is mine.yaml."""
    monkeypatch.chdir(tmp_path)

    def experiment(*overlays):
        files = [Path(f"{number}.yaml") for number in range(1, len(overlays))] + [Path("mine.yaml")]
        for file, content in zip(files, overlays, strict=True):
            file.write_text(content)
        return read_experiment(files)

    return experiment


TEXTS = "origin: files, train: &t [{en: a, de: b}], dev: *t, test: *t"
SUB_LAYER = "attention_over_parameters: {h_p: 8, d_pk: 63, d_pv: 64, n_p: 512}"
GOLD = "corpora: {bank: {origin: treebank, trees: x, train: [1, 2], dev: [3, 3], test: [4, 4]}, "
GOLD += "self-parsed-english: {parser: parser}}\n"


def mine(row):
    """An overlay whose row `mine` is trained."""
    return f"{{models: {{mine: {{{row}}}}}, tasks: {{ende: {{models: [base, mine]}}}}}}"


@pytest.mark.parametrize(
    ("overlay", "said"),
    [
        ("seeds: [1, 2, 1]", "seeds: 1 comes twice"),
        ("scale: {dept: 1}", "scale.dept: unknown key dept; did you mean depth?"),
        ("experiment: my quick", "experiment: 'my quick' cannot name a folder"),
        ("experiment: Downloads", "experiment: `Downloads` is the folder that all experiments share; choose"),
        ("experiment: released", "experiment: `released` is the folder of the released results; choose"),
        ("results: ~/results", "results: '~/results': ~ is not your home here"),
        ("results: 'a {b}'", "{, }, < and > are special to Snakemake"),
        ("replicates: smal", "replicates: unknown released experiment smal; did you mean small?"),
        ("trial: {row: mime}", "trial.row: unknown model mime"),
        ("table3_average: 6", "table3_average: must be from 1 to 5 (the average of base), not 6"),
        ("{only: [enrf]}", "only[0]: unknown task enrf; did you mean enfr?"),
        ("only: [semi]", "only: semi learns from what wsj parses; name wsj, too"),
        # models
        ("models: {Base: {}}\ntasks: {ende: {models+: [Base]}}", "tasks.ende.models: base and Base are one folder"),
        ("models: {zzz: {d_modell: 8}}", "models.zzz.d_modell: unknown key d_modell; did you mean d_model?"),
        ("models: {base: {network: recurrent, N: 9}}", "models.base.network: must be transformer, not recurrent"),
        ("models: {base: {steps: 5}}", "models.base.steps: 5 checkpoints that are 15 steps apart do not fit into 5"),
        (mine("positions: learned, max_length: 5"), "models.mine.max_length: mine: 20 subwords (longest_pair)"),
        (mine("d_model: 510"), "models.mine.d_model: 510 x width 1/4 is 255/2, not a whole number; write 508 or 512"),
        (mine(SUB_LAYER), "models.mine.attention_over_parameters.d_pk: 63 x width 1/4 is 63/4, not a whole number"),
        (mine("positions: rotary, d_k: 12"), "models.mine.d_k: 3 is odd; rotary positions need pairs, so choose"),
        (mine("network: recurrent, N: 9, h: 4"), "models.mine.h: a recurrent network does not have this key"),
        (mine(f"d_ff: 8, {SUB_LAYER.replace('63', '64')}"), "mine.d_ff: attention over parameters takes the place of"),
        # tasks and corpora
        ("tasks: {ende: {target: no}}", "readers of YAML disagree about no; write 'no' in quotes"),
        ("tasks: {ende: {source: de}}", "tasks.ende.source: source and target are both de; name two sides"),
        ("tasks: {ende: {vocabulary: 3}}", "tasks.ende.vocabulary: Input should be greater than or equal to 4 (got 3)"),
        ("tasks: {ende: {corpus: libreoffice}}", "tasks.ende.corpus: unknown corpus libreoffice; did you mean libre"),
        ("tasks: {ende: {models+: [bas]}}", "tasks.ende.models[28]: unknown model bas; did you mean base?"),
        ("tasks: {ende: {models+: base}}", "tasks.ende.models+: 'base' cannot be added to models; both must"),
        ("{only: [ende], tasks: {ende: {models: []}}}", "only: no"),
        (f"{{tasks: {{wsj: {{corpus: text}}}}, corpora: {{text: {{{TEXTS}}}}}}}", "wsj.corpus: text has no trees, f"),
        ("figures: {model: recurrent}", "figures.model: recurrent is recurrent and has no self-attention; name"),
        ("figures: {task: wsj, model: base}", "figures.model: base is not among tasks.wsj.models; name a model of it"),
        ("corpora: {self-parsed-english: {parser: base}}", "parser: base is not among tasks.wsj.models; name one"),
        ("corpora: {self-parsed-english: {gold: ende}}", "gold: the corpus of task ende has no trees of its own"),
        (GOLD + "tasks: {wsj: {corpus: bank}}", "the corpus of task wsj has no `plain`: sentences for parser to parse"),
        ("corpora: {libreoffice-help: {shares: {dev: 1}}}", "shares.dev: 1.0 for dev and 0.09 for test leave nothing"),
        ("corpora: {penn-treebank: {train: [2200, 2250]}}", "train and dev both have file 2200"),
        ("- models", "has no keys; write lines such as `key: value`"),
    ],
)
def test_a_fault_is_told_with_its_file_line_key_and_value(read, overlay, said):
    with pytest.raises(InputError) as error:
        read("experiment: fine", overlay)
    [*_, told] = [line for line in str(error.value).splitlines() if said in line] or [str(error.value)]
    assert said in told
    assert re.match(r" *mine\.yaml(, line [12])?: ", told)


def test_all_faults_are_told_together_each_with_the_file_whose_value_is_used(read):
    first = "models:\n  D-drop0.0: {P_drop: 2}\n  base: {warmup: 0}\n"
    with pytest.raises(InputError) as error:
        read(first, "models:\n  D-drop0.0:\n    h: 0\n  base: {warmup: -1}\nseeds:\n- 1\n- -1\n")
    assert [line.split(": ")[:2] for line in str(error.value).splitlines()[1:]] == [
        ["  mine.yaml, line 7", "seeds[1]"],
        ["  mine.yaml, line 4", "models.base.warmup"],
        ["  mine.yaml, line 3", "models.D-drop0.0.h"],
        ["  1.yaml, line 2", "models.D-drop0.0.P_drop"],
    ]


@pytest.mark.parametrize(
    ("beam", "searches"),
    [
        (4, [(4, 0.6), (1, 0.6), (2, 0), (2, 0.6), (4, 0)]),
        (1, [(1, 0.6), (2, 0), (2, 0.6), (4, 0), (4, 0.6)]),
        (5, [(5, 0.6), (1, 0.6), (2, 0), (2, 0.6), (4, 0), (4, 0.6)]),
    ],
)
def test_searches_combine_each_beam_with_each_alpha_after_the_task_s_own_decoding(read, beam, searches):
    overlay = f"tasks: {{ende: {{decoding: {{beam: {beam}}}}}}}\nsearches: {{beams: [1, 2, 4], alphas: [0, 0.6]}}"
    searched = read(overlay).searched()
    assert [(each.beam, each.alpha) for each in searched] == searches
    assert {each.extra for each in searched} == {50}
    assert read("searches: null").searched() == read("figures: {task: wsj}").searched() == []


@pytest.fixture(scope="module")
def full():
    return read_experiment([ROOT / "config/paper.yaml"])


@pytest.mark.parametrize("model", MODELS)
def test_the_scale_shrinks_every_row_in_the_same_way_and_its_config_is_read_back_unchanged(read, tmp_path, full, model):
    paper = (ROOT / "config/paper.yaml").read_text()
    row, small = (one.run("", model, 1) for one in (full, read(paper, "scale: {width: 1/8, depth: 1/2}")))
    sizes = row.architecture
    for name in ("d_model", "d_ff", "d_k", "d_v"):
        assert 8 * getattr(small.architecture, name) == getattr(sizes, name)
    assert round(sizes.N / 2) == small.architecture.N
    assert (small.architecture.h, small.architecture.P_drop) == (sizes.h, sizes.P_drop)
    if part := sizes.attention_over_parameters:
        expected = AttentionOverParametersConfig(part.h_p, part.d_pk // 8, part.d_pv // 8, part.n_p // 8)
        assert small.architecture.attention_over_parameters == expected
    write_config(tmp_path / "config.yaml", row)
    assert read_config(RunConfig, tmp_path / "config.yaml") == row


def test_every_row_keeps_at_least_one_layer(read):
    small = read("scale: {width: 1, depth: 1/9}\nonly: [ende]\ntasks: {ende: {models: [base]}}")
    assert [small.run("", model, 1).architecture.N for model in ("C-N2", "base")] == [1, 1]


def test_a_row_changes_only_the_keys_of_base_that_it_overrides(full):
    base, row = (full.run("wsj", model, 1) for model in ("base", "A-h4"))
    assert row.architecture == replace(base.architecture, h=4, d_k=128, d_v=128)
    assert row.training == base.training


@pytest.mark.parametrize("model", ["recurrent", "convolutional"])
def test_other_networks_ignore_inherited_keys_that_they_do_not_have(read, model):
    inherited = f"{{positions: rotary, attention: additive, {SUB_LAYER.replace('63', '64')}}}"
    changed = read(f"models: {{base: {inherited}}}\nonly: [ende]\ntasks: {{ende: {{models: [base, {model}]}}}}")
    assert changed.run("", model, 1) == read("experiment: plain").run("", model, 1)


@pytest.mark.parametrize(("width", "precision"), [("1/16", "float32"), ("1/8", "auto"), (1, "auto")])
def test_the_width_of_base_decides_auto_precision_for_all_rows(read, width, precision):
    alone = "only: [ende]\ntasks: {ende: {models: [base]}}\n"
    one = read(f"{alone}scale: {{width: {width}}}\nmodels: {{narrow: {{d_model: 64}}, mine: {{precision: bfloat16}}}}")
    assert [one.run("", model, 1).training.precision for model in ("base", "narrow")] == [precision] * 2
    assert one.run("", "mine", 1).training.precision == "bfloat16"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("rows: [ende/base, ende/bas]", "rows: unknown model bas; did you mean base?"),
        ("metric: longer, rows: [ende/base, ende/base/beam-1]", "ende/base/beam-1: longer does not depend on beam-1"),
        *(
            (f"rows: [ende/base, {row}]", f"rows: {row} is not a row; write one like")
            for row in ("base", "a/b/beam-4", "a/b/beam-1.alpha-0.6", "a/b/beam-4.alpha-1.0", "a/b/beam-04.alpha-1")
        ),
        ("rows: [ende/base]", "rows: must name at least two rows (task/model), not ['ende/base']"),
        ("rows: [ende/base, ende/base]", "rows: ende/base comes twice"),
        ("metric: step_time", "part: step_time is that of training; remove part"),
        ("part: null", "part: missing; write dev or test"),
        ("margin: 1, least: 1", "least: rows are alike or apart; remove margin or least"),
        ("metric: f1", "metric: f1 is not measured for ende (translation); name another metric"),
        ("rows: [ende/base, enfr/base]", "rows: differ in text (libreoffice-help en-de in 3000 subwords, "),
        ("rows: [ende/base, ende/big]", "rows: differ in steps (640, 800); if you intend that, write differ: [steps]"),
        ("seeds: 3", "seeds: 3 are needed, but the experiment has 1; add some to `seeds`"),
        ("rows: [ende/base, ende/base/beam-7.alpha-0.6]", "dev is not decoded so; add its beam and alpha to"),
        ("rows: [ende/base, ende/A-h1/beam-4.alpha-0]", "only ende/base is decoded with other beams and alphas"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(read, changes, said):
    claim = {"claim": "One is better", "section": "own", "metric": "bleu", "part": "dev"}
    claim["rows"] = "[ende/base, ende/A-h1]"
    given = ", ".join(f"{key}: {value}" for key, value in claim.items() if f"{key}: " not in changes)
    with pytest.raises(InputError, match=rf"^mine\.yaml, line 1: claims\.mine\..*{re.escape(said)}"):
        read("models: {big: {steps: 800}}", f"claims: {{mine: {{{given}, {changes}}}}}")


@pytest.mark.parametrize(
    "changes",
    [
        "section: own, rows: [ende/base, ende/base/beam-4.alpha-0]",
        "section: own, rows: [ende/base, ende/A-h1/averaged]",
        "section: '6.1', rows: [ende/base, ende/base/beam-7.alpha-0.6]",  # the paper's claims are then not run
        "section: own, rows: [ende/base, ende/big], differ: [steps]",
        "section: own, rows: [ende/base, ende/big-enfr]",  # this experiment does not run the second
    ],
)
def test_a_claim_may_name_searches_that_are_made_and_rows_that_differ_as_it_says(read, changes):
    read("models: {big: {steps: 800}}", f"claims: {{mine: {{claim: One, metric: bleu, part: dev, {changes}}}}}")


@pytest.mark.agreement(witness="numbers of the paper")
def test_the_paper_s_experiment_trains_every_row_with_the_paper_s_own_numbers(full):
    published = read_yaml(ROOT / "config/published.yaml")
    rows = {row["model"] for row in published["table3"] + published["appendix"]}
    assert set(full.tasks["ende"].models) == rows
    for model in rows | {"big-enfr"}:
        run = full.run("ende", model, 1)
        values = plain(run.architecture) | plain(run.training)
        expected = MODELS["base"] | MODELS[model]
        assert {key: values[key] for key in expected} == expected


@pytest.mark.agreement(witness="numbers of the paper")
def test_the_paper_s_experiment_has_the_settings_of_sections_5_and_6(full):
    named = {"base": "ende", "big": "ende", "big-enfr": "enfr", "parser": "wsj"}
    base, big, french, _ = trained = [full.run(task, model, 1).training for model, task in named.items()]
    for each in trained:
        assert (each.beta1, each.beta2, each.epsilon, each.warmup, each.learning_rate) == (0.9, 0.98, 1e-9, 4000, 1)
        assert (each.eps_ls, each.batch_tokens) == (0.1, 25_000)
    assert [each.steps for each in (base, big, french)] == [100_000, 300_000, 300_000]
    assert [each.average for each in (base, big, french)] == [5, 20, 20]
    assert (0.4 * base.checkpoint_every, 1.0 * big.checkpoint_every) == (600, 600)  # seconds: ten minutes
    assert [full.run("ende", model, 1).architecture.P_drop for model in ("base", "big", "big-enfr")] == [0.1, 0.3, 0.1]
    parser = full.run("wsj", "parser", 1).architecture
    assert (parser.N, parser.d_model) == (4, 1024)
    sizes = {name: task.vocabulary for name, task in full.tasks.items()}
    assert sizes == {"ende": 37_000, "enfr": 32_000, "wsj": 16_000, "semi": 32_000}
    searches = {name: plain(task.decoding) for name, task in full.tasks.items()}
    translation, parsing = {"beam": 4, "alpha": 0.6, "extra": 50}, {"beam": 21, "alpha": 0.3, "extra": 300}
    assert searches == {"ende": translation, "enfr": translation, "wsj": parsing, "semi": parsing}


def test_a_parser_decodes_as_in_section_6_3_where_its_task_does_not_say_otherwise(read):
    task = "kind: parsing, corpus: generated-english, source: words, target: trees, vocabulary: 99, models: []"
    tasks = read(f"tasks: {{one: {{{task}, decoding: {{beam: 4}}}}, two: {{{task}}}}}").tasks
    assert [plain(tasks[name].decoding) for name in ("one", "two")] == [
        {"beam": 4, "alpha": 0.3, "extra": 300},
        {"beam": 21, "alpha": 0.3, "extra": 300},
    ]


def test_only_the_tasks_that_are_named_are_run_and_figures_show_the_first(read):
    task = "corpus: mine, source: nl, target: en, vocabulary: 4000"
    corpora = "corpora: {mine: {origin: files, train: [{nl: a, en: b}], hold_out: {dev: 1, test: 1}}}"
    text = f"experiment: mine\nonly: [nlen]\ntasks: {{nlen: {{{task}, models: [big, base]}}}}\n{corpora}\n"
    mine = read(text)
    assert [name for name, task in mine.tasks.items() if task.models] == ["nlen"]
    assert mine.drawn == ("nlen", "base")
    assert mine.tasks["nlen"].kind == "translation"
    assert mine.tasks["nlen"].decoding == SECTION_6_1
    mine = read(text.replace("[big, base]", "[recurrent, big], decoding: {alpha: 1.0}"))
    assert mine.drawn == ("nlen", "big")
    assert mine.tasks["nlen"].decoding == replace(SECTION_6_1, alpha=1.0)
    with pytest.raises(InputError, match=r"line 5: figures\.task: ende is not run; name a task that is"):
        read(text + "figures: {task: ende}\n")


def test_the_documentation_s_experiment_with_table_4_only_is_valid(tmp_path):
    page = (ROOT / "config/README.md").read_text()
    block = page.partition("whose `wsj`\nreads `penn-treebank`:\n\n")[2]
    (tmp_path / "own.yaml").write_text(textwrap.dedent(block.partition("\n\n")[0]))
    own = read_experiment([ROOT / "config/paper.yaml", tmp_path / "own.yaml"])
    assert {task for task, settings in own.tasks.items() if settings.models} == {"wsj"}
    assert own.tasks["wsj"].corpus == "penn-treebank"
    assert own.drawn == ("wsj", "parser")


def test_a_target_whose_tokeniser_is_missing_is_refused_if_it_is_scored(read, monkeypatch):
    monkeypatch.setattr("transformer.evaluation.tokenisers.find_spec", lambda _: None)
    overlay = "tasks: {mine: {corpus: t, source: en, target: ja, vocabulary: 9, models: []}}\n"
    overlay += "corpora: {t: {origin: files, train: [{en: a, ja: b}], hold_out: {dev: 1, test: 1}}}"
    read(overlay)
    with pytest.raises(InputError, match=r"tasks\.mine\.target: BLEU of ja needs mecab, which is not installed; run"):
        read(overlay.replace("[]", "[base]"))
