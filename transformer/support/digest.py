"""Which code made this: the digest of a stage's code. When it changes, the stage runs again."""

import ast
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# Modules that read files, print messages or write for other software hardly ever change a number. They are left out
# unless a stage names them, so that a new message makes nothing run again. A folder stands for its modules.
TELLING = {
    *(f"transformer.support.{name}" for name in ("digest", "encodings", "faults", "fields", "files")),
    *(f"transformer.support.{name}" for name in ("processes", "progress", "provenance", "strict")),
    *(f"transformer.training.{name}" for name in ("attempts", "history", "signals")),
    "transformer.cli.command",
    "transformer.export",
    "transformer.package.readme",
}


@cache
def digest(*stages: str | Path) -> str:
    """The SHA-256 of the code of stages: commands (`train`), modules (`workflow.jobs.pack`) and files of data.

    Modules that they import belong to it, and the css, html and js that these have. Comments, docstrings, layout and
    the texts of messages do not. Python 3.11, 3.12 and 3.13 give the same. Raises LookupError for an unknown stage.
    """
    return hashlib.sha256(json.dumps(behind(*stages), sort_keys=True).encode()).hexdigest()


def behind(*stages: str | Path) -> dict[str, str]:
    """The SHA-256 of each command, module and file behind some stages, by its name."""
    found: dict[str, str] = {}
    pending = []
    for stage in stages:
        if isinstance(stage, Path):
            found[stage.name] = hashlib.sha256(stage.read_bytes()).hexdigest()
        elif "." in stage:
            if _module(stage) is None:
                raise LookupError(f"no module {stage}")
            pending.append(stage)
        else:
            found[stage], imports = _command(stage)
            pending += imports
    while pending:
        name = pending.pop()
        telling = {name, name.rpartition(".")[0]} & TELLING and name not in stages
        if name not in found and not telling and (code := _module(name)):
            found[name], imports = code
            pending += imports
    return found


@cache
def _module(name: str) -> tuple[str, frozenset[str]] | None:
    """The code of a module of this project, as `_code` gives it. None if there is no such module."""
    path = ROOT / f"{name.replace('.', '/')}.py"
    if not (name.startswith(("transformer.", "workflow.")) and path.is_file()):
        return None
    page = "*" if path.with_suffix(".html").is_file() else path.stem  # a page has the files of its folder
    inlined = (each for kind in ("css", "html", "js") for each in sorted(path.parent.glob(f"{page}.{kind}")))
    return _code(ast.parse(path.read_text("utf-8"), path).body, *(each.read_text("utf-8") for each in inlined))


@cache
def _cli() -> list[list[ast.stmt]]:
    return [ast.parse(path.read_text("utf-8"), path).body for path in sorted((ROOT / "transformer/cli").glob("*.py"))]


@cache
def _command(name: str) -> tuple[str, frozenset[str]]:
    """The code of a command: its handler with the defaults of its options, and what these use of their file in cli/."""
    for body in _cli():
        functions = [node for node in body if isinstance(node, ast.FunctionDef)]
        commands = {node.name for node in functions if any(isinstance(each, ast.Call) for each in node.decorator_list)}
        if name not in commands:
            continue
        read, used = {name}, list[ast.stmt]()
        while more := [node for node in body if node not in used and _bound(node) & read]:
            used += more
            names = (each.id for node in more for each in ast.walk(node) if isinstance(each, ast.Name))
            read |= {*names} - commands
        return _code([_stripped(node, read) for node in body if node in used])
    raise LookupError(f"{name}: no such command")


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the head of a file binds."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.ImportFrom):
        return {each.asname or each.name for each in node.names}
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _stripped(node: ast.stmt, read: set[str]) -> ast.stmt:
    """A statement of cli/ without imports that are not `read` and texts that describe options, which have blanks."""
    if isinstance(node, ast.ImportFrom):
        return ast.ImportFrom(node.module, [each for each in node.names if (each.asname or each.name) in read], 0)
    for each in node.decorator_list if isinstance(node, ast.FunctionDef) else [node]:
        for call in (inner for inner in ast.walk(each) if isinstance(inner, ast.Call)):
            call.args = [text for text in call.args if not (isinstance(text, ast.Constant) and " " in str(text.value))]
    return node


def _code(body: list[ast.stmt], *texts: str) -> tuple[str, frozenset[str]]:
    """The SHA-256 of some code, and the modules that it imports."""
    imports: set[str] = set()
    content = "\n".join([_form(body, imports), *texts])
    return hashlib.sha256(content.encode()).hexdigest(), frozenset(imports)


def _form(node: Any, imports: set[str]) -> str:
    """The syntax of a node as text, without what changes no number. Adds the modules that it imports to `imports`."""
    if isinstance(node, list):
        return f"[{' '.join(filter(None, [_form(each, imports) for each in node]))}]"
    if not isinstance(node, ast.AST):
        return ascii(node)
    match node:
        case ast.Import(names=names):
            imports |= {each.name for each in names}
        case ast.ImportFrom(module=str(module), names=names):
            imports |= {module, *(f"{module}.{each.name}" for each in names)}
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), orelse=orelse):
            return _form(orelse, imports)
        case ast.Raise(exc=ast.Call(func=kind)):  # without the message
            return f"raise {_form(kind, imports)}"
        case ast.Expr(value=ast.Constant(value=str())) | ast.keyword(arg="help" | "description"):
            return ""
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"), keywords=[ast.keyword(value=to), *_])) if (
            isinstance(to, ast.Attribute) and to.attr == "stderr"
        ):
            return ""
        case ast.JoinedStr(values=values):  # versions of Python divide its texts differently
            parts = [str(each.value) if isinstance(each, ast.Constant) else _form(each, imports) for each in values]
            return f"f{''.join(parts)!a}"
    fields = [(name, getattr(node, name, None)) for name in node._fields if name != "ctx"]
    parts = [f"{name}={_form(value, imports)}" for name, value in fields if value is not None and value != []]
    return f"{type(node).__name__}({' '.join(parts)})"
