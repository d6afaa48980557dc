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


@pytest.mark.parametrize(
    ("name", "there", "here", "said"),
    [
        # Machines differ in speed, in the last digits, and in what decodes.
        ("h.csv", HISTORY.format(800, 6.25), HISTORY.format(1, 6.25), ""),
        ("s", SCORES, {"perplexity": 7.12346, "decoding": {"translations": "ab", "engine": "another"}}, ""),
        ("c", PACKAGE, {"device": "another"}, ""),
        ("h.csv", HISTORY.format(1, 6.25), HISTORY.format(1, 6.5), "h.csv: from step 100"),
        ("h.csv", HISTORY.format(1, 6.25), HISTORY.partition("100")[0].format(1), "h.csv: from step 100"),
        ("h.csv", HISTORY.format(1, 6), HISTORY.format(1, 6) + "150,6,1\n", "h.csv: from step the end"),
        ("s", SCORES, {"perplexity": 7.2}, "s: perplexity"),
        ("s", SCORES, {"decoding": {"translations": "x"}}, "s: translations"),
        ("c", PACKAGE, {"sha256": {"model.safetensors": "f"}}, "c: weights"),
    ],
)
def test_it_says_where_a_run_departs(name, there, here, said):
    texts = (there, here) if isinstance(there, str) else (json.dumps(there), json.dumps(there | here))
    assert again.departure(name, *(text.encode() for text in texts)) == said


def test_every_released_run_can_be_compared_with_itself():
    found = again.released(ROOT / "results/released/replication/scores.tar.gz", "results/replication/runs/ende/base/11")
    assert {"average-1/package/history.csv", "average-5/test.scores.json"} <= found.keys()
    assert [again.departure(name, text, text) for name, text in found.items()] == [""] * len(found)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A working folder with the released scores of one run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(again, "RELEASED", tmp_path / "released")
    (tmp_path / "released/small").mkdir(parents=True)
    text = json.dumps(SCORES).encode()
    member = tarfile.TarInfo("results/small/runs/ende/base/1/average-1/dev.scores.json")
    member.size = len(text)
    with tarfile.open("released/small/scores.tar.gz", "w:gz") as archive:
        archive.addfile(member, io.BytesIO(text))
    return tmp_path


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("experiment", "run"), [("small", "ende/base/11"), ("small", "base/1"), ("x", "ende/base/1")])
def test_a_run_that_is_not_released_is_an_error(experiment, run):
    with pytest.raises(
        InputError, match=f"released/{experiment}/scores.tar.gz: has no results/{experiment}/runs/{run}; "
    ):
        again.main(experiment, run)


def test_the_run_is_trained_in_a_folder_of_its_own_and_compared(small, monkeypatch):
    made = small / "results/again-small/runs/ende/base/1/average-1/dev.scores.json"
    made.parent.mkdir(parents=True)
    commands = []
    monkeypatch.setattr(again.subprocess, "run", lambda command, **_: commands.append(command))
    for perplexity, said in ((7.1234567, "ende/base/1: weights,"), (8.0, "average-1/dev.scores.json: ")):
        made.write_text(json.dumps(SCORES | {"perplexity": perplexity}))
        assert again.main("small", "ende/base/1").startswith(said)
    asked = ["experiment=again-small", "--", str(made.relative_to(small))]
    assert [command[-3:] for command in commands] == [asked, asked]
