import os
import subprocess
import sys

from tests.pages import ROOT
from transformer.cli.main import main


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


def test_the_former_command_names_the_new_one(capsys):
    assert main(["plan", "--configfile", "config/paper.yaml"]) == 1
    [message] = capsys.readouterr().err.splitlines()
    assert message.startswith("error: ")
    assert "python -m workflow plan" in message
