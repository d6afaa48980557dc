import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from transformer.experiment.config import Task
from transformer.experiment.origin import check_origin
from transformer.package.config import Decoding
from transformer.package.package import load_package
from transformer.package.readme import write_readme
from transformer.support.files import InputError, read_lines, write_json
from transformer.support.tensors import read_tensors

CPU = torch.device("cpu")


def test_what_is_saved_is_loaded_and_ready(save, run_config):
    folder = save()
    loaded = load_package(folder, CPU)
    weights, _ = read_tensors(folder / "model.safetensors")
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.model.state_dict().items())
    assert not loaded.model.training
    assert loaded.config.architecture == run_config().architecture
    assert loaded.config.decoding.beam == 3
    assert loaded.config.averaged == (6, 9, 12)
    assert loaded.config.vocabulary == len(loaded.subwords)


@pytest.mark.parametrize("changes", [{"positions": "learned"}, {"d_v": 5, "h": 3}])
def test_other_architectures_come_back_too(save, run_config, changes):
    assert load_package(save(**changes), CPU).config.architecture == run_config(**changes).architecture


def test_it_stands_alone_wherever_it_is_moved(save, tmp_path, text, translations):
    lines = text(3, 5)
    folder = save()
    before = list(translations(load_package(folder, CPU), lines, 2, 200))
    moved = shutil.move(folder, tmp_path / "elsewhere" / "model")
    assert not folder.exists()
    assert list(translations(load_package(moved, CPU), lines, 2, 200)) == before
    assert sorted(path.name for path in moved.iterdir()) == [
        "README.md",
        "config.json",
        "history.csv",
        "model.safetensors",
        "subwords.model",
    ]
    assert all(str(tmp_path).encode() not in path.read_bytes() for path in moved.iterdir())


def test_the_same_package_is_the_same_bytes(save):
    one, other = save("one"), save("other")
    assert all((other / path.name).read_bytes() == path.read_bytes() for path in one.iterdir())


@pytest.fixture
def scores(tmp_path):
    """Write the scores of a part as `score` does, of the package that `save` writes, some of them changed."""

    def write(part, **changes):
        made = {"task": "ende", "model": "base", "seed": 1, "average": 3, "part": part, "sentences": 2500}
        scored = {"beam": 4, "alpha": 0.6, "perplexity": 5.678, **changes}
        path = tmp_path / f"{part}.scores.json"
        write_json(path, made | scored)
        return path

    return write


def test_the_readme_is_filled(save):
    readme = "\n".join(read_lines(save() / "README.md"))
    assert "{" not in readme
    assert "# base, en to de" in readme
    assert "trained on toy (random words; CC0)" in readme
    assert "| parameters | 1,234 |" in readme
    assert "| model | N 1, d_model 16, d_ff 32, h 2 |" in readme
    assert "| steps | 12 (4,321 target subwords), the average of 3 checkpoint(s) |" in readme
    assert "| training data | 5,678 pairs, but for 7 of more than 20 subwords on a side |" in readme
    assert "| dev perplexity | 8.77 a subword, of the start of dev at step 12, before averaging |" in readme
    assert "| scores | none yet |" in readme
    assert "python -m transformer translate --package" in readme
    assert "| made with | commit 1234abcd-dirty, torch 2.13.0 |" in readme
    assert "| config | SHA-256 c0ffee |" in readme
    assert "| cost | 1.5e+12 FLOPs; 1.00 hours on 2 x abacus, float32 |" in readme


def test_the_readme_has_the_scores_of_each_part(save, scores):
    folder = save()
    sacrebleu = {"score": 27.25, "signature": "nrefs:1|tok:13a"}
    paper = {"score": 27.96, "signature": "nrefs:1|tok:none"}
    brackets = {"brackets": {"f1": 91.26, "recall": 90.5, "precision": 92.04}}
    write_readme(folder, [scores("dev", sacrebleu=sacrebleu, paper_bleu=paper), scores("test", **brackets)])
    dev, test = (line for line in read_lines(folder / "README.md") if line.startswith("| scores |"))
    where = "2,500 sentences, beam 4, alpha 0.6: "
    assert dev == (
        f"| scores | dev, {where}BLEU 27.2 (nrefs:1\\|tok:13a), BLEU as the paper's script counts 28.0 "
        "(nrefs:1\\|tok:none); perplexity of a subword 5.68 |"
    )
    assert test == (
        f"| scores | test, {where}F1 91.3 (recall 90.5, precision 92.0, as EVALB); perplexity of a subword 5.68 |"
    )


