import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from commands import arguments, in_a_process

from transformer.cli.main import main, run

ROOT = Path(__file__).parents[2]


def test_every_command_has_help(capsys):
    commands = ["fetch", "corpus", "subwords", "encode", "train", "package", "translate", "score", "attention"]
    commands += ["perplexity", "describe", "parse", "draw"]
    for command in commands:
        with pytest.raises(SystemExit) as end:
            main([command, "--help"])
        assert end.value.code == 0
    assert capsys.readouterr().out.count("usage: python -m transformer") == len(commands)


@pytest.mark.parametrize("program", ["transformer", "python -m transformer"])
def test_help_names_the_command_as_it_was_called(program, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", [f"/somewhere/bin/{program}" if " " not in program else "transformer/__main__.py"])
    with pytest.raises(SystemExit):
        main(["describe", "--help"])
    assert capsys.readouterr().out.startswith(f"usage: {program} describe ")


def test_pip_installs_the_command():
    [(name, place)] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items()
    assert (name, place) == ("transformer", f"{run.__module__}:{run.__name__}")


def test_the_shell_completes_commands(tmp_path):
    words = "transformer tra"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "found"), "_ARGCOMPLETE_IFS": "\n"}
    line = {"COMP_LINE": words, "COMP_POINT": str(len(words))}
    code = "from transformer.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **asked, **line}, check=True)
    assert (tmp_path / "found").read_text().split() == ["train", "translate"]


def test_commands_start_without_pytorch_and_pydantic():
    code = "import sys, transformer.cli.main; assert not {'torch', 'pydantic'} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_translate_loads_no_large_library_that_it_does_not_use():
    code = "import sys, transformer.cli.main as cli; "
    code += "assert cli.main(['translate', '--package', 'models/ende/big/6/average-5/package']) == 0; "
    code += "print({'torch._dynamo', 'sympy', 'pandas', 'matplotlib', 'scipy'} & sys.modules.keys())"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, cwd=ROOT, input="A dog.\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    assert output.splitlines()[1:] == ["set()"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ([], "COMMAND"),
        (["fly"], "invalid choice: 'fly'"),
        (["translate"], "--package"),
        (["translate", "--package", "p", "--colour", "red"], "unrecognized arguments: --colour red; see"),
        (["translate", "--package", "p", "test.en"], "unrecognized arguments: test.en; read it with < test.en; see"),
        (["translate", "--package", "p", "--beam", "0"], "--beam: '0' is not a whole number from 1"),
        (["translate", "--package", "p", "--beam", "many"], "--beam: 'many' is not a whole number from 1"),
        (["translate", "--package", "p", "--beam", "1_0"], "--beam: '1_0' is not a whole number from 1"),
        (["translate", "--package", "p", "--beam", "٤"], "--beam: '٤' is not a whole number from 1"),
        (["translate", "--package", "p", "--alpha", "1_0"], "--alpha: '1_0' is not a number from 0 to 10"),
        (["translate", "--package", "p", "--threads", "0"], "--threads: '0' is not a whole number from 1"),
        (["translate", "--package", "p", "--batch-tokens", "-5"], "--batch-tokens: '-5' is not a whole number from 1"),
        (["translate", "--package", "p", "--sample", "-1"], "--sample: '-1' is not a whole number from 0"),
        (["attention", "--package", "p", "--layer", "1_0"], "--layer: '1_0' is not a whole number from 0"),
        (["package", "--beam", "0"], "--beam: '0' is not a whole number from 1"),
        (["package", "--beam", "1_0"], "--beam: '1_0' is not a whole number from 1"),
        (["package", "--alpha", "٤"], "--alpha: '٤' is not a number from 0 to 10"),
        (["package", "--extra", "-1"], "--extra: '-1' is not a whole number from 1"),
        (["train", "--micro-batch-tokens", "-1"], "--micro-batch-tokens: '-1' is not a whole number from 0"),
        (["train", "--trainings-per-gpu", "0"], "--trainings-per-gpu: '0' is not a whole number from 1"),
        (["translate", "--package", "p", "--sample", "1", "--beam", "2"], "not allowed with argument --sample"),
        (["subwords", "--kind", "poetry"], "--kind: invalid choice: 'poetry'"),
    ],
)
def test_a_wrong_command_line_is_refused(refused, line, message):
    refused(line, message, "--help")


@pytest.fixture
def named(house, tmp_path):
    """Files of a user's, one of them also by a link, by a hard link and by another spelling of its path."""
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("the cat .\n")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "hard").hardlink_to(tmp_path / "a")
    (tmp_path / "p").symlink_to(house.package)
    return {"other": f"{tmp_path}/../{tmp_path.name}/a", **{name: tmp_path / name for name in ("a", "link", "hard")}}


