"""Test which file of the package may import which (FLOORS)."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.pages import ROOT
from transformer import FLOORS

FILES = {path.relative_to(ROOT): path for path in ROOT.glob("transformer/*/**/*.py")}
LONGEST = 350  # lines


def imports(path):
    """The files of `transformer` that a file imports, at its head or inside functions."""
    files = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        files |= {Path(name.replace(".", "/") + ".py") for name in names} & FILES.keys()
    return files


def test_every_folder_is_a_floor():
    assert {path.parts[1] for path in FILES} == set(FLOORS)


@pytest.mark.parametrize("path", sorted(FILES), ids=str)
def test_a_file_imports_from_its_own_floor_and_below(path):
    above = FLOORS[FLOORS.index(path.parts[1]) + 1 :]
    assert not [str(other) for other in imports(FILES[path]) if other.parts[1] in above]


def test_no_file_of_the_package_imports_the_workflow():
    named = {path: file.read_text() for path, file in FILES.items()}
    assert [
        str(path) for path, text in named.items() if re.search(r"(from|import) (workflow|benchmarks)\b", text)
    ] == []


def test_imports_form_no_circle():
    graph = {path: imports(FILES[path]) for path in FILES}
    assert sum(map(len, graph.values())) > len(graph)
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the files of a circle


def test_in_the_model_only_kernels_asks_for_a_device():
    asking = {path for path, file in FILES.items() if re.search(r"is_cuda|device\.type", file.read_text())}
    assert [path.name for path in asking if path.parts[1] == "model"] == ["kernels.py"]


def test_neither_imports_nor_a_step_load_pytorch_s_compiler_and_sympy_which_take_over_a_second():
    modules = ", ".join(str(path.with_suffix("")).replace("/", ".") for path in FILES if path.stem != "__init__")
    code = f"import sys, {modules}; torch = sys.modules['torch']; weight = torch.nn.Parameter(torch.ones(1)); "
    code += "logits, target = torch.arange(3.0)[None] * weight, torch.tensor([1]); "
    code += "transformer.training.loss.smoothed_cross_entropy(logits, target, 0.1).backward(); "
    code += "transformer.training.optimizer.Adam([weight], 0.9, 0.98, 1e-9).step(0.1); "
    code += "print(weight.item() < 1, {'torch._dynamo', 'sympy'} & sys.modules.keys())"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "True set()\n"


def test_no_source_file_is_longer_than_350_lines():
    sources = [path for folder in ("transformer", "workflow", "benchmarks") for path in (ROOT / folder).rglob("*.*")]
    lines = {path: len(path.read_text().splitlines()) for path in sources if path.suffix in (".py", ".smk", ".sh")}
    assert lines
    assert {str(path.relative_to(ROOT)): count for path, count in lines.items() if count > LONGEST} == {}
