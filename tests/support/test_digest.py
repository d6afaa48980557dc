"""The digest of a stage's code: what changes it, and what does not."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from transformer.cli.main import main
from transformer.corpora.kinds import Corpus
from transformer.support import digest as module
from transformer.support.digest import TELLING, behind, digest

ROOT = Path(__file__).parents[2]
COMMANDS = '''
"""Commands."""
from transformer.cli.command import command, option, path
from transformer.support.files import InputError
from transformer.package.defaults import BEAM

RATE = option("--rate", default=1.0, help="the rate")

@command(path("config", "the config of a run"), RATE, option("--beam", default=BEAM), option("--seed", default=1))
def train(arguments):
    """Train."""
    from transformer.model.layers import forward

    print(f"{arguments.rate} is odd", file=sys.stderr)
    return forward(helped(arguments))

def helped(arguments):
    return arguments.seed * 2

@command(option("--other", default=2))
def score(arguments):
    from transformer.evaluation.bleu import bleu
'''
LAYERS = '''
"""Layers."""
from typing import TYPE_CHECKING
from transformer.support.files import InputError
if TYPE_CHECKING:
    from transformer.evaluation.bleu import bleu

class Layer:
    """A layer."""

    N: int = Field(default=2, description="layers")

def forward(x, y=()):
    if x > 1:
        raise InputError(f"{x} is too much")
    return f"{x:>{x}}" + " a" "b", x[1:]  # a comment
'''
SOURCES = {
    "transformer/cli/training.py": COMMANDS,
    "transformer/model/layers.py": LAYERS,
    "transformer/package/defaults.py": "BEAM = 4\n",
    "transformer/support/files.py": "def read(): ...\n",
    "transformer/evaluation/bleu.py": "def bleu(): ...\n",
}


def forget():
    for function in (module.digest, module._module, module._command, module._cli):
        function.cache_clear()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A small project, as which the function reads; takes changes of its files and gives the digest of `train`."""

    def made(changes=()):
        for name, old, new in changes:
            text = (tmp_path / name).read_text()
            assert old in text
            (tmp_path / name).write_text(text.replace(old, new))
        forget()
        return digest("train")

    monkeypatch.setattr(module, "ROOT", tmp_path)
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    yield made
    monkeypatch.undo()
    forget()


CLI, MODEL = "transformer/cli/training.py", "transformer/model/layers.py"
SAME = [
    (MODEL, "  # a comment", ""),
    (MODEL, '"""Layers."""', '"""Other layers."""'),
    (MODEL, '    """A layer."""\n', ""),
    (MODEL, '" a" "b", x[1:]', "(\n        ' ab'\n    ), x[1:],"),
    (MODEL, "is too much", "is more than {1}"),
    (MODEL, 'description="layers"', 'description="the layers"'),
    (MODEL, "    from transformer.evaluation.bleu import bleu", "    pass"),
    (CLI, "is odd", "is strange"),
    (CLI, "the config of a run", "the run's own config"),
    (CLI, ', help="the rate"', ""),
    (CLI, '"--other", default=2', '"--other", default=3'),
    ("transformer/support/files.py", "...", "return 1"),
    ("transformer/evaluation/bleu.py", "...", "return 1"),
]
OTHER = [
    (MODEL, "x[1:]", "x[:1]"),
    (MODEL, "y=()", "y"),
    (MODEL, "{x:>{x}}", "{x:<{x}}"),
    (MODEL, "default=2", "default=3"),
    (MODEL, "if x > 1", "if x > 1.0"),
    (MODEL, '" a"', '"a"'),
    (CLI, "default=1.0", "default=1.5"),
    (CLI, '"--seed", default=1', '"--seed", default=2'),
    (CLI, "seed * 2", "seed * 3"),
    (CLI, "layers import forward", "layers import Layer as forward"),
    ("transformer/package/defaults.py", "4", "5"),
]


@pytest.mark.parametrize("change", SAME, ids=lambda change: change[1])
def test_comments_layout_messages_and_other_stages_change_no_digest(sources, change):
    assert sources() == sources([change])