@pytest.mark.parametrize("spelling", ["a", "link", "hard", "other"])
def test_an_output_may_not_be_an_input_or_another_output(house, tmp_path, refused, named, spelling):
    texts = {"source": tmp_path / "a", "target": tmp_path / "b"}
    same, package, p = named[spelling], house.package, tmp_path / "p"
    new = {"log_probabilities": tmp_path / "new", "record": f"{tmp_path}/./new"}
    scored = {"reference": tmp_path / "b", "translations": tmp_path / "b", "record": tmp_path / "c", "part": "dev"}
    three = {"baseline": tmp_path / "b", "system": tmp_path / "a", "reference": tmp_path / "c"}
    lines = [
        arguments("subwords", **texts, vocabulary=60, output=same),
        arguments("subwords", source=tmp_path / "b", target=tmp_path / "a", vocabulary=60, output=same),
        arguments("sentences", text=tmp_path / "a", output=same, count=1, words=[1, 9]),
        arguments("encode", subwords=tmp_path / "x.ids.npy", **texts, output=tmp_path / "x"),
        arguments("longer", subwords=same, source=tmp_path / "x.target", target=same, output=tmp_path / "x", than=3),
        arguments("score", package=package, **texts, **scored, output=same),
        arguments("compare", **three, output=same),
        arguments("draw", reference=tmp_path / "b", translations=tmp_path / "a", output=same),
        arguments("translate", package=package, attention=same, record=tmp_path / "a"),
        arguments("translate", package=package, **new),
        arguments("translate", package=p, record=package / "config.json"),
        arguments("parse", package=package, svg=p / "model.safetensors"),
        arguments("attention", "a", package=package, html=same, output=tmp_path / "a"),
        arguments(
            "train", config=tmp_path / "r/history.csv", subwords=same, tokens=tmp_path, output_dir=tmp_path / "r"
        ),
        arguments("package", **house.packing | {"corpus": p / "config.json"}, output_dir=package),
        arguments("corpus", config=tmp_path / "c", gold=tmp_path, output_dir=f"{tmp_path}/../{tmp_path.name}"),
        arguments("complexity", config=tmp_path / "a", output=same),
    ]
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for line in lines:
        refused(line, " are both ", "name two files")
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_pipe_is_no_file_to_read_because_many_are_read_twice(house, tmp_path, refused):
    os.mkfifo(tmp_path / "pipe")
    sides = {"source": house.corpus / "dev.source", "target": tmp_path / "pipe"}
    lines = [
        arguments("encode", subwords=house.subwords, **sides, output=tmp_path / "train"),
        arguments("check", subwords=house.subwords, texts=[house.corpus / "dev.source", tmp_path / "pipe"]),
    ]
    for line in lines:
        refused(line, tmp_path / "pipe", "is a pipe")


def test_an_output_may_not_be_the_standard_input_or_output(house, tmp_path):
    text, printed = tmp_path / "text", tmp_path / "printed"
    text.write_text("the cat .\n")
    for record, stream in ((text, "standard input"), (printed, "standard output")):
        line = arguments("translate", package=house.package, record=record)
        with text.open() as read, printed.open("w") as written:
            process = in_a_process(line, stdin=read, stdout=written, stderr=subprocess.PIPE)
            _, errors = process.communicate()
        assert errors == f"error: --record: {record} is also {stream}; name another file\n"
    assert text.read_text() == "the cat .\n"


def test_the_standard_output_may_not_be_the_standard_input(house, tmp_path):
    text = tmp_path / "text"
    text.write_text("the cat .\n")
    with text.open() as read, text.open("a") as written:
        line = arguments("translate", package=house.package)
        _, errors = in_a_process(line, stdin=read, stdout=written, stderr=subprocess.PIPE).communicate()
    assert errors == "error: standard input and standard output are one file; name another file after >\n"
    assert text.read_text() == "the cat .\n"


@pytest.mark.parametrize("missing", ["source", "target"])
def test_a_missing_text_is_named(house, tmp_path, refused, missing):
    sides = house.sides("dev") | {missing: tmp_path / "nowhere"}
    line = arguments("subwords", **sides, output=tmp_path / "m", vocabulary=60)
    refused(line, f"{tmp_path}/nowhere", "cannot be read")
    refused(arguments("encode", subwords=house.subwords, **sides, output=tmp_path / "t"), f"{tmp_path}/nowhere")
    assert not list(tmp_path.iterdir())


