"""Where the person's text makes a column: t["a"] = .., t.a = .., assign(a=..), with_columns(a=..), {"a": ..}, (..).alias("a")."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from .operands import parsed


def columns_made(file: str) -> Iterator[tuple[str, ast.expr]]:
    """(name, expression) of all columns that the file's statements and calls give values."""
    for node in ast.walk(parsed(file) or ast.Module(body=[], type_ignores=[])):
        yield from _columns(node)


def line_making(file: str, column: str) -> int | None:
    """The one line that makes a column; None where there are several or none."""
    found = {value.lineno for name, value in columns_made(file) if name == column}
    return found.pop() if len(found) == 1 else None


def _columns(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
                yield target.slice.value, node.value
            elif isinstance(target, ast.Attribute):
                yield target.attr, node.value
    elif isinstance(node, ast.Call):
        yield from ((k.arg, k.value) for k in node.keywords if k.arg)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "alias" and node.args and isinstance(node.args[0], ast.Constant):
            yield str(node.args[0].value), node.func.value
    elif isinstance(node, ast.Dict):
        yield from ((k.value, v) for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant) and isinstance(k.value, str))