def test_the_readme_of_a_parser_says_how_to_parse(save):
    folder = save()
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"kind": "parsing"}))
    write_readme(folder, [])
    assert "Parse, a sentence a line:" in read_lines(folder / "README.md")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "big"}, "scores of .*'model': 'big'.* give those of this package"),
        ({}, "KeyError.*score again"),
        ({"sentences": "x", "brackets": {}}, "ValueError.*score again"),
    ],
)
def test_what_are_no_scores_of_the_package_is_refused(save, scores, changes, message):
    folder = save()
    before = (folder / "README.md").read_bytes()
    with pytest.raises(InputError, match=rf"dev\.scores\.json: .*{message}"):
        write_readme(folder, [scores("dev", **changes)])
    assert (folder / "README.md").read_bytes() == before


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "subwords.model", "history.csv"])
def test_a_missing_file_is_named(save, name):
    folder = save()
    (folder / name).unlink()
    with pytest.raises(InputError, match=name):
        load_package(folder, CPU)


@pytest.mark.parametrize("name", ["model.safetensors", "subwords.model", "history.csv"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999])
def test_a_damaged_file_is_named(save, name, share):
    path = save() / name
    content = bytearray(path.read_bytes())
    content[int(share * len(content))] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"{name}: SHA-256 [0-9a-f]{{64}}, expected [0-9a-f]{{64}}"):
        load_package(path.parent, CPU)


def test_a_file_of_another_package_is_named(save):
    one, other = save("one"), save("other", seed=2)
    shutil.copy(other / "model.safetensors", one / "model.safetensors")
    with pytest.raises(InputError, match=r"one/model\.safetensors: SHA-256"):
        load_package(one, CPU)


def test_a_hash_that_is_left_out_is_missed(save):
    path = save() / "config.json"
    config = json.loads(path.read_text())
    del config["sha256"]["subwords.model"]
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"subwords\.model: SHA-256 [0-9a-f]+, expected None"):
        load_package(path.parent, CPU)


def test_weights_of_another_architecture_are_refused(save):
    path = save() / "config.json"
    config = json.loads(path.read_text())
    config["architecture"]["d_ff"] = 64
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match=r"model\.safetensors is not of the architecture in config\.json"):
        load_package(path.parent, CPU)


@pytest.fixture
def experiment(run_config):
    """One that makes such packages, some keys of its task or run changed."""

    def make(run=(), **task):
        of = Task("translation", "toy", "en", "de", 60, Decoding(4, 0.6, 50), ("base",))
        return SimpleNamespace(tasks={"ende": replace(of, **task)}, run=lambda *_: run_config(**dict(run)))

    return make


def test_a_package_of_the_experiment_is_taken(save, experiment):
    check_origin(save(), experiment(), "ende/base/1/average-3")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"corpus": "help"}, "its corpus is toy, the experiment's help"),
        ({"vocabulary": 70}, "its vocabulary is 60, the experiment's 70"),
        ({"run": {"d_ff": 64}}, "its d_ff is 32, the experiment's 64"),
        ({"run": {"steps": 24}}, r"its averaged is \(6, 9, 12\), the experiment's \(18, 21, 24\)"),
    ],
)
def test_a_package_of_another_experiment_is_refused(save, experiment, changes, message):
    with pytest.raises(InputError, match=message):
        check_origin(save(), experiment(**changes), "ende/base/1/average-3")


def test_a_package_that_does_not_say_what_made_it_is_refused(save, experiment):
    path = save() / "config.json"
    config = json.loads(path.read_text())
    del config["training"]["software"]
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match="its training lacks software, as of an earlier version; train it again"):
        check_origin(path.parent, experiment(), "ende/base/1/average-3")


def test_a_package_in_the_place_of_another_is_refused(save, experiment):
    with pytest.raises(InputError, match=r"the package of ende/base/1/average-3, not of ende/base/2/average-3"):
        check_origin(save(), experiment(), "ende/base/2/average-3")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b'{"task": "ende"', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "not a mapping"),
        (b'{"task": "ende", "colour": "red"}', "unknown key colour"),
        (b'{"kind": "parse"}', "kind: .*parse"),
    ],
)
def test_a_config_that_is_none_of_ours_is_named(save, content, message):
    path = save() / "config.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"config\.json: [\s\S]*{message}"):
        load_package(path.parent, CPU)


@pytest.mark.parametrize("kind", ["missing", "file", "empty"])
def test_what_is_no_package_is_refused(tmp_path, kind):
    path = tmp_path / "package"
    if kind == "file":
        path.write_text("")
    elif kind == "empty":
        path.mkdir()
    with pytest.raises(InputError, match=f"{path}: no package"):
        load_package(path, CPU)


def test_a_record_without_what_the_readme_needs_is_refused_before_anything_is_written(save, tmp_path, monkeypatch):
    monkeypatch.setattr("transformer.package.readme.README", "{colour}")
    with pytest.raises(
        InputError, match="package: neither the record of the corpus nor that of the training has the key 'colour'"
    ):
        save()
    assert not (tmp_path / "package").exists()


def test_a_half_written_package_is_no_package(save, tmp_path, monkeypatch):
    def full(*_):
        raise InputError("config.json: cannot be written (No space left on device)")

    monkeypatch.setattr("transformer.package.package.write_json", full)
    with pytest.raises(InputError, match="No space"):
        save()
    with pytest.raises(InputError, match="no package"):
        load_package(tmp_path / "package", CPU)
