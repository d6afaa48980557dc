"""The source files that a stage's numbers depend on, found by its imports: when one changes, the stage runs again."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "workflow/scripts"
# These read, write and tell; no number depends on them.
TELLING = {
    *(ROOT / "transformer/support" / name for name in ("files.py", "strict.py", "progress.py", "provenance.py")),
    ROOT / "transformer/evaluation/attention_page.py",
    ROOT / "transformer/package/readme.py",
    *(ROOT / "transformer/training" / name for name in ("attempts.py", "signals.py")),
}


def _file_of(module: str, beside: Path) -> Path | None:
    """The file of a module of this project: of `transformer` or `workflow`, or, of a script, one beside it."""
    for path in (ROOT / f"{module.replace('.', '/')}.py", beside / f"{module}.py"):
        if path.is_file() and path.is_relative_to(ROOT):
            return path
    return None


def _imported(nodes: Iterable[ast.AST], beside: Path) -> Iterator[Path]:
    """The files that statements import, wherever in them; not those that only a type checker imports."""
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (file for module in modules if (file := _file_of(module, beside)))
        yield from _imported(ast.iter_child_nodes(node), beside)


@cache
def imports(path: Path) -> frozenset[Path]:
    """The files of this project that a file imports."""
    return frozenset(_imported([ast.parse(path.read_text())], path.parent))


def closure(files: Iterable[Path]) -> list[Path]:
    """Files, all that they import, what that imports and so on, but for those that only tell."""
    found: set[Path] = set()
    pending = list(files)
    while pending:
        path = pending.pop()
        if path not in found and path not in TELLING:
            found.add(path)
            pending += imports(path)
    return sorted(found)


@cache
def _handlers() -> dict[str, frozenset[Path]]:
    """What the handler of each command imports, and the functions beside it that it calls."""
    found = {}
    for path in sorted((ROOT / "transformer/cli").glob("*.py")):
        body = ast.parse(path.read_text()).body
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        for name, node in functions.items():
            called = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} & functions.keys()
            used = [node, *(functions[other] for other in sorted(called - {name}))]
            found[name] = frozenset(_imported(used, path.parent))
    return found


def behind_command(name: str) -> list[Path]:
    """The files behind a command, `python -m transformer NAME`; its own arguments are not among them."""
    return closure(_handlers()[name])


def behind_kind(kind: type) -> list[Path]:
    """The files behind a kind of corpus."""
    return closure([ROOT / f"{kind.__module__.replace('.', '/')}.py"])


def behind_script(name: str) -> list[Path]:
    """The files behind a script of the workflow, itself first; also what tells, where the script itself imports it."""
    script = SCRIPTS / f"{name}.py"
    return [script, *sorted({*closure([script]), *imports(script)} - {script})]


def relative(files: Iterable[Path], here: Path) -> list[Path]:
    """Files of this project as paths below `here`, the way to its root."""
    return [here / path.relative_to(ROOT) for path in files]
