import os
import re
import shlex
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.pages import ROOT
from tests.workflow.calls import touch_treebank
from transformer.corpora.fetch import Download
from transformer.corpora.parts import PARTS
from transformer.corpora.plain import PlainText
from transformer.corpora.self_training import ParsedText, SelfTraining
from transformer.corpora.texts import Files
from transformer.corpora.treebank import Treebank
from transformer.support.faults import ConfigError
from transformer.support.files import InputError
from transformer.support.strict import located, parse_yaml
from workflow.experiment.config import Experiment, read_experiment
from workflow.experiment.downloads import downloads_of
from workflow.experiment.sources import read_sources


@pytest.fixture
def own(tmp_path):
    """A user's own corpus, whose files exist."""
    paths = {}
    for part in PARTS:
        paths[part] = ({language: str(tmp_path / f"{part}.{language}") for language in ("en", "de")},)
        for path in paths[part][0].values():
            (tmp_path / path).touch()
    return Files(origin="files", **paths)


class Tasks(SimpleNamespace):
    """The part of an experiment that its downloads depend on."""

    corpus_of, files_of = Experiment.corpus_of, Experiment.files_of


def experiment(corpus, downloads):
    task = SimpleNamespace(corpus="c", source="en", target="de", models=("base",))
    unused = SimpleNamespace(corpus="unused", models=())
    return Tasks(tasks={"ende": task, "enfr": unused}, corpora={"c": corpus}, downloads=downloads)


def test_an_experiment_needs_the_downloads_of_the_tasks_that_have_models(own):
    archive = "http://a.org/x.tgz"
    corpus = replace(own, train=({"en": f"{archive}/in.en", "de": f"{archive}/in.de"},))
    known = {archive: Download(5, "0" * 64), "http://a.org/other": Download(6, "1" * 64)}
    assert downloads_of(experiment(corpus, known)) == {archive: known[archive]}
    with pytest.raises(InputError, match=r"corpora\.c: http://a\.org/x\.tgz has no size and SHA-256") as error:
        downloads_of(experiment(corpus, {}))
    remedy = re.search("write (.*), with", str(error.value))[1]
    assert parse_yaml(remedy, "") == {"downloads": {archive: {"bytes": "...", "sha256": "..."}}}


@pytest.mark.parametrize(
    ("train", "line", "said"),
    [
        ("[{nl: all.nl, EN: all.en}]", 8, "tasks.nlen.target: unknown language en; did you mean EN?"),
        ("[{nl: a, en: b}, {nl: c, EN: d}]", 3, "corpora.mine.train[1]: unknown language en; did you mean EN?"),
        ("[{nl: ~/all.nl, en: all.en}]", 3, "corpora.mine.train[0].nl: location '~/all.nl': "),
        ("[{nl: all.nl, en: all.nl}]", 3, "corpora.mine.train[0]: all.nl is named for both nl and en"),
        ("[{nl: all.nl, en: all.en}]", 2, "corpora.mine: all.nl: no such file"),
    ],
)
def test_a_fault_of_a_location_or_a_language_names_its_file_and_its_line(tmp_path, monkeypatch, train, line, said):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(
        f"corpora:\n  mine:\n    train: {train}\n    origin: files\n    hold_out: {{dev: 5, test: 5}}\n"
        "only: [nlen]\ntasks:\n  nlen: {corpus: mine, source: nl, target: en, vocabulary: 99, models: [base]}\n"
    )
    with pytest.raises(ConfigError) as error:
        downloads_of(read_experiment([Path("mine.yaml")]))
    told = str(located(error.value, read_sources([Path("mine.yaml")])).faults[0])
    assert told.startswith(f"mine.yaml, line {line}: {said}")


def test_an_experiment_needs_the_downloads_of_the_text_that_its_parsers_learn_from(own):
    task = {name: SimpleNamespace(corpus=name, source="en", target="de", models=()) for name in ("ende", "wsj", "semi")}
    task["semi"].models = ("parser",)
    wsj = Treebank("treebank", "http://a/t.zip/w", (1, 2), (3, 3), (4, 4), plain=PlainText("ende", 5, (1, 9), 1))
    text = replace(own, train=({"en": "http://a/x.en", "de": "http://a/x.de"},))
    known = {
        url: Download(5, "0" * 64) for url in ("http://a/t.zip", "http://a/x.en", "http://a/x.de", "http://a/more")
    }
    two = SelfTraining("self-training", "", "", "wsj", "parser", 1, 1.0)
    one = ParsedText("parsed-text", "", "", "wsj", ("http://a/more",), 1)
    for corpus, wanted in ((two, {*known} - {"http://a/more"}), (one, {"http://a/t.zip", "http://a/more"})):
        corpora = {"ende": text, "wsj": wsj, "semi": corpus}
        assert {*downloads_of(Tasks(tasks=task, corpora=corpora, downloads=known))} == wanted


@pytest.fixture
def paper():
    """The paper's experiment with another folder for its treebank."""

    def read(folder, **changes):
        experiment = read_experiment([ROOT / "config/paper.yaml"])
        trees = replace(experiment.corpora["penn-treebank"], trees=str(folder))
        return replace(experiment, corpora=experiment.corpora | {"penn-treebank": trees}, **changes)

    return read


@pytest.mark.parametrize(
    ("sections", "said"),
    [([], "no such folder; paths are relative to .*"), ([*range(20), 22], "it has no files .* of section 20, 21")],
)
def test_a_missing_treebank_is_refused_before_anything_runs_with_both_ways_out(tmp_path, paper, sections, said):
    touch_treebank(tmp_path / "wsj", sections)
    says = rf"^corpora\.penn-treebank\.trees: {tmp_path}/wsj: {said}; set `trees` of the corpus to the folder of the "
    with pytest.raises(InputError, match=says + r"sections, .*; or leave out .*: --config 'only=\[ende, enfr\]'$"):
        downloads_of(paper(tmp_path / "wsj"))
    downloads_of(paper(tmp_path / "wsj", only=("ende", "enfr")))
    with pytest.raises(InputError, match=r"combined/wsj_0001\.mrg to wsj_0199\.mrg$"):  # all tasks need it
        downloads_of(paper(tmp_path / "wsj", only=("wsj",)))


@pytest.mark.parametrize("linked", [False, True])
def test_a_text_with_a_date_in_the_future_is_refused_with_its_cure(own, tmp_path, linked):
    text, later = Path(own.train[0]["en"]), time.time() + 3600
    os.utime(text, (later, later))
    if linked:
        (tmp_path / "a link.en").symlink_to(text)
        text = tmp_path / "a link.en"
    corpus = replace(own, train=({**own.train[0], "en": str(text)},))
    with pytest.raises(InputError, match=rf"corpora\.c: {text}: its date is in .*; run touch {shlex.quote(str(text))}"):
        downloads_of(experiment(corpus, {}))
    os.utime(text)
    downloads_of(experiment(corpus, {}))
