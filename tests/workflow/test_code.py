"""The source files behind a stage, found by its imports, compared with what Python really loads."""

import ast
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import get_args

import pytest

from transformer.corpora.kinds import Corpus, Files, LibreOfficeHelp
from workflow.dag.code import ROOT, TELLING, behind_command, behind_kind, behind_module, closure
from workflow.results import ROOMS

RULES = "".join(path.read_text() for path in sorted((ROOT / "workflow/rules").glob("*.smk")))
COMMANDS = sorted(set(re.findall(r'code\("(\w+)"\)', RULES)))


def names(files):
    return {str(path.relative_to(ROOT / "transformer").with_suffix("")) for path in files}


def handler(command):
    """The syntax tree of a command's handler."""
    for path in (ROOT / "transformer/cli").glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name == command:
                return node
    raise LookupError(command)


# Reads JSON, command -> imports, and prints JSON, command -> the files that Python then has loaded. Each command has a
# process of its own; PyTorch, which is slow to load, is loaded once, before them.
LOAD = """
import json, os, sys, torch
for command, code in json.load(sys.stdin).items():
    if os.fork() == 0:
        exec(code)
        files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
        print(json.dumps({command: files}), flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded():
    """The files that Python loads for what each command imports."""
    imports = {}
    for command in COMMANDS:
        nodes = [node for node in ast.walk(handler(command)) if isinstance(node, ast.ImportFrom)]
        ours = [ast.unparse(node) for node in nodes if ROOT / f"{node.module.replace('.', '/')}.py" not in TELLING]
        imports[command] = "\n".join(ours)
    run = subprocess.run(
        [sys.executable, "-c", LOAD], cwd=ROOT, input=json.dumps(imports), capture_output=True, text=True, check=True
    )
    return {command: files for line in run.stdout.splitlines() for command, files in json.loads(line).items()}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_files_behind_a_command_include_everything_that_python_loads(loaded, command):
    paths = {Path(file) for file in loaded[command] if file and file.startswith(f"{ROOT}/transformer/")}
    ours = {path for path in paths if path.name != "__init__.py"}
    assert ours - TELLING
    assert ours - TELLING <= set(behind_command(command))


def test_code_that_chooses_precision_and_batches_is_behind_the_numbers():
    assert {"support/device", "model/flops", "text/tokens", "training/loss"} <= names(behind_command("train"))
    assert {"evaluation/bleu", "trees/linear", "training/loss", "text/batches"} <= names(behind_command("score"))
    assert {"decoding/parse", "decoding/beam"} <= names(behind_command("translate"))


def test_code_of_messages_and_progress_makes_nothing_run_again():
    assert all(path.is_file() for path in TELLING)
    for command in COMMANDS:
        assert not TELLING & set(behind_command(command))
        assert not any(name.startswith("cli/") for name in names(behind_command(command)))


def test_a_kind_of_corpus_depends_on_its_own_code_only():
    behind = {kind.__name__: names(behind_kind(kind)) for kind in get_args(Corpus)}
    assert {"corpora/grammar", "corpora/tree_parts", "corpora/parts"} <= behind["Grammar"]
    assert {"corpora/texts", "corpora/reading", "corpora/archives", "corpora/cleaning"} <= behind["Files"]
    assert "corpora/reading" not in behind["Grammar"]
    assert "corpora/grammar" not in behind["Files"]
    assert not {"corpora/kinds", "experiment/config"} & set.union(*behind.values())


def test_text_and_vocabularies_do_not_depend_on_code_of_models_or_of_repair():
    for files in (*map(behind_kind, (LibreOfficeHelp, Files)), *map(behind_command, ("subwords", "encode"))):
        assert not {"trees/linear", "trees/penn", "trees/tree", "model/config", "model/positions"} & names(files)
    assert "corpora/fetch" not in names(behind_command("pages"))  # `pages` has another `fetch`


def test_imports_are_followed_into_functions_but_not_for_a_type_checker(tmp_path):
    (tmp_path / "first.py").write_text(
        textwrap.dedent("""
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import typed
        def function():
            from second import name
        """)
    )
    for name in ("second", "typed"):
        (tmp_path / f"{name}.py").write_text("")
    found = closure([tmp_path / "first.py"])
    assert [path.name for path in found if path.parent == tmp_path] == ["first.py"]  # the other modules are not ours


def test_every_rule_that_runs_a_command_or_a_script_has_the_code_behind_it():
    rules = [
        rule
        for path in (ROOT / "workflow/rules").glob("*.smk")
        for rule in re.split(r"\n *rule ?(?=\w*:)", path.read_text())[1:]
    ]
    commands = {"corpus": "code(making.kind)"}
    scripts = {
        "write_config": "",
        "make_result": '*module("workflow.jobs.make_result"), *module(f"workflow.results.{room}")',
    }
    for rule in rules:
        name = rule.partition(":")[0]
        for command in re.findall(r"(?:-m transformer|\bresources\.nodes\}\"\n *\") (\w+) ", rule):
            if command not in ("fetch", "check"):  # the outputs of the one have a SHA-256, the other has none
                assert commands.get(command, f'code("{command}")') in rule, name
        for script in re.findall(r"jobs/(.*)\.py", rule):
            assert scripts.get(script, f'module("workflow.jobs.{script}")') in rule, name
    assert len(rules) > 15


def test_a_module_comes_before_the_files_behind_it():
    first, *rest = behind_module("workflow.results.tables.table3")
    assert first == ROOT / "workflow/results/tables/table3.py"
    assert {"cells.py", "records.py", "metrics.py", "markdown.py", "table_formats.css", "table_formats.js"} <= {
        path.name for path in rest
    }
    assert ROOT / "transformer/package/readme.py" in behind_module("workflow.jobs.readmes")


def test_a_room_depends_on_its_own_code_only():
    """So a change to one table makes no other again."""
    for room in ROOMS:
        behind = {path.stem for path in behind_module(f"workflow.results.{room}") if path.parent.name == "results"}
        assert behind & {"selection", *ROOMS} == {room}


def test_importing_the_rooms_loads_no_library_that_only_tables_and_figures_need():
    code = "from workflow.results import load; load(); import sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not {"matplotlib", "scipy", "sacrebleu", "torch"} & set(run.stdout.split())