def test_text_that_is_not_utf8_is_named_with_its_line(house, tmp_path, refused, standard_input):
    bad, good, out = tmp_path / "bad", tmp_path / "good", tmp_path / "out"
    bad.write_bytes("gut\nschön\n".encode() + "schön\n".encode("latin-1"))
    good.write_text("a\nb\nc\n")
    named = (f"{bad}, line 3: byte 0xf6 is not UTF-8",)
    refused(arguments("subwords", source=good, target=bad, output=out, vocabulary=60), *named)
    refused(arguments("encode", subwords=house.subwords, source=bad, target=good, output=out), *named)
    refused(arguments("perplexity", package=house.package, source=bad, target=good), *named)
    standard_input(bad.read_bytes())
    line = arguments("translate", package=house.package, attention=tmp_path / "page.html")
    refused(line, "standard input, line 3: byte 0xf6 is not UTF-8")
    assert sorted(tmp_path.iterdir()) == [bad, good]


def test_a_text_whose_lines_end_with_cr_alone_is_refused(house, tmp_path, refused, standard_input):
    old, said = tmp_path / "old", "its lines end with CR alone; end them with LF: tr "
    old.write_bytes(b"the cat .\ra dog\r")
    standard_input(old.read_bytes())
    refused(arguments("translate", package=house.package), f"standard input: {said}")
    refused(arguments("perplexity", package=house.package, source=old, target=old), f"{old}: {said}")
    both = {"baseline": old, "system": old, "reference": old}
    refused(arguments("compare", **both, output=tmp_path / "c"), f"{old}: {said}")
    assert list(tmp_path.iterdir()) == [old]


def test_a_missing_part_of_a_package_is_named_with_the_remedy(house, tmp_path, refused):
    for name in ("model.safetensors", "subwords.model", "history.csv"):
        lacking = shutil.copytree(house.package, tmp_path / name)
        (lacking / name).unlink()
        refused(arguments("describe", package=lacking), f"{lacking}/{name}: no such file; copy or make it again")


def test_lines_that_cannot_be_translated_are_named(house, tmp_path, refused, standard_input):
    for bad, message in (
        (b"a\0b", "standard input, line 2: a NUL"),
        (b"the cat " * 5000, "subwords, but at most 4096"),
    ):
        standard_input(b"the cat .\n" + bad + b"\n")
        line = arguments("translate", package=house.package, attention=tmp_path / "page.html")
        refused(line, message, "line 2: ")
    texts = {side: tmp_path / side for side in ("source", "target")}
    texts["source"].write_text("the cat .\na dog\n")
    texts["target"].write_text("the cat .\n" + "the cat " * 5000)
    refused(arguments("perplexity", package=house.package, **texts), *texts.values(), "line 2: ", "split the line")
    assert sorted(tmp_path.iterdir()) == sorted(texts.values())


def test_files_of_different_length_are_refused_with_both_counts(house, tmp_path, refused):
    one, two = house.corpus / "dev.source", house.corpus / "train.target"
    counts = (f"{one} has 8 lines", f"{two} has 200")
    refused(arguments("subwords", source=one, target=two, output=tmp_path / "m", vocabulary=60), *counts)
    refused(arguments("encode", subwords=house.subwords, source=one, target=two, output=tmp_path / "t"), *counts)
    refused(arguments("perplexity", package=house.package, source=one, target=two), *counts)
    assert not list(tmp_path.iterdir())


def test_an_empty_corpus_is_refused(house, tmp_path, refused):
    empty = tmp_path / "empty"
    empty.touch()
    refused(arguments("subwords", source=empty, target=empty, output=tmp_path / "m", vocabulary=60), empty, "empty")
    refused(arguments("encode", subwords=house.subwords, source=empty, target=empty, output=tmp_path / "t"), empty)
    assert list(tmp_path.iterdir()) == [empty]


def test_commands_refuse_a_folder_without_a_package_and_a_damaged_package(house, tmp_path, refused):
    refused(arguments("translate", package=tmp_path / "none"), f"{tmp_path}/none: is not a package")
    refused(arguments("describe", package=tmp_path / "none"), f"{tmp_path}/none: is not a package")
    broken = shutil.copytree(house.package, tmp_path / "broken")
    with (broken / "model.safetensors").open("r+b") as stream:
        stream.truncate(1000)
    refused(arguments("translate", package=broken), f"{broken}/model.safetensors: SHA-256")
    refused(arguments("describe", package=broken), f"{broken}/model.safetensors: SHA-256")
