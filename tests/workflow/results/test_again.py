"""One released run, trained again."""

import io
import json
import tarfile

import pytest

from tests.pages import ROOT
from transformer.support.files import InputError
from workflow.results.claims import again

HISTORY = "step,loss,tokens_per_second\n50,7.5,{}\n100,{},900\n"
SCORES = {"perplexity": 7.1234567, "chrF": {"score": 55.5}, "decoding": {"translations": "ab", "engine": "pytorch"}}
PACKAGE = {"training": {"config_sha256": "c", "data_sha256": "d"}, "sha256": {"model.safetensors": "e"}}


def changed(record, **changes):
    return json.dumps(record | changes).encode()


def test_what_differs_between_machines_is_no_departure():
    histories = (HISTORY.format(speed, 6.25).encode() for speed in (800, 1))
    assert again.departure("a/history.csv", *histories) == ""
    other = {"translations": "ab", "engine": "another"}
    assert again.departure("a.scores.json", changed(SCORES), changed(SCORES, perplexity=7.12346, decoding=other)) == ""
    assert again.departure("package/config.json", changed(PACKAGE), changed(PACKAGE, device="another")) == ""


@pytest.mark.parametrize(
    ("name", "there", "here", "said"),
    [
        ("h.csv", HISTORY.format(1, 6.25), HISTORY.format(1, 6.5), "h.csv: from step 100"),
        ("h.csv", HISTORY.format(1, 6.25), HISTORY.partition("100")[0].format(1), "h.csv: from step 100"),
        ("h.csv", HISTORY.format(1, 6), HISTORY.format(1, 6) + "150,6,1\n", "h.csv: from step the end"),
        ("s", changed(SCORES), changed(SCORES, perplexity=7.2), "s: perplexity"),
        (
            "s",
            changed(SCORES),
            changed(SCORES, decoding={"translations": "x"}),
            "s: translations",
        ),
        (
            "c",
            changed(PACKAGE),
            changed(PACKAGE, sha256={"model.safetensors": "f"}),
            "c: weights",
        ),
    ],
)
def test_it_says_where_a_run_departs(name, there, here, said):
    there, here = (text.encode() if isinstance(text, str) else text for text in (there, here))
    assert again.departure(name, there, here) == said


def test_every_released_run_can_be_compared_with_itself():
    found = again.released(ROOT / "docs/replication/scores.tar.gz", "results/replication/runs/ende/base/11")
    assert {"average-1/package/history.csv", "average-5/test.scores.json"} <= found.keys()
    assert [again.departure(name, text, text) for name, text in found.items()] == [""] * len(found)


@pytest.mark.parametrize("run", ["ende/base/1", "base/11"])
def test_a_run_that_is_not_released_is_an_error(tmp_path, run):
    with tarfile.open(tmp_path / "scores.tar.gz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("results/x/runs/ende/base/11/a.scores.json"), io.BytesIO())
    for archive in ("scores.tar.gz", "none.tar.gz"):
        with pytest.raises(InputError, match=rf"{archive}: has no results/x/runs/{run}; give an experiment whose"):
            again.released(tmp_path / archive, f"results/x/runs/{run}")


def test_the_run_is_trained_in_a_folder_of_its_own_and_compared(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs/small").mkdir(parents=True)
    with tarfile.open("docs/small/scores.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("results/small/runs/ende/base/1/average-1/dev.scores.json")
        member.size = len(changed(SCORES))
        archive.addfile(member, io.BytesIO(changed(SCORES)))
    made = tmp_path / "results/again-small/runs/ende/base/1/average-1/dev.scores.json"
    made.parent.mkdir(parents=True)
    commands = []
    monkeypatch.setattr(again.subprocess, "run", lambda command, **_: commands.append(command))
    for scores, said in (
        (SCORES, "ende/base/1: weights,"),
        ({**SCORES, "perplexity": 8.0}, "average-1/dev.scores.json: "),
    ):
        made.write_text(json.dumps(scores))
        assert again.main("small", "ende/base/1").startswith(said)
    asked = ["experiment=again-small", "--", str(made.relative_to(tmp_path))]
    assert [command[-3:] for command in commands] == [asked, asked]
