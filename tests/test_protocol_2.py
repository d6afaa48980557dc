"""The protocol of the studies `help-pages` and `wider`: its configs, and the runs that are released."""

import dataclasses
import io
import json
import subprocess
import tarfile
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import PurePath

import pytest

from tests.pages import ROOT
from tests.test_protocol import HEADINGS, cells_of
from transformer.evaluation.bleu import sacrebleu
from transformer.model.parameters import parameters
from workflow.dag.paths import Paths
from workflow.dag.runs import Runs
from workflow.experiment.config import read_experiment
from workflow.experiment.scale import WIDTHS
from workflow.results.selection import Selection

PAGE = "docs/protocol-2.md"
STUDIES = ("help-pages", "wider")
of_each = pytest.mark.parametrize("name", STUDIES)


@cache
def study(name):
    return read_experiment([ROOT / f"config/{name}.yaml"])


def test_the_protocol_lists_every_claim_of_both_studies():
    rows = {}
    for name in STUDIES:
        for claim in filter(lambda each: each.family, study(name).claims.values()):
            rows.setdefault(cells_of(claim), []).append(name)
    told = (ROOT / PAGE).read_text().splitlines()
    head = (*HEADINGS[:-1], "studies")
    table = [f"| {' | '.join([*cells, ', '.join(names)])} |" for cells, names in sorted(rows.items())]
    start = told.index(f"| {' | '.join(head)} |")
    assert told[start + 1 : start + len(rows) + 3] == ["|---" * len(head) + "|", *table, ""]


@of_each
def test_every_claim_that_a_study_can_test_has_a_family_unless_it_is_about_time(name):
    runs = Runs(study(name), Paths.of(study(name)))
    searches = {f"ende/base/{search}".rstrip("/") for search in runs.searches}
    for claim in study(name).claims.values():
        trained = {("ende", model) for model in runs.trained["ende"]}
        searched = {row for row in claim.rows if "/beam-" in row} <= searches
        testable = claim.metric != "step_time" and set(claim.runs()) <= trained and searched
        assert claim.family in (("perplexity", "BLEU") if testable else (None,))


@of_each
def test_the_runs_differ_from_those_of_the_replication_in_what_the_protocol_says(name):
    here, replication = study(name), read_experiment([ROOT / "config/replication.yaml"])
    used = [seed for model in replication.tasks["ende"].models for seed in replication.seeds_of("ende", model)]
    assert not set(here.seeds) & {*used, *read_experiment([ROOT / "config/small.yaml"]).seeds}
    assert here.tasks["ende"].decoding == replication.tasks["ende"].decoding
    assert here.tasks["ende"].vocabulary == replication.tasks["ende"].vocabulary
    wider = {"help-pages": 1, "wider": 2}[name]
    for model in here.tasks["ende"].models:
        first = replication.run("ende", model, here.seeds[0])
        sizes = {key: wider * getattr(first.architecture, key) for key in WIDTHS if hasattr(first.architecture, key)}
        architecture = dataclasses.replace(first.architecture, **sizes)
        training = dataclasses.replace(first.training, precision="bfloat16")
        assert here.run("ende", model, here.seeds[0]) == dataclasses.replace(
            first, architecture=architecture, training=training
        )


@of_each
def test_other_networks_are_as_large_as_base(name):
    base, *others = (
        parameters(study(name).run("ende", model, 16).architecture, 3000)
        for model in ("base", "recurrent", "convolutional")
        if model in study(name).tasks["ende"].models
    )
    assert all(abs(other / base - 1) < 0.05 for other in others)


# The runs that are released so far.


@cache
def released(name):
    """The archive of each released run of a study: (model, seed) -> path in the archive -> content."""
    runs = {}
    for path in sorted((ROOT / f"results/released/{name}/runs/ende").glob("*/*.tar.xz")):
        with tarfile.open(path) as archive:
            content = {member.name: archive.extractfile(member).read() for member in archive}
        runs[path.parent.name, int(path.name.partition(".")[0])] = content
    return runs or pytest.skip(f"no run of {name} is released yet")


@of_each
def test_released_runs_have_one_clean_commit_with_the_protocol_and_its_configs(name):
    commits = set()
    for (model, seed), files in released(name).items():
        assert seed in study(name).seeds
        records = [json.loads(text) for path, text in files.items() if path.endswith("package/config.json")]
        assert records
        for record in (each["training"] for each in records):
            assert (record["task"], record["model"], record["seed"]) == ("ende", model, seed)
            assert record["precision"] == "bfloat16"
            assert record["config_sha256"] == study(name).run("ende", model, seed).sha256()
            commits |= {record["software"]["commit"], *(each["software"]["commit"] for each in record["attempts"])}
    [commit] = commits
    then = subprocess.run(["git", "show", f"{commit}:{PAGE}"], cwd=ROOT, capture_output=True, text=True)
    if then.returncode:
        pytest.skip(f"the history of this clone does not have {commit}")
    now = (ROOT / PAGE).read_text().partition("\n## Added later")[0].rstrip()
    assert then.stdout.partition("\n## Added later")[0].rstrip() == now


@of_each
def test_all_that_tables_read_of_a_released_run_is_in_its_archive(name):
    """But comparisons with base, which can be made again from the translations."""
    experiment = study(name)
    selection = Selection(experiment, Runs(experiment, Paths.of(experiment)), ROOT / "config/published.yaml")
    inputs = chain.from_iterable(plan.input.values() for _, result, plan in selection.planned if result.packed)
    read = {str(path) for files in inputs for path in (files if isinstance(files, list) else [files])}
    for (model, seed), files in released(name).items():
        folder = f"results/{name}/runs/ende/{model}/{seed}/"
        expected = {path for path in read if path.startswith(folder) and not path.endswith(".comparison.json")}
        expected |= {f"{folder}average-1/{part}.scores.json" for part in ("dev", "test")}
        assert expected <= files.keys()


@of_each
def test_released_translations_are_those_that_were_scored(name):
    for files in released(name).values():
        for path in (each for each in files if each.endswith(".scores.json")):
            translation = files[path.replace(".scores.json", ".translation")]
            assert json.loads(files[path])["decoding"]["translations"] == sha256(translation).hexdigest()


@of_each
def test_released_translations_have_the_released_bleu(name):
    """Of every tenth run, because scoring takes a second."""
    runs = list(released(name).values())[::10]
    with tarfile.open(ROOT / f"results/released/{name}/runs/ende/references.tar.xz") as archive:
        references = {PurePath(member.name).stem: archive.extractfile(member).read() for member in archive}
    for files in runs:
        for path in (each for each in files if each.endswith(".scores.json")):
            score = json.loads(files[path])
            texts = (files[path.replace(".scores.json", ".translation")], references[score["part"]])
            lines = [io.StringIO(text.decode(), newline="\n").read().split("\n")[:-1] for text in texts]
            assert sacrebleu(*lines, "de").score == pytest.approx(score["sacrebleu"]["score"])
