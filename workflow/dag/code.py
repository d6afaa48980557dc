"""The source files that a stage's numbers depend on, found by its imports. When one changes, the stage runs again."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
# These modules read files, print messages or serve other software, so a change hardly ever affects a number. They are
# left out, so that a new message makes nothing run again.
TELLING = {
    *(
        ROOT / f"transformer/support/{name}.py"
        for name in [
            "encodings",
            "faults",
            "fields",
            "files",
            "limits",
            "processes",
            "progress",
            "provenance",
            "strict",
        ]
    ),
    *(ROOT / "transformer/export").glob("*.py"),
    ROOT / "transformer/package/readme.py",
    *(ROOT / "transformer/training" / name for name in ("attempts.py", "history.py", "signals.py")),
}


def _file_of(module: str) -> Path:
    """The file that a module of this project would have."""
    return ROOT / f"{module.replace('.', '/')}.py"


def _imported(nodes: Iterable[ast.AST]) -> Iterator[Path]:
    """The files that statements import, at any depth. Leaves out imports for type checkers only."""
    for node in nodes:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        modules = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        own = (module for module in modules if module.startswith(("transformer.", "workflow.")))
        yield from filter(Path.is_file, map(_file_of, own))
        inner = (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        yield from _imported(inner)


@cache
def imports(path: Path) -> frozenset[Path]:
    """The files of this project that a file imports."""
    return frozenset(_imported([ast.parse(path.read_text("utf-8"), path)]))


def closure(files: Iterable[Path]) -> list[Path]:
    """The files and everything that they import, directly or indirectly, without TELLING, and what these inline."""
    behind: set[Path] = set()
    pending = list(files)
    while pending:
        path = pending.pop()
        if path not in behind and path not in TELLING:
            behind.add(path)
            pending += imports(path)
    inlined = (path.with_suffix(kind) for path in behind for kind in (".css", ".js"))
    return sorted([*behind, *filter(Path.is_file, inlined)])


@cache
def _handlers() -> dict[str, frozenset[Path]]:
    """The files that each function of cli/ uses through imports: its own, its module's, and those of its helpers."""
    handlers = {}
    for path in sorted((ROOT / "transformer/cli").glob("*.py")):
        body = ast.parse(path.read_text("utf-8"), path).body
        functions = {node.name: node for node in body if isinstance(node, ast.FunctionDef)}
        heads = {name: node for node in body if isinstance(node, ast.ImportFrom) for name in _names(node)}
        for name, function in functions.items():
            used: list[ast.AST] = []
            pending: list[ast.AST] = [function]
            while pending:
                used.append(node := pending.pop())
                read = _read_names(node)
                pending += [functions[other] for other in read & functions.keys() if functions[other] not in used]
                used += [heads[other] for other in read & heads.keys()]
            handlers[name] = frozenset(_imported(used))
    return handlers


def _names(node: ast.ImportFrom) -> list[str]:
    return [alias.asname or alias.name for alias in node.names]


def _read_names(function: ast.AST) -> set[str]:
    """The names that the body of a function reads and does not import itself."""
    nodes = [node for part in getattr(function, "body", []) for node in ast.walk(part)]
    own = {name for node in nodes if isinstance(node, ast.ImportFrom) for name in _names(node)}
    return {node.id for node in nodes if isinstance(node, ast.Name)} - own


def behind_command(name: str) -> list[Path]:
    """The files behind the command `python -m transformer NAME`, without the file that declares its arguments."""
    return closure(_handlers()[name])


def behind_kind(kind: type) -> list[Path]:
    """The files behind a kind of corpus."""
    return closure([_file_of(kind.__module__)])


def behind_module(name: str) -> list[Path]:
    """A module, then the files behind it. These include files of TELLING only if the module imports them itself."""
    module = _file_of(name)
    return [module, *sorted({*closure([module]), *imports(module)} - {module})]


def relative(files: Iterable[Path], here: Path) -> list[Path]:
    """Files of this project as paths that begin with `here`, the path to its root."""
    return [here / path.relative_to(ROOT) for path in files]
