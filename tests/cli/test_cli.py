import os
import re
import subprocess
import sys
import tomllib

import pytest
from commands import arguments

from tests.pages import ROOT
from transformer.cli.main import main, run


def test_every_command_has_help_that_names_it_as_it_was_called(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/bin/transformer"])
    with pytest.raises(SystemExit):
        main(["--help"])
    commands = re.findall(r"^    ([a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    assert {"fetch", "corpus", "encode", "train", "package", "translate", "score", "export"} <= {*commands}
    for program in ("transformer", "transformer/__main__.py"):
        monkeypatch.setattr("sys.argv", [program])
        for command in commands:
            with pytest.raises(SystemExit) as end:
                main([command, "--help"])
            assert end.value.code == 0
            name = "transformer" if program == "transformer" else "python -m transformer"
            assert capsys.readouterr().out.startswith(f"usage: {name} {command} ")


def test_pip_installs_the_command():
    [(name, place)] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"].items()
    assert (name, place) == ("transformer", f"{run.__module__}:{run.__name__}")


def test_the_shell_completes_commands_without_pytorch_and_pydantic(tmp_path):
    words = "transformer tra"
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "found"), "_ARGCOMPLETE_IFS": "\n"}
    line = {"COMP_LINE": words, "COMP_POINT": str(len(words))}
    code = "import sys, transformer.cli.main as cli; assert not {'torch', 'pydantic'} & sys.modules.keys(); cli.main()"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, **asked, **line}, check=True)
    assert (tmp_path / "found").read_text().split() == ["train", "translate"]


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
        (["translate", "--package", "p", "--beam", "many"], "--beam: 'many' is not a whole number from 1"),
        (["translate", "--package", "p", "--sample", "-1"], "--sample: '-1' is not a whole number from 0"),
        (["package", "--alpha", "nan"], "--alpha: 'nan' is not a number from 0 to 10"),
        (["translate", "--package", "p", "--sample", "1", "--beam", "2"], "not allowed with argument --sample"),
        (["score", "--part", "foo"], "--part: invalid choice: 'foo'"),
        (["train", "--limits", "dev=9"], "'dev=9' is not PART=MODEL:SUBWORDS"),
    ],
)
def test_a_wrong_command_line_is_refused(refused, line, message):
    refused(line, message, "--help")


@pytest.mark.parametrize("spelling", ["a", "link", "other"])
def test_an_output_may_not_be_an_input_or_another_output(house, tmp_path, refused, spelling):
    for name in ("a", "b"):
        (tmp_path / name).write_text("the cat .\n")
    (tmp_path / "link").symlink_to("a")
    (p := tmp_path / "p").symlink_to(house.package)
    same = f"{tmp_path}/../{tmp_path.name}/a" if spelling == "other" else tmp_path / spelling
    texts, new = {"source": tmp_path / "a", "target": tmp_path / "b"}, tmp_path / "new"
    lines = [
        arguments("subwords", **texts, vocabulary=60, output=same),
        arguments("encode", subwords=tmp_path / "x.ids.npy", **texts, output=tmp_path / "x"),
        arguments("compare", baseline=tmp_path / "b", system=tmp_path / "a", reference=tmp_path / "b", output=same),
        arguments("translate", package=house.package, log_probabilities=same, record=tmp_path / "a"),
        arguments("translate", package=house.package, log_probabilities=new, record=f"{tmp_path}/./new"),
        arguments("translate", package=p, record=house.package / "config.json"),
        arguments("package", **house.packing | {"corpus": p / "config.json"}, output_dir=house.package),
    ]
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    for line in lines:
        refused(line, " are both ", "name two files")
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_a_pipe_is_no_file_to_read_because_many_are_read_twice(house, tmp_path, refused):
    os.mkfifo(pipe := tmp_path / "pipe")
    sides = {"source": house.corpus / "dev.source", "target": pipe}
    refused(arguments("encode", subwords=house.subwords, **sides, output=tmp_path / "train"), pipe, "is a pipe")


@pytest.fixture
def texts(tmp_path):
    """Files that commands refuse, by what is wrong with them, and a whole one of three lines."""
    contents = {
        "latin-1": b"gut\nja\nsch\xf6n\n",
        "long": b"the cat .\n" + b"the cat " * 5000 + b"\na\n",
        "NUL": b"the cat .\na\0b\na\n",
        "short": b"a\nb\n",
        "whole": b"a\nb\nc\n",
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


WRONG = {
    "latin-1": ("{}, line 3: byte 0xf6 is not UTF-8",),
    "long": ("line 2: ", "subwords, but at most 4096 can be translated; split the line"),
    "NUL": ("{}, line 2: a NUL",),
    "short": ("{} has 2 lines", "whole has 3"),
}


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        *(("translate", wrong) for wrong in ("latin-1", "long", "NUL")),
        *(("perplexity", wrong) for wrong in WRONG),
        *(("subwords", wrong) for wrong in ("latin-1", "short")),
        *(("encode", wrong) for wrong in ("latin-1", "long", "NUL", "short")),
        *(("compare", wrong) for wrong in ("latin-1", "short")),
    ],
)
def test_a_wrong_text_is_refused_with_its_file_and_line(house, texts, refused, standard_input, command, wrong):
    file, whole, out = texts / wrong, texts / "whole", texts / "out"
    sides = {"source": file, "target": whole}
    lines = {
        "translate": arguments("translate", package=house.package, log_probabilities=out),
        "perplexity": arguments("perplexity", package=house.package, **sides),
        "subwords": arguments("subwords", **sides, output=out, vocabulary=60),
        "encode": arguments("encode", subwords=house.subwords, **sides, output=out),
        "compare": arguments("compare", baseline=file, system=whole, reference=whole, output=out),
    }
    before = sorted(texts.iterdir())
    if command == "translate":
        standard_input(file.read_bytes())
        file = "standard input"
    refused(lines[command], *(part.format(file) for part in WRONG[wrong]))
    assert sorted(texts.iterdir()) == before
