"""The line at which a file of this project defines a symbol. The pages name symbols, because lines move."""

import ast
import re
from pathlib import Path

import yaml

LINK = re.compile(r"\[`([^`]+)`\]\(([^)\s]+\.(?:py|yaml|smk))\)")  # in a page: a symbol, and the file that defines it


def line_of(path: Path, symbol: str) -> int:
    """The line, counted from 1, of `Class.method` in Python, of `key/key` in YAML, or of a rule of Snakemake.

    Raises ValueError when the file or the symbol is missing.
    """
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        line = _in_python(ast.parse(text).body, symbol.split("."))
    elif path.suffix == ".yaml":
        line = _in_yaml(yaml.compose(text), symbol.split("/"))
    else:
        rule = re.search(rf"^\s*(?:rule|checkpoint) {re.escape(symbol)}:", text, re.MULTILINE)
        line = text.count("\n", 0, rule.end()) + 1 if rule else None
    if line is None:
        raise ValueError(f"{path}: defines no {symbol}; name what the file defines now")
    return line


def _in_python(body: list[ast.stmt], names: list[str]) -> int | None:
    for node in body:
        if _defines(node, names[0]):
            return _in_python(getattr(node, "body", []), names[1:]) if names[1:] else node.lineno
    return None


def _defines(node: ast.stmt, name: str) -> bool:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name == name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def _in_yaml(node: yaml.Node | None, keys: list[str]) -> int | None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == keys[0]:
                return _in_yaml(value, keys[1:]) if keys[1:] else key.start_mark.line + 1
    return None
