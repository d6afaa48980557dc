import os
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.cli.main import main
from workflow.cli import plan

ROOT = Path(__file__).parents[2]


def test_a_plan_is_printed_without_pytorch_and_without_modules_of_the_working_folder(tmp_path):
    (tmp_path / "numpy.py").write_text("raise SystemExit('this is mine')")
    code = "import runpy, sys, os; os._exit = sys.exit; sys.argv = ['workflow', 'plan']\n"
    code += "try: runpy.run_module('workflow', run_name='__main__')\n"
    code += "except SystemExit as end: print(end.code, 'torch' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    printed = subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    assert printed.startswith("**The whole experiment quick**")
    assert printed.endswith("\n0 False\n")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (["my.yaml"], "unrecognized arguments: my.yaml; see python -m workflow --help"),
        (["--configfile", "none.yaml"], "none.yaml: cannot be read"),
    ],
)
def test_a_wrong_command_line_is_one_line(tmp_path, monkeypatch, capsys, line, told):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *line], "workflow", [plan]) == 1
    [message] = capsys.readouterr().err.splitlines()
    assert message.startswith("error: ")
    assert told in message


def test_the_former_command_names_the_new_one(capsys):
    assert main(["plan", "--configfile", "config/paper.yaml"]) == 1
    [message] = capsys.readouterr().err.splitlines()
    assert message.startswith("error: ")
    assert "python -m workflow plan" in message
