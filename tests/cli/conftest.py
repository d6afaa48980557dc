import io
import shutil
import sys
from types import SimpleNamespace

import pytest
from commands import CORPUS, arguments

from transformer.cli.main import main
from transformer.support.files import write_json, write_lines
from transformer.support.strict import write_config


@pytest.fixture(scope="session")
def house(tmp_path_factory, text, run_config):
    """The files of every stage, made by the commands."""
    root = tmp_path_factory.mktemp("house")
    corpus = root / "corpora"
    for part, seed, count in (("train", 0, 200), ("dev", 1, 8)):
        lines = text(seed, count)
        write_lines(corpus / f"{part}.source", lines)
        write_lines(corpus / f"{part}.target", [" ".join(reversed(line.split())) for line in lines])
    write_json(corpus / "corpus.json", CORPUS)
    config = run_config(longest_pair=64, batch_tokens=400)
    write_config(root / "config.yaml", config)

    def sides(part):
        return {side: corpus / f"{part}.{side}" for side in ("source", "target")}

    subwords = root / "ende.model"
    assert main(arguments("subwords", **sides("train"), output=subwords, vocabulary=60)) == 0
    for part in ("train", "dev"):
        assert main(arguments("encode", subwords=subwords, **sides(part), output=root / "tokens" / part)) == 0
    options = {"config": root / "config.yaml", "subwords": subwords}
    assert main(arguments("train", **options, tokens=root / "tokens", output_dir=root / "run")) == 0
    run, package = root / "run", root / "package"
    options |= {"corpus": corpus / "corpus.json", "training": run / "training.json", "history": run / "history.csv"}
    options |= {"checkpoints": [run / f"checkpoints/step-{step}.safetensors" for step in (12, 9)]}
    assert main(arguments("package", **options, output_dir=package, beam=2, extra=5)) == 0
    made = {"root": root, "corpus": corpus, "sides": sides, "subwords": subwords, "run": run}
    return SimpleNamespace(**made, package=package, packing=options)


@pytest.fixture
def refused(capsys):
    """Run a command that must end with one line "error: ..." that contains all of `parts`."""

    def check(line, *parts):
        capsys.readouterr()
        assert main(line) == 1
        captured = capsys.readouterr()
        message = captured.err.splitlines()[-1]
        assert message.startswith("error: ")
        assert sum(line.startswith("error: ") for line in captured.err.splitlines()) == 1
        assert "Traceback" not in captured.err
        assert not captured.out
        for part in parts:
            assert str(part) in message

    return check


@pytest.fixture
def standard_input(monkeypatch):
    return lambda content: monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.fixture
def tree_parser(house, tmp_path, change_package):
    """The package, with its kind changed to parsing."""
    package = shutil.copytree(house.package, tmp_path / "parser")
    change_package(package, kind="parsing")
    return package


@pytest.fixture
def scoring(house, tmp_path, recorded):
    """The command line that scores a file of translations of dev, by default the references, with changed options."""

    def line(**changes):
        sides = {side: house.corpus / f"dev.{side}" for side in ("source", "target")}
        options = {"package": house.package, **sides, "reference": sides["target"], "translations": sides["target"]}
        options |= {"part": "dev", "output": tmp_path / "scores.json", **changes}
        if "record" not in changes:
            options["record"] = recorded(options["package"], options["translations"])
        return arguments("score", **options)

    return line
