"""An idea: one Python file that changes a Transformer after it is built (`ideas/*.py`, docs/own-idea.md).

It defines `change(model)`, which replaces parts of the model in place, or `optimizer(model)`, which returns a
`torch.optim.Optimizer`, or both. A config holds the file's code without comments, docstrings and layout. So its SHA-256
changes with the code alone, and a run or a package needs no other file.
"""

import ast
import hashlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import packages_distributions
from types import ModuleType

from transformer.support.digest import ROOT
from transformer.support.files import InputError, one_line, read_bytes

BUILT_IN = {*sys.stdlib_module_names, "torch", "transformer"}
UNREAD = "the idea in a config"  # the name of code that this process has not read from a file
_files: dict[str, tuple[str, bytes]] = {}  # the name and the content of the file that some code was read from


def read_idea(path: str) -> str:
    """The code of a file, whose path is relative to the clone. Raises InputError, with the line, if it is no idea."""
    content = read_bytes(ROOT / path)
    tree = _checked(content, path)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kept = [each for each in node.body if not _is_text(each)]
            node.body = kept if kept or isinstance(node, ast.Module) else [ast.Pass()]
    code = f"{ast.unparse(tree)}\n"
    _files[code] = path, content
    return code


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@cache
def check_code(code: str) -> None:
    """Raises InputError if a config's code is not that of an idea. Nothing of it is run."""
    _checked(code, UNREAD)


def _checked(code: str | bytes, name: str) -> ast.Module:
    try:
        tree = ast.parse(code)
    except SyntaxError as error:
        raise InputError(f"{name}, line {error.lineno}: not Python: {error.msg}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{name}: not Python: {error}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = ["." * node.level + (node.module or "")]
        else:
            continue
        for module in modules:
            first = module.partition(".")[0]
            if first not in BUILT_IN and first not in _installed():
                text = f"imports {module}, which is no installed package; an idea is one file, so write that code here"
                raise InputError(f"{name}, line {node.lineno}: {text}")
    if not {each.name for each in tree.body if isinstance(each, ast.FunctionDef)} & {"change", "optimizer"}:
        raise InputError(f"{name}: defines neither change(model) nor optimizer(model); see docs/own-idea.md")
    return tree


@cache
def _installed() -> set[str]:
    return {*packages_distributions()}


def digest(code: str) -> str:
    """The SHA-256 of an idea's code."""
    return hashlib.sha256(code.encode()).hexdigest()


@cache
def module_of(code: str) -> ModuleType:
    """The code as a module, which is run once in a process."""
    module = ModuleType(f"idea_{digest(code)[:12]}")
    sys.modules[module.__name__] = module  # dataclasses look for it
    name, content = _files.get(code, (UNREAD, code.encode()))
    exec(compile(content, name, "exec"), vars(module))
    return module


def name_of(code: str) -> str:
    """What messages call an idea."""
    return _files.get(code, (UNREAD,))[0]


@contextmanager
def blaming(code: str | None, everything: bool = False) -> Iterator[None]:
    """Raises InputError, with the line, for an error in the code of an idea; with `everything`, for any error."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        name, content = _files.get(code or "", (UNREAD, (code or "").encode()))
        lines = [each.lineno or 1 for each in traceback.extract_tb(error.__traceback__) if each.filename == name]
        if not code or not (lines or everything):
            raise
        place = f"{name}, line {lines[-1]} ({content.decode().splitlines()[lines[-1] - 1].strip()})" if lines else name
        remedy = ""
        if "meta" in str(error):
            remedy = "; FLOPs are counted without values, so an idea may read none (`.item()`, `if tensor`)"
        raise InputError(f"{place}: {one_line(error)}{remedy}") from error