@pytest.mark.parametrize("change", OTHER, ids=lambda change: change[1])
def test_code_and_defaults_change_the_digest(sources, change):
    assert sources() != sources([change])


def test_data_and_inlined_files_change_the_digest(sources, tmp_path):
    (data := tmp_path / "words.yaml").write_text("a: b")
    (script := tmp_path / "transformer/model/layers.js").write_text("let a")
    sources()
    before = digest("transformer.model.layers"), digest("transformer.model.layers", data)
    data.write_text("a: c")
    sources()
    assert digest("transformer.model.layers") == before[0]
    assert digest("transformer.model.layers", data) != before[1]
    script.write_text("let b")
    sources()
    assert digest("transformer.model.layers") != before[0]


# What versions of Python parse into different trees.
SYNTAX = '''
import os.path as p
from math import (pi,
    e as euler)
lazy = f"a" "b{{" f"{pi}" rf"\\d{pi!r:>{10}}{euler=}" f"{pi:}" f"{p:{pi}.{pi}}" f"" u"c" \\
    + "\\u0378\\U0001F6DC\\N{SNOWMAN}"
numbers = 0x10, 1_000, 1e-9, 2j, -0.0, 10**40, ..., None, True, b"\\x00\\xff"
def f(a, /, b: int = 1, *c, d, e=lambda: (yield), **g) -> "f":
    """A docstring
        with lines."""
    global lazy
    match a:
        case {"x": [1, *_], **rest} if (n := rest): return a[1:, ::2, *c]
        case int() | None: pass
    try: assert a, "message"
    except* ValueError as error: raise KeyError from error
    del a
class A(list, metaclass=type):
    x: int
    async def g(self): return [i async for i in self if await i], {**self}, {1, *self}, print(*self, end="")
with (open("a") as h, open("b")): pass
'''


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_all_versions_of_python_give_the_same_digest(sources, tmp_path, version):
    (tmp_path / "transformer/model/layers.py").write_text(LAYERS + SYNTAX)
    code = "import sys; from pathlib import Path; from transformer.support import digest; "
    code += "digest.ROOT = Path(sys.argv[1]); print(digest.digest('train'))"
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob(f"versions/{version}.*/bin/python")
    for python in [*pyenv, f"python{version}"]:
        if shutil.which(python) and subprocess.run([python, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0:
            run = subprocess.run([python, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True)
            assert run.stdout == f"{sources()}\n", run.stderr
            return
    pytest.skip(f"it needs Python {version}")


def test_every_module_of_messages_is_there():
    for name in TELLING:
        path = ROOT / name.replace(".", "/")
        assert path.is_dir() or path.with_suffix(".py").is_file()


def test_text_and_vocabularies_do_not_depend_on_the_code_of_models_nor_a_kind_of_corpus_on_others():
    kinds = {kind.__name__: behind(kind.__module__).keys() for kind in get_args(Corpus)}
    assert {"transformer.corpora.reading", "transformer.corpora.cleaning"} <= kinds["Files"]
    assert "transformer.corpora.reading" not in kinds["Grammar"]
    for names in (kinds["Files"], kinds["LibreOfficeHelp"], behind("subwords"), behind("encode"), behind("pages")):
        assert not [name for name in names if name in ("transformer.model.positions", "transformer.trees.tree")]
    models = {"transformer.model.layers", "transformer.support.device", "transformer.training.loop"}
    assert models <= behind("train").keys()


def test_a_job_that_was_planned_with_other_code_is_refused(tmp_path, capsys):
    """Otherwise its result would count as that of the planned code if this is brought back before the next call."""
    call = ["readme", "--package", str(tmp_path), "--code", digest("transformer.package.readme")]
    assert main(call) == 1
    told = "error: the code of readme has changed since Snakemake planned this job; call snakemake again\n"
    assert capsys.readouterr().err == told
    main([*call, digest("readme")])
    assert told not in capsys.readouterr().err


@pytest.mark.parametrize("stage", ["trian", "transformer.evaluation.attention_page"])
def test_an_unknown_stage_is_refused(stage):
    with pytest.raises(LookupError, match=stage):
        digest(stage)
